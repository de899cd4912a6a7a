// SPDX-License-Identifier: Apache-2.0
// Several Redis by name: each upstream's limits are in its own, one that is down disturbs only its upstreams; and a
// reload that changes, adds and removes them, or moves an upstream, while clients hurry. The origin judges.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "system/redis_stage.h"

namespace penstock::trial {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::Not;

std::string redis_at(std::uint16_t port, const std::string& more = "") {
  return "{ url: \"redis://127.0.0.1:" + std::to_string(port) + "\", timeout: 3s" + more + " }";
}

/// Two servers, an origin, and daemons with an upstream for each path.
struct Two {
  Two() {
    origin.otherwise([this](Visit& visit) {
      arrivals.note();
      if (visit.read_body()) visit.answer(200, "hello");
    });
  }
  ~Two() { EXPECT_EQ(origin.complaint(), ""); }

  /// `a` goes through the first, `b` through that named eu.
  std::string named(const std::string& more = "", const std::string& limit = "pacer: { qps: 1000 }") const {
    return "redis:\n  main: " + redis_at(main.port(), more) + "\n  eu: " + redis_at(eu.port(), more) +
           "\nupstreams:\n  a: { match: 127.0.0.1/a, limits: [{ " + limit +
           " }] }\n  b: { match: 127.0.0.1/b, redis: eu, limits: [{ " + limit + " }] }\n";
  }
  Daemon& add(const std::string& yaml) {
    Daemon& daemon = daemons.emplace_back(Given{.yaml = yaml});
    EXPECT_TRUE(settled(daemon)) << daemon.diagnostics();
    arrivals.watch(daemon.pid());
    return daemon;
  }
  /// All Redis that are configured answer, and limits are shared.
  static bool settled(const Daemon& daemon) {
    return eventually([&] {
      const auto redis = json::parse(daemon.admin("/status").body).at("redis");
      return redis.is_null() || (redis.at("up") == true && redis.at("mode") == "shared");
    });
  }
  int fetch(const Daemon& daemon, std::string_view path) { return daemon.ask(get(origin.url(path))).status; }
  std::vector<std::uint16_t> ports() const {
    std::vector<std::uint16_t> ports;
    for (const auto& daemon : daemons) ports.push_back(daemon.port());
    return ports;
  }

  test::RedisServer main, eu;
  Origin origin;
  Arrivals arrivals;
  std::deque<Daemon> daemons;
};

std::vector<std::string> keys_of(test::RedisServer& redis, const std::string& upstream) {
  std::vector<std::string> keys;
  for (const auto& key : redis.run({"KEYS", "penstock:{" + upstream + "}:*"}).items) keys.push_back(key.text);
  return keys;
}

TEST(SeveralRedis, keep_the_limits_of_those_upstreams_that_name_them) {
  Two stage;
  const Daemon& daemon = stage.add(stage.named());
  EXPECT_EQ(stage.fetch(daemon, "/a"), 200);
  EXPECT_EQ(stage.fetch(daemon, "/b"), 200);
  EXPECT_THAT(keys_of(stage.main, "a"), Not(IsEmpty())) << "the first in the file is for those that name none";
  EXPECT_THAT(keys_of(stage.main, "b"), IsEmpty());
  EXPECT_THAT(keys_of(stage.eu, "a"), IsEmpty());
  EXPECT_THAT(keys_of(stage.eu, "b"), Not(IsEmpty()));
  EXPECT_EQ(daemon.metric("penstock_redis_up", "redis=\"main\""), 1);
  EXPECT_EQ(daemon.metric("penstock_redis_up", "redis=\"eu\""), 1);
  EXPECT_EQ(daemon.metric("penstock_redis_node_up", "redis=\"eu\""), 1);
  EXPECT_GT(daemon.metric("penstock_redis_calls_total", "redis=\"eu\""), 0);
}

TEST(SeveralRedis, of_which_one_is_down_disturb_only_its_upstreams) {
  Two stage;
  const Daemon& daemon = stage.add(stage.named(", whenDown: refuse"));
  EXPECT_EQ(stage.fetch(daemon, "/b"), 200);
  stage.eu.stop(SIGKILL);
  ASSERT_TRUE(eventually([&] { return daemon.metric("penstock_redis_up", "redis=\"eu\"") == 0; }));
  EXPECT_EQ(stage.fetch(daemon, "/b"), 503);
  EXPECT_EQ(stage.fetch(daemon, "/a"), 200);
  EXPECT_EQ(daemon.metric("penstock_redis_up", "redis=\"main\""), 1);
  EXPECT_EQ(daemon.metric("penstock_degraded", "redis=\"main\""), 0);
  EXPECT_EQ(daemon.metric("penstock_degraded", "redis=\"eu\""), 1);
  EXPECT_TRUE(comes_to_say(daemon, "redis.eu: Redis at 127.0.0.1:" + std::to_string(stage.eu.port()) + " is down"));
  const auto redis = json::parse(daemon.admin("/status").body).at("redis");
  EXPECT_EQ(redis.at("up"), false);
  EXPECT_EQ(redis.at("each").at(0).at("up"), true);
  EXPECT_EQ(redis.at("each").at(1).at("name"), "eu");
  EXPECT_EQ(redis.at("each").at(1).at("mode"), "refuse");
  stage.eu.start();
  EXPECT_TRUE(Two::settled(daemon));
  EXPECT_EQ(stage.fetch(daemon, "/b"), 200);
}

TEST(SeveralRedis, are_not_to_be_reached_through_the_proxy) {
  Two stage;
  const Daemon& daemon = stage.add(stage.named());
  for (const auto port : {stage.main.port(), stage.eu.port()}) {
    const std::string url = "http://127.0.0.1:" + std::to_string(port) + "/";
    EXPECT_EQ(daemon.ask(get(url)).status, 403);
  }
  test::RedisServer third;
  ASSERT_TRUE(daemon.reloads("redis: " + redis_at(third.port()) + "\nupstreams: { a: { match: 127.0.0.1/a } }\n"));
  for (const auto port : {stage.eu.port(), third.port()}) {
    const std::string url = "http://127.0.0.1:" + std::to_string(port) + "/";
    EXPECT_EQ(daemon.ask(get(url)).status, 403) << "also one that was left";
  }
}

TEST(ReloadedRedis, keeps_its_connection_where_nothing_of_it_changes) {
  Two stage;
  const Daemon& daemon = stage.add(stage.named());
  EXPECT_EQ(stage.fetch(daemon, "/a"), 200);
  const auto connected = [&] { return stage.main.run({"INFO", "stats"}).text; };
  const auto count = [&] {
    const auto text = connected();
    return std::stoi(text.substr(text.find("total_connections_received:") + 27));
  };
  const int before = count();
  ASSERT_TRUE(daemon.reloads(stage.named("", "pacer: { qps: 500 }")));
  EXPECT_EQ(stage.fetch(daemon, "/a"), 200);
  EXPECT_FALSE(daemon.reloads(stage.named(", whenDown: panic"))) << "which changes nothing";
  EXPECT_EQ(stage.fetch(daemon, "/a"), 200);
  EXPECT_EQ(count(), before);
}

/// One upstream, whose limit is easily passed.
std::string through(std::uint16_t port, const std::string& limits, const std::string& more = "") {
  return "redis: " + redis_at(port, more) +
         "\nupstreams:\n  api:\n    match: 127.0.0.1\n    queue: { maxWait: 60s }\n" + "    limits:\n      - " +
         limits + "\n";
}

TEST(ReloadedRedis, under_load_loses_no_request_and_passes_no_limit) {
  constexpr std::size_t kMost = 60;
  Two stage;
  const auto yaml = [&](const test::RedisServer& redis) {
    return through(redis.port(), "slidingWindow: { max: 60, interval: 1s }");
  };
  for (int i = 0; i < 2; ++i) stage.add(yaml(stage.main));
  Load load(stage.ports(), stage.origin.url());
  ASSERT_TRUE(stage.arrivals.await(2 * kMost));
  for (int round = 0; round < 3; ++round) {
    for (auto* redis : {&stage.eu, &stage.main}) {
      const auto before = stage.arrivals.count();
      for (const auto& daemon : stage.daemons) ASSERT_TRUE(daemon.reloads(yaml(*redis))) << daemon.diagnostics();
      ASSERT_TRUE(stage.arrivals.await(before + 3 * kMost)) << "they go on";
      EXPECT_THAT(keys_of(*redis, "api"), Not(IsEmpty()));
    }
  }
  expect_only_successes(load.stop());
  EXPECT_THAT(fullest_in_time(stage.arrivals, 1s), Le(kMost));
  for (const auto& daemon : stage.daemons) EXPECT_TRUE(daemon.await_in_flight("api", 0));
}

TEST(ReloadedRedis, counts_what_was_spent_before_and_again_at_its_return) {
  Two stage;
  const std::string limits = "counter: { max: 9, period: 24h }";
  const Daemon& daemon = stage.add(through(stage.main.port(), limits));
  const auto left = [&] { return 9 - daemon.status("api").at("limits").at(0).at("used").get<int>(); };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(stage.fetch(daemon, "/"), 200);
  EXPECT_TRUE(eventually([&] { return left() == 6; }));
  EXPECT_TRUE(throughout(200ms, [&] { return left() == 6; })) << "what leaves within 50 ms is remembered as one";
  const auto head = [&] { return stage.main.run({"GET", "penstock:{api}:head"}).text; };
  EXPECT_TRUE(eventually([&, before = head()] { return head() != before; })) << "main is told that they have left";
  ASSERT_TRUE(daemon.reloads(through(stage.eu.port(), limits)));
  EXPECT_EQ(stage.fetch(daemon, "/"), 200);
  EXPECT_TRUE(eventually([&] { return left() == 5; })) << left();
  ASSERT_TRUE(daemon.reloads(through(stage.main.port(), limits)));
  EXPECT_EQ(stage.fetch(daemon, "/"), 200);
  EXPECT_TRUE(eventually([&] { return left() == 4; })) << left() << ": what main knew does not count twice";
}

TEST(ReloadedRedis, that_is_away_goes_by_whenDown_until_it_comes) {
  Two stage;
  const std::string limits = "counter: { max: 9, period: 24h }";
  const Daemon& daemon = stage.add(through(stage.main.port(), limits));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(stage.fetch(daemon, "/"), 200);
  stage.eu.stop(SIGKILL);
  ASSERT_TRUE(daemon.reloads(through(stage.eu.port(), limits, ", whenDown: share")));
  EXPECT_EQ(stage.fetch(daemon, "/"), 200);
  EXPECT_TRUE(is_degraded(daemon));
  stage.eu.start();
  ASSERT_TRUE(eventually([&] { return is_up(daemon) && !is_degraded(daemon); }));
  EXPECT_EQ(stage.fetch(daemon, "/"), 200);
  EXPECT_TRUE(eventually([&] { return daemon.status("api").at("limits").at(0).at("used") == 5; }));
}

TEST(ReloadedRedis, holds_permits_that_are_held) {
  Two stage;
  const std::string limits = "semaphore: { capacity: 2, lease: 6s }";
  const Daemon& daemon = stage.add(through(stage.main.port(), limits));
  stage.origin.on("/held", scripts::held());
  Client held(daemon.port());
  held.send(get(stage.origin.url("/held")));
  ASSERT_TRUE(daemon.await_in_flight("api", 1));
  ASSERT_TRUE(daemon.reloads(through(stage.eu.port(), limits)));
  Client second(daemon.port()), third(daemon.port());
  second.send(get(stage.origin.url("/held")));
  ASSERT_TRUE(daemon.await_in_flight("api", 2));
  third.send(get(stage.origin.url("/held")));
  ASSERT_TRUE(daemon.await_pending("api", 1));
  EXPECT_TRUE(throughout(1s, [&] { return daemon.status("api").at("inFlight") == 2; })) << "two is the capacity";
  stage.origin.release_all();
  EXPECT_EQ(held.reply().status, 200);
  EXPECT_EQ(second.reply().status, 200);
  stage.origin.release_all();
  ASSERT_TRUE(eventually([&] { return stage.origin.release_all(), daemon.status("api").at("inFlight") == 0; }));
  EXPECT_EQ(third.reply().status, 200);
}

TEST(ReloadedRedis, may_get_another_password) {
  Two stage;
  const std::string limits = "counter: { max: 9, period: 24h }";
  const Daemon& daemon = stage.add(through(stage.main.port(), limits));
  EXPECT_EQ(stage.fetch(daemon, "/"), 200);
  ASSERT_FALSE(
      stage.main.run({"ACL", "SETUSER", "new", "on", ">s3cret", "allcommands", "allkeys", "allchannels"}).is_error());
  ASSERT_TRUE(daemon.reloads(through(stage.main.port(), limits, ", user: new, password: s3cret")));
  EXPECT_EQ(stage.fetch(daemon, "/"), 200);
  ASSERT_TRUE(eventually([&] { return is_up(daemon) && !is_degraded(daemon); }));
  EXPECT_THAT(stage.main.run({"CLIENT", "LIST"}).text, HasSubstr("user=new"));
  EXPECT_TRUE(eventually([&] { return daemon.status("api").at("limits").at(0).at("used") == 2; }))
      << "it is the memory that it was, and nothing counts twice";
  ASSERT_TRUE(eventually([&] { return json::parse(daemon.admin("/status").body).at("redis").at("processes") == 1; }));
}

TEST(ReloadedRedis, may_be_added_and_removed_and_what_was_spent_counts) {
  Two stage;
  const std::string limits = "counter: { max: 9, period: 24h }";
  const std::string alone = "upstreams:\n  api:\n    match: 127.0.0.1\n    limits:\n      - " + limits + "\n";
  const Daemon& daemon = stage.add(alone);
  const auto used = [&](int count) {
    return eventually([&] { return daemon.status("api").at("limits").at(0).at("used") == count; });
  };
  EXPECT_EQ(stage.fetch(daemon, "/"), 200);
  EXPECT_TRUE(used(1));
  ASSERT_TRUE(daemon.reloads(through(stage.main.port(), limits)));
  ASSERT_TRUE(Two::settled(daemon)) << daemon.diagnostics();
  EXPECT_EQ(stage.fetch(daemon, "/"), 200);
  EXPECT_TRUE(used(2));
  EXPECT_EQ(daemon.metric("penstock_redis_up", "redis=\"default\""), 1);
  ASSERT_TRUE(daemon.reloads(alone));
  EXPECT_EQ(stage.fetch(daemon, "/"), 200);
  EXPECT_TRUE(used(3));
  EXPECT_THAT(daemon.admin("/metrics").body, Not(HasSubstr("penstock_redis_up")));
  EXPECT_EQ(json::parse(daemon.admin("/status").body).at("redis"), nullptr);
}

TEST(MovedUpstream, goes_on_in_the_other_redis_under_load) {
  constexpr std::size_t kMost = 60;
  Two stage;
  const auto yaml = [&](const std::string& name) {
    return "redis:\n  main: " + redis_at(stage.main.port()) + "\n  eu: " + redis_at(stage.eu.port()) +
           "\nupstreams:\n  api:\n    match: 127.0.0.1\n    redis: " + name +
           "\n    queue: { maxWait: 60s }\n    limits: [{ slidingWindow: { max: 60, interval: 1s } }]\n";
  };
  for (int i = 0; i < 2; ++i) stage.add(yaml("main"));
  Load load(stage.ports(), stage.origin.url());
  ASSERT_TRUE(stage.arrivals.await(2 * kMost));
  for (const char* name : {"eu", "main", "eu"}) {
    const auto before = stage.arrivals.count();
    for (const auto& daemon : stage.daemons) ASSERT_TRUE(daemon.reloads(yaml(name))) << daemon.diagnostics();
    ASSERT_TRUE(stage.arrivals.await(before + 3 * kMost)) << "they go on";
  }
  expect_only_successes(load.stop());
  EXPECT_THAT(fullest_in_time(stage.arrivals, 1s), Le(kMost));
  EXPECT_THAT(keys_of(stage.eu, "api"), Not(IsEmpty()));
}

}  // namespace
}  // namespace penstock::trial
