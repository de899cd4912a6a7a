// SPDX-License-Identifier: Apache-2.0
// A Redis that is changed while processes run: another server takes over, and what was spent counts there. At two real
// servers.
#include <gmock/gmock.h>

#include "redis/changing.h"
#include "redis/limits/handover.h"

namespace penstock::redis {
namespace {

class ChangedRedis : public RedisChange {
 protected:
  RedisConfig at(const test::RedisServer& server) const {
    RedisConfig config = config_;
    config.port = server.port();
    return config;
  }
  bool joins(const LimiterFixture& desk) {
    return run_.run_until([&] { return desk.up() && !desk.degraded(); });
  }

  test::RedisServer other_;
};

TEST_F(ChangedRedis, knows_what_was_spent_at_the_one_before) {
  for (const auto& limit : {long_window(5), counter(5, 24h), LimitConfig{.kind = SlidingWindowConfig{5, 1h}},
                            LimitConfig{.kind = TokenBucketConfig{5, 1, 1h}}}) {
    SCOPED_TRACE(limit_key(limit.kind));
    server_.run({"FLUSHALL"}), other_.run({"FLUSHALL"});
    const auto a = desk({limit});
    a->arrive(3);
    ASSERT_TRUE(took_off(*a, 3));
    a->change_redis(at(other_));
    a->arrive(9);
    ASSERT_TRUE(took_off(*a, 5));
    EXPECT_EQ(settled(*a), 5u);
  }
}

TEST_F(ChangedRedis, has_who_waits_go_on_at_once) {
  const auto a = desk({pacer(20)});
  a->arrive(30);
  ASSERT_TRUE(took_off(*a, 3));
  a->change_redis(at(other_));
  ASSERT_TRUE(took_off(*a, 30));
  const flow::Time apart = std::min<flow::Time>(40'000, 50'000 - clock_error(*a));
  EXPECT_EQ(fullest(a->booked(), std::max<flow::Time>(1, apart)), 1u) << "the pace is kept over the change";
  EXPECT_TRUE(a->refused().empty());
}

TEST_F(ChangedRedis, waits_until_others_have_told_what_they_have_spent) {
  const auto a = desk({long_window(10)}), b = desk({long_window(10)});
  a->arrive(3), b->arrive(3);
  ASSERT_TRUE(took_off(*a, 3) && took_off(*b, 3));
  run_.run_for(kSecond);  // each says in half a second that it is there
  a->arrive(1), b->arrive(1);
  ASSERT_TRUE(took_off(*a, 4) && took_off(*b, 4));
  a->change_redis(at(other_));
  a->arrive(9);
  run_.run_for(kSecond / 4);
  EXPECT_EQ(a->took_off().size(), 4u) << "b has not come yet";
  b->change_redis(at(other_));
  b->arrive(9);
  ASSERT_TRUE(run_.run_until([&] { return a->took_off().size() + b->took_off().size() >= 10; }));
  EXPECT_EQ(settled(*a) + settled(*b), 10u);
}

TEST_F(ChangedRedis, that_was_left_before_lacks_only_what_was_spent_since) {
  const auto a = desk({counter(6, 24h)});  // a window would count once more what leaves late on a busy machine
  a->arrive(2);
  ASSERT_TRUE(took_off(*a, 2));
  // When something left is remembered to 50 ms and a third of its age. So it may take 5 s until this Redis is used
  // again.
  run_.run_for(2 * kSecond);
  const auto head = [&] { return server_.run({"GET", "penstock:{github}:head"}).text; };
  ASSERT_TRUE(run_.run_until([&, before = head()] { return head() != before; })) << "it is told that they have left";
  a->change_redis(at(other_));
  a->arrive(1);
  ASSERT_TRUE(took_off(*a, 3));
  a->change_redis(at(server_));
  a->arrive(9);
  ASSERT_TRUE(took_off(*a, 6)) << "and not fewer, as where it counts twice";
  EXPECT_EQ(settled(*a), 6u);
}

TEST_F(ChangedRedis, is_the_same_where_only_the_password_is_another) {
  const auto a = desk({long_window(6)});
  a->arrive(2);
  ASSERT_TRUE(took_off(*a, 2));
  const std::string before = server_.run({"GET", "penstock:{github}:head"}).text;
  server_.run({"ACL", "SETUSER", "new", "on", ">s3cret", "allcommands", "allkeys", "allchannels"});
  RedisConfig config = at(server_);
  config.user = "new", config.password = "s3cret";
  a->change_redis(config);
  a->arrive(9);
  ASSERT_TRUE(took_off(*a, 6));
  EXPECT_EQ(settled(*a), 6u);
  const std::string after = server_.run({"GET", "penstock:{github}:head"}).text;
  EXPECT_EQ(after.substr(0, after.find(' ', 2)), before.substr(0, before.find(' ', 2))) << "no new generation";
}

TEST_F(ChangedRedis, by_another_name_of_the_same_server_is_the_same) {
  const auto a = desk({long_window(6)});
  a->arrive(2);
  ASSERT_TRUE(took_off(*a, 2));
  RedisConfig config = at(server_);
  config.path = server_.socket();
  a->change_redis(config);
  a->arrive(9);
  ASSERT_TRUE(took_off(*a, 6));
  EXPECT_EQ(settled(*a), 6u);
}

TEST_F(ChangedRedis, that_is_away_leaves_what_was_not_spent) {
  const auto a = desk({long_window(5)});
  a->arrive(3);
  ASSERT_TRUE(took_off(*a, 3));
  other_.stop();
  a->change_redis(at(other_));
  a->arrive(9);
  ASSERT_TRUE(took_off(*a, 5)) << "alone";
  EXPECT_EQ(settled(*a), 5u);
  other_.start();
  ASSERT_TRUE(joins(*a));
  EXPECT_EQ(settled(*a), 5u);
}

TEST_F(ChangedRedis, asks_to_wait_by_any_rule_until_it_has_answered) {
  config_.when_down = WhenDown::refuse;
  const auto a = desk({long_window(5)});
  a->arrive(3);
  ASSERT_TRUE(took_off(*a, 3));
  a->change_redis(at(other_));
  a->arrive(2);
  ASSERT_TRUE(took_off(*a, 5));
  EXPECT_TRUE(a->refused().empty());
}

TEST_F(ChangedRedis, knows_the_permits_that_are_held) {
  const auto a = grown_up({permits_of(3)});
  a->arrive(2);
  ASSERT_TRUE(took_off(*a, 2));
  a->change_redis(at(other_));
  ASSERT_TRUE(joins(*a));
  a->arrive(5);
  ASSERT_TRUE(took_off(*a, 3));
  EXPECT_EQ(settled(*a), 3u);
  EXPECT_EQ(a->cut(), 0u);
  a->land(0);
  ASSERT_TRUE(took_off(*a, 4));
}

TEST_F(ChangedRedis, takes_over_twice_in_a_row_what_the_first_knew) {
  const auto a = desk({long_window(5)});
  a->arrive(3);
  ASSERT_TRUE(took_off(*a, 3));
  test::RedisServer never;
  never.stop();
  a->change_redis(at(never));
  a->change_redis(at(other_));
  a->arrive(9);
  ASSERT_TRUE(took_off(*a, 5));
  EXPECT_EQ(settled(*a), 5u);
}

TEST(SameMemory, is_that_of_a_place_or_a_server_with_the_same_keys) {
  const RedisConfig here{.host = "r1", .port = 6379};
  const Memory there{.config = here, .server = "id"};
  EXPECT_TRUE(same_memory(there, here, "other")) << "it may have been started anew";
  RedisConfig elsewhere = here;
  elsewhere.host = "r2";
  EXPECT_FALSE(same_memory(there, elsewhere, "other"));
  EXPECT_FALSE(same_memory(there, elsewhere, ""));
  EXPECT_TRUE(same_memory(there, elsewhere, "id"));
  for (auto other : {&RedisConfig::prefix, &RedisConfig::secret}) {
    RedisConfig config = here;
    config.*other = "another";
    EXPECT_FALSE(same_memory(there, config, "id"));
  }
  RedisConfig database = here;
  database.database = 1;
  EXPECT_FALSE(same_memory(there, database, "id"));
}

/// The first host is `host`, too.
TEST(SameMemory, is_that_of_the_same_hosts_in_any_order) {
  const auto cluster = [](std::vector<Endpoint> hosts) {
    return RedisConfig{.host = hosts[0].address, .port = hosts[0].port, .cluster = hosts};
  };
  const auto by_sentinel = [](std::vector<SentinelConfig::Host> hosts) {
    return RedisConfig{.host = hosts[0].host, .port = hosts[0].port, .sentinel = SentinelConfig{hosts, "main"}};
  };
  const auto same = [](const RedisConfig& some, const RedisConfig& others) {
    return same_memory({.config = some, .server = "id"}, others, "other");
  };
  EXPECT_TRUE(same(cluster({{"r1", 7000}, {"r2", 7000}}), cluster({{"r2", 7000}, {"r1", 7000}})));
  EXPECT_FALSE(same(cluster({{"r1", 7000}, {"r2", 7000}}), cluster({{"r1", 7000}, {"r3", 7000}})));
  EXPECT_FALSE(same(cluster({{"r1", 7000}, {"r2", 7000}}), cluster({{"r1", 7000}})));
  EXPECT_TRUE(same(by_sentinel({{"r1", 7000}, {"r2", 7000}}), by_sentinel({{"r2", 7000}, {"r1", 7000}})));
  EXPECT_FALSE(same(by_sentinel({{"r1", 7000}, {"r2", 7000}}), by_sentinel({{"r1", 7000}, {"r3", 7000}})));
  EXPECT_FALSE(same(cluster({{"r1", 7000}}), {.host = "r1", .port = 7000}));
}

}  // namespace
}  // namespace penstock::redis
