// SPDX-License-Identifier: Apache-2.0
// `penstock exec --limit …`: https of one command is opened and held to limits, without a file and leaving none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/exec_config.h"
#include "app/program.h"
#include "support/origin.h"
#include "support/redis_server.h"
#include "support/tls_server.h"

namespace penstock::app {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// A place for the folders of runs, an https origin, and an environment in which that origin is trusted. Its user has
/// no home, so that whatever is kept must be in the folder.
class ExecWithoutFile : public testing::Test {
 protected:
  ExecWithoutFile() { fs::create_directory(place_); }

  std::string host() const { return "localhost:" + std::to_string(origin_.port()); }
  std::string url() const { return "https://" + host() + "/"; }
  Texts environment() const {
    return {"XDG_RUNTIME_DIR=" + place_,
            "SSL_CERT_FILE=" + authority_.file(),
            "CURL_CA_BUNDLE",
            "HOME",
            "XDG_CACHE_HOME",
            "XDG_CONFIG_HOME"};
  }
  Ended exec(Texts options, const std::string& script) const {
    options.insert(options.begin(), "exec");
    options.insert(options.end(), {"--", "sh", "-c", script});
    return penstock(options, environment());
  }
  /// A limit of the origin, as an option.
  std::string held_to(const std::string& limit) const { return host() + "=" + limit; }
  /// The names in the place for folders.
  Texts left() const {
    Texts names;
    for (const auto& entry : fs::directory_iterator(place_)) names.push_back(entry.path().filename());
    return names;
  }

  test::Authority authority_;
  test::TlsServer tls_{authority_.issue()};
  test::Origin origin_{test::always("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n"), tls_.wrap()};
  const std::string place_ = authority_.folder() + "/runtime";
};

TEST_F(ExecWithoutFile, holds_each_request_inside_https_to_the_limit_and_leaves_nothing) {
  const auto start = std::chrono::steady_clock::now();
  const auto ended =
      exec({"--limit", held_to("2/s"), "--summary"},
           "curl --no-progress-meter --parallel --parallel-immediate " + url() + "[1-6]; ls $XDG_RUNTIME_DIR");
  EXPECT_GE(std::chrono::steady_clock::now() - start, 5 * 511ms);
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, MatchesRegex("(ok\n){6}penstock-exec-[A-Za-z0-9]{6}\n"));
  EXPECT_THAT(ended.err,
              MatchesRegex("6 requests to localhost_[0-9]+ · 5 waited \\(median [0-9.]+ m?s, longest [0-9]+\\.[0-9] "
                           "s, for rate(\\.window)?\\) · 0 × 429\n"));
  EXPECT_THAT(left(), IsEmpty());
}

TEST_F(ExecWithoutFile, keeps_its_files_for_its_user_alone) {
  const auto ended = exec({"--limit", held_to("5/s")},
                          "stat -c %a $(dirname $NODE_EXTRA_CA_CERTS); cat $(dirname "
                          "$NODE_EXTRA_CA_CERTS)/* | grep -c 'PRIVATE KEY'");
  EXPECT_THAT(ended.out, StartsWith("700\n0\n"));
}

TEST_F(ExecWithoutFile, leaves_nothing_however_the_command_ends) {
  EXPECT_EQ(exec({"--limit", held_to("5/s")}, "exit 7").code, 7);
  EXPECT_EQ(exec({"--limit", held_to("5/s")}, "kill -KILL $$").code, 128 + SIGKILL);
  Texts none{"exec", "--limit", held_to("5/s"), "--", "no-such-command-anywhere"};
  EXPECT_EQ(penstock(none, environment()).code, 127);
  EXPECT_THAT(left(), IsEmpty());
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    Program program({"exec", "--limit", held_to("5/s"), "--", "sh", "-c", "echo ready; exec sleep 60"}, environment());
    ASSERT_TRUE(program.says("ready"));
    program.send(signal);
    EXPECT_EQ(program.wait().code, 128 + signal);
    EXPECT_THAT(left(), IsEmpty()) << signal;
  }
}

TEST_F(ExecWithoutFile, removes_what_a_killed_run_has_left_and_nothing_that_is_in_use) {
  const std::string until_gone = "echo ready; while kill -0 $PPID 2>/dev/null; do sleep 0.01; done";
  Program killed({"exec", "--limit", held_to("5/s"), "--", "sh", "-c", until_gone}, environment());
  Program other({"exec", "--limit", held_to("5/s"), "--", "sh", "-c", "echo ready; exec sleep 60"}, environment());
  ASSERT_TRUE(killed.says("ready") && other.says("ready"));
  killed.send(SIGKILL);
  killed.wait();
  EXPECT_EQ(left().size(), 2U);
  EXPECT_EQ(exec({"--limit", held_to("5/s")}, "true").code, 0);
  EXPECT_EQ(left().size(), 1U);
  other.send(SIGTERM);
  other.wait();
  EXPECT_THAT(left(), IsEmpty());
}

/// The kernel gives the files of /proc/PID to root where the process may not be dumped. As root, another user is taken.
TEST_F(ExecWithoutFile, writes_no_core_and_lets_nobody_read_its_memory) {
  const std::string as = ::geteuid() == 0 ? "setpriv --reuid=65534 --clear-groups " : "";
  const auto owner = [&](const std::string& options) {
    return exec({}, "XDG_RUNTIME_DIR=/nowhere TMPDIR=/nowhere env -u SSL_CERT_FILE " + as + PENSTOCK_BINARY " exec " +
                        options + " -- sh -c 'stat -c %u /proc/$PPID/mem'")
        .out;
  };
  EXPECT_EQ(owner("--limit " + held_to("5/s")), "0\n");
  EXPECT_NE(owner(""), "0\n") << "with nothing to hide";
}

TEST_F(ExecWithoutFile, takes_another_folder_where_the_first_cannot_be_written) {
  for (const std::string base : {"/proc/self", "/no/such"}) {
    auto all = environment();
    all.push_back("XDG_RUNTIME_DIR=" + base);
    all.push_back("TMPDIR=" + place_);
    const auto ended =
        penstock({"exec", "--limit", held_to("5/s"), "--", "sh", "-c", "dirname $NODE_EXTRA_CA_CERTS"}, all);
    EXPECT_THAT(ended.out, StartsWith(place_ + "/penstock-exec-")) << base;
  }
  EXPECT_THAT(left(), IsEmpty());
}

TEST_F(ExecWithoutFile, adds_a_limit_to_a_preset_for_the_same_host) {
  const auto ended =
      penstock({"exec", "--print", "--preset", "notion", "--limit", "api.notion.com=window:100/h"}, environment());
  EXPECT_THAT(ended.out, testing::AllOf(StartsWith("# notion: "), HasSubstr("#   rate (pacer): 3/s"),
                                        HasSubstr("#   window: 100 in each")));
}

TEST_F(ExecWithoutFile, takes_a_host_on_every_port_and_says_what_failed) {
  EXPECT_EQ(exec({"--limit", "localhost=5/s"}, "curl -sS " + url()).out, "ok\n");
  const auto failed = exec({"--limit", "localhost=5/s"}, "curl -s https://localhost:1/ https://localhost:1/");
  EXPECT_EQ(failed.err, "penstock: 2 of 2 requests to localhost failed: localhost: the connection was refused\n");
  const auto tunnel = exec({"--limit", "api.example.com=5/s", "--summary"}, "curl -sS -o /dev/null " + url());
  EXPECT_EQ(tunnel.err, "1 tunnel to " + host() + " · 0 waited · 429s inside of tunnels are not seen\n");
}

TEST_F(ExecWithoutFile, tells_of_each_request_in_a_file) {
  const auto file = place_ + "/events";
  const auto ended = exec({"--limit", held_to("5/s"), "--events", file}, "curl -sS " + url());
  EXPECT_EQ(ended.out, "ok\n");
  std::ifstream events(file);
  std::vector<std::string> told;
  for (std::string line; std::getline(events, line);) told.push_back(nlohmann::json::parse(line)["event"]);
  EXPECT_THAT(told, testing::ElementsAre("dispatch", "complete"));
}

TEST_F(ExecWithoutFile, trusts_its_authority_for_the_named_hosts_alone) {
  const auto ended =
      exec({"--limit", "api.example.com=5/s"}, "curl -sS -o /dev/null -w '%{ssl_verify_result}' " + url());
  EXPECT_EQ(ended.out, "0") << "a tunnel to the origin itself: " << ended.err;
  const auto shown = exec({"--limit", "api.example.com=5/s"},
                          "openssl crl2pkcs7 -nocrl -certfile $NODE_EXTRA_CA_CERTS | "
                          "openssl pkcs7 -print_certs -text -noout");
  EXPECT_THAT(shown.out, HasSubstr("Name Constraints: critical\n                Permitted:\n                  "
                                   "DNS:api.example.com\n"));
}

TEST_F(ExecWithoutFile, has_the_limits_that_are_written) {
  const auto ended =
      penstock({"exec", "--print", "--limit", "api.x.test=25/s", "--limit", "*.y.test:8443/v1=slidingWindow:300/15m",
                "--limit", "api.x.test=window:5000/h", "--limit", "api.x.test=pacer:4/s", "--limit", "api.x.test=2/s",
                "--limit", "z.test=counter:9/d", "--limit", "z.test=tokenBucket:40/20s", "--max", "api.x.test=4"},
               environment());
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out,
              StartsWith("# api.x.test: at most 4 in flight\n"
                         "#   rate (pacer): 25/s, one every 40.88 ms: 22 ms of each second are kept for jitter, this "
                         "process\n"
                         "#   rate.window (slidingWindow): 25 in any 1019.9 ms, counted from when each has left, this "
                         "process\n"
                         "#   window: 5000 in each window of 60m, this process\n"
                         "#   pacer: 4/s evenly spread, this process\n"
                         "#   rate2 (pacer): 2/s, one every 511 ms: 22 ms of each second are kept for jitter, this "
                         "process\n"
                         "#   rate2.window (slidingWindow): 2 in any 1019.9 ms, counted from when each has left, this "
                         "process\n"
                         "# _.y.test_8443_v1: at most 64 in flight\n"
                         "#   slidingWindow: 300 in any 15m, this process\n"
                         "# z.test: at most 64 in flight\n"
                         "#   counter: 9 between resets, 24h apart, this process\n"
                         "#   tokenBucket: 40 at once, then 1 every 500ms, this process\n"
                         "export http_proxy='http://127.0.0.1:"));
  EXPECT_THAT(left(), IsEmpty());
}

TEST_F(ExecWithoutFile, takes_presets_by_name) {
  const auto ended = penstock({"exec", "--print", "--preset", "notion,stripe", "--limit", "a.test=5/s"}, environment());
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, StartsWith("# notion: at most 64 in flight\n#   rate (pacer): 3/s, one every 340.667 ms: "));
  EXPECT_THAT(ended.out, HasSubstr("# stripe: at most 20 in flight\n#   rate (pacer): 25/s, one every 40.88 ms: "));
  EXPECT_THAT(ended.out, HasSubstr("# a.test: at most 64 in flight\n"));
  const auto shown = exec({"--preset", "notion"},
                          "openssl crl2pkcs7 -nocrl -certfile $NODE_EXTRA_CA_CERTS | openssl "
                          "pkcs7 -print_certs -text -noout");
  EXPECT_THAT(shown.out, HasSubstr("DNS:api.notion.com\n"));
}

TEST_F(ExecWithoutFile, names_the_option_that_is_wrong) {
  for (const auto& [options, said] : std::vector<std::pair<Texts, std::string>>{
           {{"--limit", "a.test"}, "--limit a.test: write PATTERN=RATE, as in api.example.com=25/s"},
           {{"--limit", "a.test=fast"},
            "--limit a.test=fast: 'fast' is not a rate, as in 15/s, 500/m, 5000/h or 300/15m"},
           {{"--limit", "a.test=windw:5/s"},
            "--limit a.test=windw:5/s: 'windw' is no kind of limit; did you mean 'window'?"},
           {{"--limit", "a.test=leaky:5/s"},
            "--limit a.test=leaky:5/s: 'leaky' is no kind of limit; there are "
            "slidingWindow, window, counter, pacer, tokenBucket"},
           {{"--limit", "a.test=window:2.5/s"}, "--limit a.test=window:2.5/s: a window counts whole requests"},
           {{"--limit", "https://a.test=5/s"},
            "--limit https://a.test=5/s: write it without the scheme, as in api.example.com/v1"},
           {{"--limit", "a.test/b=5/s", "--limit", "a.test_b=5/s"},
            "--limit a.test_b=5/s: another pattern is called a.test_b already; it needs a file, where upstreams have "
            "names"},
           {{"--preset", "githb"},
            "--preset: preset in upstreams.githb: there is no preset 'githb'; did you mean 'github'?"},
           {{"--max", "a.test=0"}, "--max a.test=0: '0' is not a number of requests in flight, at least 1"},
           {{"--limit", "a.test=5/s", "--redis", "http://x"}, "--redis: "}}) {
    auto all = options;
    all.insert(all.begin(), "exec");
    all.emplace_back("true");
    const auto ended = penstock(all, environment());
    EXPECT_EQ(ended.code, 1) << said;
    EXPECT_THAT(ended.err, StartsWith("penstock: " + said));
  }
  EXPECT_EQ(penstock({"exec", "--limit", "a.test=5/s"}, environment()).code, 2) << "no command";
  EXPECT_EQ(penstock({"exec", "--config", "f", "--limit", "a.test=5/s", "true"}, environment()).code, 2);
  EXPECT_EQ(penstock({"exec", "--redis", "redis://127.0.0.1", "true"}, environment()).code, 2) << "nothing to share";
}

TEST_F(ExecWithoutFile, shares_a_limit_with_others_through_redis) {
  const test::RedisServer redis;
  auto shared = environment();
  shared.push_back("PENSTOCK_REDIS_URL=redis://127.0.0.1:" + std::to_string(redis.port()));
  const Texts words{"exec", "--limit", held_to("counter:2/d"), "--summary", "json", "curl", "-fsS", url()};
  EXPECT_EQ(penstock(words, shared).out, "ok\n");
  EXPECT_EQ(penstock(words, shared).out, "ok\n");
  const auto third = penstock(words, shared);
  EXPECT_EQ(third.out, "") << "the two before have spent it";
  const auto json = nlohmann::json::parse(third.err.substr(third.err.find('{')));
  EXPECT_EQ(json["upstreams"][0]["requests"], 1);
  EXPECT_EQ(json["upstreams"][0]["waitedFor"]["counter"], 1);
}

/// A command that goes on alone has the whole limit for itself.
TEST_F(ExecWithoutFile, gives_redis_more_time_than_a_daemon_does) {
  const auto config = config_of({.limits = {"a.test=5/s"}, .redis = "redis://127.0.0.1"});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->redis.at(0).timeout, 10 * RedisConfig{}.timeout);
}

TEST_F(ExecWithoutFile, goes_on_without_a_redis_that_does_not_answer) {
  const auto ended = exec({"--limit", held_to("5/s"), "--redis", "redis://127.0.0.1:1"}, "curl -sS " + url());
  EXPECT_EQ(ended.out, "ok\n");
  EXPECT_THAT(ended.err, HasSubstr("redis"));
}

TEST_F(ExecWithoutFile, says_at_the_end_what_it_came_to_if_it_is_asked_to) {
  const Texts held{"--limit", held_to("100/s")};
  EXPECT_EQ(exec(held, "curl -sS " + url()).err, "") << "stderr is no terminal";
  auto asked = held;
  asked.emplace_back("--summary");
  EXPECT_THAT(exec(asked, "curl -sS " + url()).err, EndsWith(" · 0 waited · 0 × 429\n"));
  EXPECT_THAT(exec(asked, "curl -sS " + url()).err, Not(HasSubstr("asked again")));
  asked.emplace_back("--no-summary");
  EXPECT_EQ(exec(asked, "curl -sS " + url()).err, "");
}

TEST_F(ExecWithoutFile, says_how_often_requests_were_sent_again) {
  std::atomic<int> asked = 0;
  test::Origin busy(
      [&](test::Origin&, test::Socket& peer, int) {
        while (!peer.read_until("\r\n\r\n").empty()) {
          peer.send(++asked <= 2 ? "HTTP/1.1 429 Slow down\r\nRetry-After-Ms: 5\r\nContent-Length: 0\r\n\r\n"
                                 : "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n");
        }
      },
      tls_.wrap());
  const std::string there = "localhost:" + std::to_string(busy.port());
  const auto ended = exec({"--limit", there + "=100/s", "--summary"}, "curl -sS https://" + there + "/");
  EXPECT_EQ(ended.out, "ok\n");
  EXPECT_THAT(ended.err, EndsWith(" · 0 × 429 · asked again 2 times\n"));
}

}  // namespace
}  // namespace penstock::app
