// SPDX-License-Identifier: Apache-2.0
// `penstock simulate` with logs of real runs: with the settings of the run it comes to the waits of the run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "app/program.h"
#include "support/machine.h"
#include "support/origin.h"
#include "support/sockets.h"

namespace penstock::app {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;
using namespace std::chrono_literals;

/// An API whose work on each request takes so long.
test::Origin::Script working(std::chrono::milliseconds work) {
  return [work](test::Origin&, test::Socket& peer, int) {
    while (!peer.read_until("\r\n\r\n").empty()) {
      std::this_thread::sleep_for(work);
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
  };
}

/// Three upstreams of one host; what makes their requests wait differs. Half of a crowd waits for longer than a program
/// with a sanitizer takes to send off those that leave at one time.
std::string settings_logging_to(const std::string& log) {
  return "version: 1\nproxy: { listen: 127.0.0.1:0 }\nadmin: { listen: 127.0.0.1:0 }\nlog: { events: " + log +
         " }\n"
         "upstreams:\n"
         "  paced: { match: 127.0.0.1/paced, limits: [ { pacer: { qps: 60 } } ] }\n"
         "  windowed: { match: 127.0.0.1/windowed, limits: [ { window: { reservoir: 10, interval: 400ms } } ] }\n"
         "  slots: { match: 127.0.0.1/slots, maxConcurrent: 2 }\n";
}

/// A crowd at each upstream at once, each request on a connection of its own; returns when all are answered.
void send_crowds(std::uint16_t proxy, const std::string& host, int count) {
  std::vector<test::Socket> clients;
  for (int i = 0; i < 3 * count; ++i) clients.push_back(test::connect_to(proxy));
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const std::string path = std::vector{"/paced", "/windowed", "/slots"}[i % 3];
    clients[i].send("GET http://" + host + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
  }
  for (auto& client : clients) EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 200"));
}

Json simulated(const Texts& arguments) {
  Texts all{"simulate", "--json"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const auto ended = penstock(all);
  EXPECT_EQ(ended.code, 0) << ended.err;
  return ended.code == 0 ? Json::parse(ended.out) : Json();
}

/// Within 5 %. A daemon that stood still books all later departures of a pacer later, which no replay can know: `late`
/// is how long the machine let it stand, in ms.
void expect_alike(const Json& upstream, const char* percentile, double late) {
  const double logged = upstream.at("logged").at("waitMs").at(percentile);
  const double replayed = upstream.at("new").at("waitMs").at(percentile);
  EXPECT_LE(std::abs(replayed - logged), std::max(5.0, 0.05 * logged) + late)
      << upstream.at("name") << " " << percentile << ": " << logged << " ms, replayed " << replayed << " ms; " << late
      << " ms late";
}

TEST(Simulate, comes_to_the_waits_of_the_run_with_its_settings) {
  const TemporaryFile log("");
  const TemporaryFile config(settings_logging_to(log.path()));
  const test::Origin origin(working(20ms));
  std::chrono::duration<double, std::milli> late{};
  {
    Program running({"run", "--config", config.path()});
    ASSERT_TRUE(running.says("listening on http://127.0.0.1:"));
    const auto port = std::stoi(running.said_after("listening on http://127.0.0.1:"));
    const auto began = test::MachineClock::now();
    send_crowds(static_cast<std::uint16_t>(port), origin.host(), 60);
    late = test::machine_late(began);
    running.send(SIGTERM);
    EXPECT_EQ(running.wait().code, 0);
  }
  const auto told = simulated({"--config", config.path(), log.path()});
  EXPECT_EQ(told.at("log").at("requests"), 180);
  EXPECT_EQ(told.at("log").at("badLines"), 0);
  ASSERT_EQ(told.at("upstreams").size(), 3U);
  for (const auto& upstream : told.at("upstreams")) {
    EXPECT_EQ(upstream.at("requests"), 60);
    EXPECT_EQ(upstream.at("new").at("sent"), 60);
    EXPECT_GT(upstream.at("logged").at("waitMs").at("p95"), 300) << "there is something to come to";
    for (const auto* percentile : {"p50", "p95", "p99"}) expect_alike(upstream, percentile, late.count());
  }
}

std::string line(const std::string& event, const std::string& id, const std::string& upstream, const std::string& host,
                 const std::string& path, const std::string& more) {
  return R"({"ts":"2026-11-21T09:30:00.100000Z","event":")" + event + R"(","id":")" + id + R"(","upstream":")" +
         upstream + R"(","group":"","method":"GET","host":")" + host + R"(","path":")" + path +
         R"(","pending":0,"inFlight":1,"waitMs":0.010)" + more + "}\n";
}

constexpr const char* kNew = R"(
version: 1
upstreams:
  renamed: { match: api.example.com, maxConcurrent: 1 }
  search:  { match: api.example.com/search }
  kept:    { match: elsewhere.example, group: "path:/u/{user}", limits: [ { pacer: { qps: 1, per: group } } ] }
)";

std::string mixed_log() {
  return line("dispatch", "a", "old", "api.example.com", "/x", "") +
         line("dispatch", "b", "old", "api.example.com", "/search/y", "") +
         line("dispatch", "c", "kept", "a.example", "/u/1", "") +
         line("dispatch", "d", "kept", "a.example", "/u/2", "") +
         line("dispatch", "e", "kept", "a.example", "/u/1", "") +
         line("dispatch", "f", "b.example:8080", "b.example", "/", "") + "no event\n";
}

TEST(Simulate, routes_and_groups_by_the_new_settings) {
  const TemporaryFile config(kNew), log(mixed_log());
  const auto told = simulated({"--config", config.path(), log.path()});
  std::vector<std::string> names;
  for (const auto& upstream : told.at("upstreams")) names.push_back(upstream.at("name"));
  EXPECT_THAT(names, testing::ElementsAre("kept", "renamed", "search", "b.example:8080"));
  const auto& kept = told.at("upstreams")[0];
  EXPECT_EQ(kept.at("new").at("waitMs").at("p50"), 0.0) << "two of three are the first of their group";
  EXPECT_NEAR(kept.at("new").at("waitMs").at("max"), 1000, 0.01);
  EXPECT_EQ(told.at("log").at("firstBadLines")[0].at("line"), 7);
}

TEST(Simulate, holds_requests_to_the_limits_of_the_route_that_the_log_names) {
  const TemporaryFile config(R"(
version: 1
upstreams:
  api:
    match: api.example.com
    https: originate
    routes: [ { match: { path: /search }, name: search, limits: [ { pacer: { qps: 1 } } ] } ]
)");
  std::string lines;
  for (const char* id : {"a", "b", "c"}) {
    lines += line("dispatch", id, "api", "api.example.com", "/search", R"(,"route":"search")");
    lines += line("dispatch", std::string("other-") + id, "api", "api.example.com", "/x", "");
  }
  const TemporaryFile log(lines);
  const auto told = simulated({"--config", config.path(), log.path()});
  const auto& api = told.at("upstreams").at(0).at("new");
  EXPECT_EQ(api.at("sent"), 6);
  EXPECT_NEAR(api.at("waitMs").at("max"), 2000, 0.01) << "the third search";
  EXPECT_EQ(api.at("waitMs").at("p50"), 0.0) << "what is no search, and the first one, do not wait";
  EXPECT_EQ(api.at("limits").at(0).at("name"), "search:pacer");
}

TEST(Simulate, plays_all_that_draw_on_one_quota_as_one_queue) {
  const TemporaryFile config(R"(
version: 1
quotas: { account: { limits: [ { pacer: { qps: 1 } } ] } }
upstreams:
  api: { match: api.example.com, https: originate, quota: account, routes: [ { match: { path: /search }, name: search,
         limits: [ { pacer: { qps: 0.1 } } ] } ] }
  uploads: { match: uploads.example.com, https: originate, quota: account }
  plain: { match: plain.example.com, https: originate }
)");
  std::string lines;
  for (const char* id : {"a", "b"}) {
    lines += line("dispatch", std::string("api-") + id, "api", "api.example.com", "/x", "");
    lines += line("dispatch", std::string("uploads-") + id, "uploads", "uploads.example.com", "/x", "");
    lines += line("dispatch", std::string("plain-") + id, "plain", "plain.example.com", "/x", "");
    lines += line("dispatch", std::string("unnamed-") + id, "other.example.com:443", "other.example.com", "/x", "");
    lines += line("dispatch", std::string("search-") + id, "api", "api.example.com", "/search", R"(,"route":"search")");
  }
  const TemporaryFile log(lines);
  const auto told = simulated({"--config", config.path(), "--quota", "account=2/s", log.path()});
  ASSERT_EQ(told.at("upstreams").size(), 3U);
  const auto& account = told.at("upstreams").at(0);
  EXPECT_EQ(account.at("name"), "account");
  EXPECT_EQ(account.at("new").at("sent"), 6);
  EXPECT_EQ(account.at("new").at("limits").at(0).at("name"), "pacer");
  EXPECT_EQ(account.at("new").at("limits").at(1).at("name"), "api/search:pacer");
  const double longest = account.at("new").at("waitMs").at("max");
  EXPECT_GE(longest, 10'000) << "the second search, ten seconds after the first";
  EXPECT_LE(longest, 15'000) << "which waited for five others at most";
  EXPECT_EQ(told.at("upstreams").at(1).at("new").at("waitMs").at("max"), 0.0);
  const auto of_one = penstock({"simulate", "--config", config.path(), "--quota", "api=2/s", log.path()});
  EXPECT_EQ(of_one.code, 1);
  EXPECT_THAT(of_one.err, HasSubstr("one that draws on a quota is played under the quota's name"));
}

TEST(Simulate, finds_the_limits_of_a_route_behind_hundreds_of_routes_without_limits) {
  std::string yaml = "version: 1\nquotas: { account: {} }\nupstreams:\n";
  for (int host = 0; host < 5; ++host) {
    yaml +=
        "  h" + std::to_string(host) + ": { match: h" + std::to_string(host) + ".example, quota: account, routes: [";
    for (int route = 0; route < 60; ++route) yaml += " { match: { path: /" + std::to_string(route) + " }, weight: 2 },";
    yaml += " ] }\n";
  }
  yaml +=
      "  z: { match: z.example, quota: account, routes: [ { match: { path: /s }, limits: [ { pacer: { qps: 1 } } ] } ] "
      "}";
  const TemporaryFile config(yaml), log(line("dispatch", "a", "z", "z.example", "/s", R"(,"route":"/s")") +
                                        line("dispatch", "b", "z", "z.example", "/s", R"(,"route":"/s")"));
  const auto told = simulated({"--config", config.path(), log.path()});
  EXPECT_NEAR(told.at("upstreams").at(0).at("new").at("waitMs").at("max"), 1000, 0.01);
}

TEST(Simulate, finds_permits_by_their_name_alone) {
  const TemporaryFile config("version: 1\nupstreams: { db: { permits: true, maxConcurrent: 1 } }\n"),
      log(line("dispatch", "a", "db", "", "/@db", R"(,"permit":true)") +
          line("dispatch", "b", "gone", "", "/@gone", R"(,"permit":true)"));
  const auto told = simulated({"--config", config.path(), log.path()});
  ASSERT_EQ(told.at("upstreams").size(), 2U);
  EXPECT_EQ(told.at("upstreams")[0].at("name"), "db");
  EXPECT_EQ(told.at("upstreams")[0].at("new").at("sent"), 1);
  EXPECT_EQ(told.at("upstreams")[1].at("name"), "gone");
  EXPECT_EQ(told.at("upstreams")[1].at("new").at("sent"), 0) << "it is refused, and not held to the limits of \"*\"";
}

TEST(Simulate, says_in_words_what_it_found) {
  const TemporaryFile config(kNew), log(mixed_log());
  const auto ended =
      penstock({"simulate", "--config", config.path(), "--old", config.path(), "--quota", "kept=1/s", log.path()});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out,
              StartsWith("6 events of 6 requests, 2026-11-21 09:30:00 to 2026-11-21 09:30:00 UTC\n1 bad line: "));
  EXPECT_THAT(ended.out, HasSubstr("as logged    old settings    new settings\n"));
  EXPECT_THAT(ended.out, HasSubstr("beyond its quota"));
  EXPECT_THAT(ended.out, HasSubstr("go by host and path"));
  EXPECT_EQ(
      penstock({"simulate", "--config", config.path(), "--old", config.path(), "--quota", "kept=1/s", log.path()}).out,
      ended.out);
}

TEST(Simulate, reads_several_files_as_one_log) {
  const TemporaryFile config(kNew), one(line("dispatch", "a", "kept", "a.example", "/u/1", "")),
      other(line("dispatch", "b", "kept", "a.example", "/u/1", ""));
  const auto told = simulated({"--config", config.path(), one.path(), other.path()});
  EXPECT_NEAR(told.at("upstreams")[0].at("new").at("waitMs").at("max"), 1000, 0.01);
  EXPECT_THAT(told.at("notKnown").dump(), HasSubstr("which process got which request"));
}

TEST(Simulate, says_what_it_cannot_do) {
  const TemporaryFile config(kNew), log(mixed_log()), no_log("hello\n");
  const auto without_file = penstock({"simulate", "--config", config.path(), log.path() + ".none"});
  EXPECT_EQ(without_file.code, 1);
  EXPECT_THAT(without_file.err, HasSubstr("cannot read "));
  const auto without_events = penstock({"simulate", "--config", config.path(), no_log.path()});
  EXPECT_EQ(without_events.code, 1);
  EXPECT_EQ(without_events.err, "penstock: no request in 1 lines: is this an event log?\n");
  for (const auto* quota : {"kept", "kept=fast", "nobody=1/s"}) {
    const auto ended = penstock({"simulate", "--config", config.path(), "--quota", quota, log.path()});
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.err, StartsWith("penstock: --quota "));
  }
  EXPECT_EQ(penstock({"simulate", log.path()}).code, 2) << "the new settings are needed";
}

}  // namespace
}  // namespace penstock::app
