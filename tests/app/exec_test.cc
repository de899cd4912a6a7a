// SPDX-License-Identifier: Apache-2.0
// `penstock exec`: a command finds a proxy in its environment, and notices nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <thread>
#include <vector>

#include "app/program.h"

namespace penstock::app {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Ended exec_shell(const std::string& script, const Texts& environment = {}) {
  return penstock({"exec", "--", "sh", "-c", script}, environment);
}

TEST(Exec, ends_with_the_code_of_the_command) {
  EXPECT_EQ(exec_shell("exit 0").code, 0);
  EXPECT_EQ(exec_shell("exit 7").code, 7);
  EXPECT_EQ(exec_shell("kill -TERM $$").code, 128 + SIGTERM);
}

TEST(Exec, ends_with_127_where_there_is_no_such_command_and_126_where_it_is_no_program) {
  const auto ended = penstock({"exec", "--", "no-such-command-anywhere"});
  EXPECT_EQ(ended.code, 127);
  EXPECT_THAT(ended.err, HasSubstr("no-such-command-anywhere: No such file or directory"));
  EXPECT_EQ(penstock({"exec", "--", "/"}).code, 126);
}

TEST(Exec, hands_arguments_on_as_they_are) {
  const auto ended =
      penstock({"exec", "--", "printf", "<%s>", "{}", "[a,b]", "", "a b", "--", "--config", "%s", "'\""});
  EXPECT_EQ(ended.out, "<{}><[a,b]><><a b><--><--config><%s><'\">");
}

TEST(Exec, takes_the_command_at_the_first_word_that_is_no_option) {
  const TemporaryFile file("version: 1\n");
  EXPECT_EQ(penstock({"exec", "printf", "<%s>", "-la", "--help", "--", "--config"}).out, "<-la><--help><--><--config>");
  EXPECT_EQ(penstock({"exec", "--config", file.path(), "printf", "<%s>", "-x"}).out, "<-x>");
  EXPECT_EQ(penstock({"exec", "--config=" + file.path(), "--", "printf", "<%s>", "-x"}).out, "<-x>");
  EXPECT_EQ(penstock({"exec", "--", "--no-such-command"}).code, 127) << "its name begins with a dash";
  EXPECT_EQ(penstock({"exec", "--config", "/no/such/file", "true"}).code, 1) << "the file is no command";
}

TEST(Exec, sets_the_variables_for_the_command_whatever_they_were) {
  const auto ended = exec_shell(
      "for name in http_proxy HTTP_PROXY https_proxy HTTPS_PROXY no_proxy NO_PROXY NODE_USE_ENV_PROXY KEPT; do "
      "printenv $name; done",
      {"http_proxy=http://192.0.2.1:1", "HTTPS_PROXY=http://192.0.2.1:2", "NO_PROXY=*", "KEPT=as it was"});
  Texts lines;
  std::istringstream stream(ended.out);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 8U);
  EXPECT_THAT(lines[0], testing::MatchesRegex("http://127.0.0.1:[1-9][0-9]*"));
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(lines[i], lines[0]);
  EXPECT_EQ(lines[4], "127.0.0.1");
  EXPECT_EQ(lines[5], "127.0.0.1");
  EXPECT_EQ(lines[6], "1");
  EXPECT_EQ(lines[7], "as it was");
}

TEST(Exec, says_nothing_of_its_own_where_requests_came_by) {
  test::ListeningSocket origin;
  std::thread serving([&] { serve_one(origin, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"); });
  const auto ended = exec_shell(
      "echo out; echo err >&2; curl -so /dev/null http://localhost:" + std::to_string(origin.port()) + "/; exit 3");
  serving.join();
  EXPECT_EQ(ended.code, 3);
  EXPECT_EQ(ended.out, "out\n");
  EXPECT_EQ(ended.err, "err\n");
}

TEST(Exec, says_what_failed_in_its_own_hands) {
  EXPECT_EQ(exec_shell("curl -so /dev/null http://localhost:1/").err,
            "penstock: 1 of 1 request to localhost:1 failed: localhost:1: the connection was refused\n");
  EXPECT_EQ(penstock({"exec", "--no-summary", "curl", "-so", "/dev/null", "http://localhost:1/"}).err, "");
}

TEST(Exec, says_at_its_end_that_no_request_came_by) {
  for (const std::string script :
       {"echo err >&2", "echo err >&2; no_proxy=localhost curl -so /dev/null http://localhost:1/"}) {
    const auto ended = exec_shell(script);
    EXPECT_EQ(ended.err,
              "err\npenstock: no request came by: the command asked for nothing, or went past the proxy "
              "(docs/clients.md says which do)\n");
    EXPECT_EQ(ended.out, "");
  }
}

TEST(Exec, takes_whatever_came_for_a_request) {
  const auto silent = testing::Not(HasSubstr("no request came by"));
  EXPECT_THAT(exec_shell("curl -so /dev/null https://localhost:1/ || true").err, silent) << "a tunnel";
  EXPECT_THAT(exec_shell("curl -so /dev/null http://localhost:1/%zz").err, silent) << "refused";
  EXPECT_THAT(exec_shell("curl -so /dev/null --noproxy '*' $http_proxy/@nobody/").err, silent) << "the gateway";
}

TEST(Exec, is_silent_of_that_where_the_log_is_to_be) {
  const TemporaryFile file("version: 1\nlog: { level: warn }\n");
  EXPECT_EQ(penstock({"exec", "--config", file.path(), "--", "true"}).err, "");
}

TEST(Exec, runs_a_proxy_that_forwards_and_ends_with_the_command) {
  test::ListeningSocket origin;
  std::string head;
  std::thread serving(
      [&] { head = serve_one(origin, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"); });
  // By name: no_proxy keeps 127.0.0.1 itself direct.
  const auto ended =
      exec_shell("curl -s http://localhost:" + std::to_string(origin.port()) + "/x; echo; echo $http_proxy");
  serving.join();
  EXPECT_THAT(ended.out, StartsWith("hello\nhttp://127.0.0.1:"));
  EXPECT_THAT(head, StartsWith("GET /x HTTP/1.1\r\n"));
  EXPECT_THAT(head, HasSubstr("\r\nVia: 1.1 penstock\r\n"));
  const std::string url = ended.out.substr(ended.out.find("http://"));
  const std::string ask = "curl -s --noproxy '*' " + url.substr(0, url.find('\n'));
  EXPECT_EQ(WEXITSTATUS(std::system(ask.c_str())), 7) << "it cannot connect";
}

TEST(Exec, listens_on_loopback_for_its_command_whatever_the_file_says) {
  const auto ended = penstock({"exec", "--config", PENSTOCK_CONFIG_DIR "/container.yaml", "--", "sh", "-c",
                               "echo $http_proxy; curl -s -o /dev/null -w '%{http_code}' http://localhost:1/"});
  EXPECT_THAT(ended.out, StartsWith("http://127.0.0.1:"));
  EXPECT_THAT(ended.out, testing::EndsWith("502"));  // forwarded, and refused by nobody but the port
}

/// Which sockets the command's parent listens on.
constexpr const char* kListeners =
    "for fd in /proc/$PPID/fd/*; do readlink $fd; done | sed -n 's/socket:.\\([0-9]*\\).*/\\1/p' | while read inode; "
    "do "
    "awk -v inode=$inode '$4 == \"0A\" && $10 == inode { print $2 }' /proc/net/tcp; done | wc -l";

TEST(Exec, opens_no_admin_port_unless_it_is_asked_to) {
  Texts words{"exec", "--config", PENSTOCK_CONFIG_DIR "/container.yaml", "--", "sh", "-c", kListeners};
  EXPECT_EQ(penstock(words).out, "1\n") << "the proxy";
  words.insert(words.begin() + 1, {"--admin", "127.0.0.1:0"});
  const auto with = penstock(words);
  EXPECT_EQ(with.out, "2\n");
  EXPECT_THAT(with.err, testing::ContainsRegex("penstock: the page is at http://127.0.0.1:[1-9][0-9]*/\n"));
}

TEST(Exec, refuses_an_admin_port_that_is_none) {
  const auto wrong = penstock({"exec", "--admin", "localhost", "--", "true"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("--admin: 'localhost' is not address:port"));
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// What the page in the file has to show.
nlohmann::json frozen_in(const std::string& path) {
  const auto page = text_of(path);
  const std::string open = R"(<script type="application/json" id="frozen">)";
  const auto begin = page.find(open) + open.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST(Exec, reports_how_the_command_has_left_all_in_one_page) {
  const TemporaryFile file("");
  const TemporaryFile config("version: 1\nupstreams: { here: { match: localhost, redact: ['/bot{}/'], rate: 5/s } }\n");
  const auto ended = penstock({"exec", "--report", file.path(), "--config", config.path(), "--", "curl", "-s", "-o",
                               "/dev/null", "-g", "http://localhost:1/bot123:ABC/%3C/script>?<"});
  EXPECT_EQ(ended.code, 0) << "curl got a 502: " << ended.err;
  const auto page = text_of(file.path());
  EXPECT_THAT(page, StartsWith("<!doctype html>"));
  const auto frozen = frozen_in(file.path());
  EXPECT_EQ(frozen["snapshot"]["full"], true);
  EXPECT_EQ(frozen["snapshot"]["upstreams"][0]["name"], "here");
  ASSERT_EQ(frozen["events"].size(), 1U) << "of a request its end alone, as on the page";
  EXPECT_EQ(frozen["events"][0]["event"], "error");
  EXPECT_EQ(frozen["dropped"], 0);
  EXPECT_THAT(frozen["title"], testing::ContainsRegex("penstock exec curl has left it at 2[0-9]{3}-[0-9]{2}-[0-9]{2} "
                                                      "[0-9:]{8} UTC, with exit code 0"));
  const auto sent = frozen["history"]["here"].get<std::vector<int>>();
  EXPECT_EQ(std::accumulate(sent.begin(), sent.end(), 0), 1);
  EXPECT_EQ(page.find("123:ABC"), std::string::npos);
  struct stat there {};
  ASSERT_EQ(::stat(file.path().c_str(), &there), 0);
  EXPECT_EQ(there.st_mode & 0777, 0600u);
}

TEST(Exec, reports_the_latest_requests_and_how_many_there_were_before) {
  const TemporaryFile file("");
  const auto ended = penstock({"exec", "--no-summary", "--report", file.path(), "--", "sh", "-c",
                               "curl -s -o /dev/null 'http://localhost:1/[1-250]'; exit 3"});
  EXPECT_EQ(ended.code, 3);
  const auto frozen = frozen_in(file.path());
  EXPECT_EQ(frozen["events"].size(), 200U);
  EXPECT_EQ(frozen["dropped"], 50);
  EXPECT_EQ(frozen["events"][0]["path"], "/51");
  EXPECT_EQ(frozen["events"][199]["path"], "/250");
}

TEST(Exec, refuses_a_report_that_would_be_written_to_what_is_no_file_before_it_begins) {
  const TemporaryFile aim("as it was");
  const auto link = aim.path() + ".link";
  ASSERT_EQ(::symlink(aim.path().c_str(), link.c_str()), 0);
  for (const std::string& place : {link, std::string("/dev/null"), std::string("/tmp"),
                                   std::string("/no/such/folder/x"), aim.path() + "/x", std::string()}) {
    const auto ended = penstock({"exec", "--report", place, "--", "echo", "ran"});
    EXPECT_EQ(ended.code, 1) << place;
    EXPECT_EQ(ended.out, "") << place;
    EXPECT_THAT(ended.err, testing::AllOf(StartsWith("penstock: "), HasSubstr(place)));
  }
  EXPECT_EQ(text_of(aim.path()), "as it was");
  ::unlink(link.c_str());
}

TEST(Exec, says_that_a_report_could_not_be_written_and_fails_unless_the_command_did) {
  const TemporaryFile aim("as it was");
  const auto file = aim.path() + ".html";
  for (const auto& [own, code] : {std::pair("0", 1), std::pair("5", 5)}) {
    const auto ended =
        penstock({"exec", "--report", file, "--", "sh", "-c", "ln -s " + aim.path() + " " + file + "; exit " + own});
    EXPECT_EQ(ended.code, code);
    EXPECT_THAT(ended.err, HasSubstr(file + " is there, and is no plain file"));
    ::unlink(file.c_str());
  }
  EXPECT_EQ(text_of(aim.path()), "as it was");
  EXPECT_EQ(penstock({"exec", "--report", file, "--print"}).code, 2);
}

TEST(Exec, writes_events_to_the_file_that_the_configuration_names) {
  const TemporaryFile log("");
  const TemporaryFile file("version: 1\nlog: { events: '" + log.path() + "' }\n");
  penstock({"exec", "--config", file.path(), "--", "curl", "-s", "-o", "/dev/null", "http://localhost:1/"});
  std::ifstream lines(log.path());
  std::string first;
  std::getline(lines, first);
  EXPECT_THAT(first, HasSubstr("\"event\":\"dispatch\""));
}

/// The daemon's admin port is free when it starts, and its number is then in a file of the same limits.
TEST(Exec, says_that_a_daemon_s_limits_are_not_those_of_the_command) {
  const TemporaryFile anywhere(kAnywhere);
  Program daemon({"run", anywhere.path()});
  ASSERT_TRUE(daemon.says("admin on http://"));
  const auto with = [&](const std::string& more) {
    const TemporaryFile file("version: 1\nadmin: { listen: '" + daemon.said_after("admin on http://") + "' }\n" + more);
    return penstock({"exec", "--config", file.path(), "--", "true"}).err;
  };
  EXPECT_THAT(with("upstreams: { a: { match: a.test, https: tunnel, rate: 1/s } }\n"),
              HasSubstr("a Penstock runs already, and this command's limits are its own"));
  EXPECT_THAT(with("upstreams: { a: { match: a.test } }\n"), testing::Not(HasSubstr("runs already"))) << "no limits";
  daemon.send(SIGTERM);
  daemon.wait();
  EXPECT_THAT(with("upstreams: { a: { match: a.test, https: tunnel, rate: 1/s } }\n"),
              testing::Not(HasSubstr("runs already")));
}

TEST(Exec, passes_signals_on_to_the_command) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    Program program(
        {"exec", "--", "sh", "-c", "trap 'exit 9' TERM INT HUP QUIT; echo ready; while :; do sleep 0.01; done"});
    ASSERT_TRUE(program.says("ready"));
    program.send(signal);
    EXPECT_EQ(program.wait().code, 9) << signal;
  }
}

// Which of the standard signals are blocked and ignored. The C library ignores two of its own in what it spawns.
std::string standard_signals(std::istream& status) {
  std::string text;
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("SigBlk:") && !line.starts_with("SigIgn:")) continue;
    const auto signals = std::stoull(line.substr(7), nullptr, 16) & 0x7fffffffULL;
    text += line.substr(0, 7) + std::to_string(signals) + " ";
  }
  return text;
}

TEST(Exec, leaves_the_command_the_signals_that_it_would_have_had) {
  std::istringstream of_command(penstock({"exec", "--", "cat", "/proc/self/status"}).out);
  std::ifstream own("/proc/self/status");
  EXPECT_EQ(standard_signals(of_command), standard_signals(own));
}

TEST(Exec, starts_nothing_where_the_configuration_is_faulty) {
  const TemporaryFile file("version: 1\nnope: 1\n");
  const auto ended = penstock({"exec", "--config", file.path(), "--", "echo", "started"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.out, "");
}

}  // namespace
}  // namespace penstock::app
