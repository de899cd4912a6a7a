// SPDX-License-Identifier: Apache-2.0
// Two hosts of one account, as its upstreams: one window and one queue for both, in one process and in three.
#include <gmock/gmock.h>

#include <algorithm>
#include <deque>
#include <memory>

#include "system/limited.h"
#include "system/redis_stage.h"

namespace penstock::trial {
namespace {

using testing::Each;
using testing::SizeIs;
using testing::StartsWith;

constexpr int kMost = 100;
constexpr auto kInterval = 1s;

/// The upstreams `api` and `uploads`, which are two origins, draw on the quota `account`. The origins outlive the
/// daemons.
struct Account {
  /// `quota`: its keys. `top`: more of the file.
  explicit Account(std::string_view quota, std::string_view top = "")
      : keys(std::string(top) + "access: { connectPorts: [" + std::to_string(uploads.port()) + "] }\nquotas:\n" +
             "  account: { " + std::string(quota) + " }\nupstreams:\n  api: { match: \"" + api.host() +
             "\", quota: account }\n  uploads: { match: \"" + uploads.host() + "\", quota: account }\n") {
    for (auto* origin : {&api, &uploads}) {
      origin->otherwise([this](Visit& visit) {
        arrivals.note();
        if (visit.read_body()) visit.answer(200, "hello");
      });
    }
  }
  ~Account() {
    for (auto* origin : {&api, &uploads}) EXPECT_EQ(origin->complaint(), "");
  }
  Daemon& add() {
    Daemon& daemon = daemons.emplace_back(Given{.yaml = keys});
    arrivals.watch(daemon.pid());
    return daemon;
  }

  /// Never more than the window, and at least 97 % of it while nothing but the machine held requests up.
  void expect_one_window() const {
    const auto times = arrivals.times();
    ASSERT_FALSE(times.empty());
    EXPECT_LE(fullest_in_time(arrivals, kInterval), static_cast<std::size_t>(kMost));
    constexpr int kIntervals = 4;
    const auto ahead = std::chrono::system_clock::now().time_since_epoch() - Clock::now().time_since_epoch();
    const Moment from(times.front().time_since_epoch() - ahead);
    const auto late = machine_late(from, from + kIntervals * kInterval);
    const auto end = std::lower_bound(times.begin(), times.end(), times.front() + kIntervals * kInterval);
    const std::chrono::duration<double> usable = kIntervals * kInterval - late;
    EXPECT_GE(static_cast<double>(end - times.begin()), 0.97 * kMost * usable.count());
  }

  Origin api, uploads;
  Arrivals arrivals;
  const std::string keys;
  std::deque<Daemon> daemons;
};

const std::string kWindow = "limits: [ { slidingWindow: { max: " + std::to_string(kMost) + ", interval: 1s } } ]";

/// Clients of both upstreams ask as soon as they are answered, until this many have arrived.
void crowd(Account& account, std::size_t arrivals) {
  std::vector<std::uint16_t> ports;
  for (const auto& daemon : account.daemons) ports.push_back(daemon.port());
  Load of_api(ports, account.api.url("/")), of_uploads(ports, account.uploads.url("/"));
  EXPECT_TRUE(account.arrivals.await(arrivals));
  expect_only_successes(of_api.stop());
  expect_only_successes(of_uploads.stop());
  EXPECT_GT(account.api.count(), arrivals / 5);
  EXPECT_GT(account.uploads.count(), arrivals / 5) << "neither has it alone";
}

TEST(Quota, is_one_window_for_two_upstreams) {
  Account account(kWindow);
  account.add();
  crowd(account, 5 * kMost + 1);
  account.expect_one_window();
}

std::string kept_in(const test::RedisServer& redis) {
  return "redis: { url: \"redis://127.0.0.1:" + std::to_string(redis.port()) + "\", timeout: 8s }\n";
}

void expect_shared(const Account& account) {
  for (const auto& daemon : account.daemons)
    ASSERT_TRUE(eventually([&] { return is_up(daemon) && !is_degraded(daemon); }));
}

TEST(Quota, is_one_window_for_two_upstreams_in_three_processes) {
  test::RedisServer redis;
  Account account(kWindow, kept_in(redis));
  for (int i = 0; i < 3; ++i) account.add();
  expect_shared(account);
  crowd(account, 5 * kMost + 1);
  account.expect_one_window();
  std::vector<std::string> keys;
  for (const auto& key : redis.run({"KEYS", "penstock:{*"}).items) keys.push_back(key.text);
  EXPECT_FALSE(keys.empty());
  EXPECT_THAT(keys, Each(StartsWith("penstock:{account}:"))) << "one hash slot, and none of an upstream's own";
}

TEST(Quota, is_foretold_by_what_another_process_has_used) {
  test::RedisServer redis;
  Account account("limits: [ { slidingWindow: { max: 2, interval: 1h } } ], queue: { maxWait: 2h }", kept_in(redis));
  for (int i = 0; i < 2; ++i) account.add();
  expect_shared(account);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(account.daemons.front().ask(get(account.api.url("/"))).status, 200);
  const Json ahead = Json::parse(account.daemons.back().admin("/ahead?url=" + account.uploads.url("/")).body);
  EXPECT_EQ(ahead.at("upstream"), "uploads");
  EXPECT_EQ(ahead.at("limitedBy"), "slidingWindow");
  EXPECT_GT(ahead.at("waitMs"), 59 * 60 * 1000);
}

/// Of the dispatches so far, by arrival: a request that has waited longer came before.
std::vector<std::string> in_order(const Daemon& daemon, std::size_t count) {
  std::vector<std::string> paths;
  for (const auto& event : daemon.await_events(count, "dispatch")) paths.push_back(event.at("path"));
  return paths;
}

TEST(Quota, has_one_queue_in_the_order_of_arrival) {
  Account account("maxConcurrent: 1");
  account.api.on("/first", [](Visit& visit) { visit.hold(), visit.answer(200); });
  const Daemon& daemon = account.add();
  std::deque<Client> clients;
  const auto send = [&](const Origin& to, std::string_view path) {
    clients.emplace_back(daemon.port()).send(get(to.url(path)));
  };
  send(account.api, "/first");
  ASSERT_TRUE(account.api.await(1));
  std::vector<std::string> sent{"/first"};
  for (std::size_t i = 1; i <= 6; ++i) {
    const bool to_api = i % 3 == 0;
    sent.push_back("/" + std::to_string(i));
    send(to_api ? account.api : account.uploads, sent.back());
    ASSERT_TRUE(daemon.await_pending(to_api ? "api" : "uploads", to_api ? i / 3 : i - i / 3));
  }
  EXPECT_EQ(daemon.status("uploads").at("quota"), "account");
  EXPECT_EQ(daemon.status("uploads").at("maxConcurrent"), 1);
  account.api.release();
  for (auto& client : clients) EXPECT_EQ(client.reply().status, 200);
  EXPECT_EQ(in_order(daemon, sent.size()), sent);
}

TEST(Quota, counts_a_tunnel_of_any_of_its_upstreams) {
  Account account("limits: [ { counter: { max: 2, period: 1h, mode: refuse } } ]");
  const Daemon& daemon = account.add();
  Client tunnel(daemon.port());
  tunnel.send("CONNECT " + account.uploads.host() + " HTTP/1.1\r\nHost: " + account.uploads.host() + "\r\n\r\n");
  EXPECT_EQ(tunnel.head().status, 200);
  EXPECT_EQ(daemon.ask(get(account.api.url("/"))).status, 200);
  const Reply refused = daemon.ask(get(account.api.url("/")));
  expect_limited(refused, 429, "counter");
  EXPECT_EQ(daemon.status("api").at("limits").at(0).at("used"), 2);
  tunnel.close();
}

TEST(Quota, changes_under_those_that_wait_in_it) {
  Account account("limits: [ { counter: { max: 1, period: 1h } } ], queue: { maxWait: 2h }");
  const Daemon& daemon = account.add();
  EXPECT_EQ(daemon.ask(get(account.api.url("/"))).status, 200);
  Client waiting(daemon.port());
  waiting.send(get(account.uploads.url("/")));
  ASSERT_TRUE(daemon.await_pending("uploads", 1));
  std::string changed = account.keys;
  changed.replace(changed.find("max: 1"), 6, "max: 2");
  ASSERT_TRUE(daemon.reloads(changed));
  EXPECT_EQ(waiting.reply().status, 200);
  std::string dissolved = changed;
  dissolved.replace(dissolved.find("quotas:"), dissolved.find("upstreams:") - dissolved.find("quotas:"), "");
  for (std::size_t at; (at = dissolved.find(", quota: account")) != std::string::npos;) dissolved.erase(at, 16);
  Client left(daemon.port());
  left.send(get(account.api.url("/")));
  ASSERT_TRUE(daemon.await_pending("api", 1));
  ASSERT_TRUE(daemon.reloads(dissolved));
  EXPECT_EQ(daemon.ask(get(account.api.url("/"))).status, 200) << "of a queue of its own, without limits";
  left.close();
  EXPECT_THAT(daemon.await_events(1, "gone"), SizeIs(1)) << "it waited on where it was";
}

}  // namespace
}  // namespace penstock::trial
