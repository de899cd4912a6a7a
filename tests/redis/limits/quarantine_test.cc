// SPDX-License-Identifier: Apache-2.0
// Something that is not ours stands under the key of one limit: that one goes by `whenDown`, the others are shared as
// ever, and it is again when the value has gone.
#include <gmock/gmock.h>

#include "flow/group_hash.h"
#include "redis/fake_redis.h"
#include "redis/in_time.h"
#include "redis/limiter_fixture.h"
#include "support/redis_server.h"

namespace penstock::redis {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

LimitConfig own(double qps) { return {.kind = PacerConfig{.qps = qps}, .name = "own", .shared = false}; }
LimitConfig permits(int count) { return {.kind = SemaphoreConfig{.capacity = count, .lease = 1s}, .name = "permits"}; }
LimitConfig sliding(int max) { return {.kind = SlidingWindowConfig{.max = max, .interval = 20s}, .name = "sliding"}; }

class QuarantineTest : public SharedLimiterTest {
 protected:
  static std::string key(std::string_view limit) { return "penstock:{github}:" + std::string(limit); }
  void spoil(const std::string& key) {
    server_.run({"DEL", key});
    server_.run({"SET", key, "something else"});
  }
  /// Of a sliding window: what is behind its first element.
  std::int64_t length(const std::string& key) {
    return std::max<std::int64_t>(0, server_.run({"LLEN", key}).integer - 1);
  }
};

TEST_F(QuarantineTest, the_others_are_kept_exactly_over_all_processes) {
  const auto a = desk({pacer(1000), sliding(6)}), b = desk({pacer(1000), sliding(6)});
  spoil(key("pacer"));
  a->arrive(4);
  ASSERT_TRUE(took_off(*a, 4));
  b->arrive(4);
  ASSERT_TRUE(took_off(*b, 2));
  run_.run_for(kSecond / 4);
  EXPECT_THAT(b->took_off(), SizeIs(2));
  EXPECT_EQ(length(key("sliding")), 6);
  EXPECT_TRUE(a->degraded());
  EXPECT_TRUE(b->degraded());
  ASSERT_THAT(a->notices(), SizeIs(1));
  EXPECT_THAT(a->notices()[0], HasSubstr("limit pacer of github goes on without Redis: CORRUPT " + key("pacer")));
  EXPECT_GE(a->hub().counts().of(FailureKind::corrupt), 1u);
}

TEST_F(QuarantineTest, with_share_it_goes_on_by_its_part) {
  const std::vector limits{pacer(100), sliding(10'000)};
  const auto a = desk(limits), b = desk(limits);
  a->work_without_end(20);
  b->work_without_end(20);
  ASSERT_TRUE(run_.run_until([&] { return a->limiter().processes() == 2 && b->limiter().processes() == 2; }));
  spoil(key("pacer"));
  ASSERT_TRUE(run_.run_until([&] { return a->degraded() && b->degraded(); }));
  const auto since = run_.loop.now() + 100'000;  // what was booked has left
  run_.run_for(kSecond + 200'000);
  auto times = all_times(*a, *b);
  std::erase_if(times, [=](auto at) { return at < since || at >= since + kSecond; });
  EXPECT_LE(times.size(), 104u);
  EXPECT_GE(static_cast<double>(times.size()) + missed_units(100, since, since + kSecond), 90);
  EXPECT_GE(length(key("sliding")), static_cast<std::int64_t>(all_times(*a, *b).size())) << "which counts them all";
}

TEST_F(QuarantineTest, with_open_it_alone_is_no_limit) {
  config_.when_down = WhenDown::open;
  const auto a = desk({pacer(0.1), sliding(20)});
  spoil(key("pacer"));
  a->arrive(30);
  ASSERT_TRUE(took_off(*a, 20));
  run_.run_for(kSecond / 4);
  EXPECT_THAT(a->took_off(), SizeIs(20));
}

TEST_F(QuarantineTest, with_open_it_is_none_beside_one_of_this_process_either) {
  config_.when_down = WhenDown::open;
  const auto a = desk({own(1000), pacer(0.1), sliding(20)});
  spoil(key("pacer"));
  a->arrive(30);
  ASSERT_TRUE(took_off(*a, 20));
}

TEST_F(QuarantineTest, it_does_not_keep_others_from_hearing_of_permits) {
  const auto a = desk({pacer(1000), permits(2)});
  spoil(key("pacer"));
  a->arrive(8);
  EXPECT_TRUE(took_off(*a, 8));
}

TEST_F(QuarantineTest, it_does_not_keep_a_redis_that_lost_its_memory_from_being_told) {
  const auto a = desk({pacer(1000), sliding(6)});
  a->arrive(2);
  ASSERT_TRUE(took_off(*a, 2));
  server_.run({"FLUSHALL"});
  spoil(key("pacer"));
  a->arrive(6);
  ASSERT_TRUE(took_off(*a, 6));
  run_.run_for(kSecond / 4);
  EXPECT_THAT(a->took_off(), SizeIs(6));
  EXPECT_EQ(length(key("sliding")), 6);
}

TEST_F(QuarantineTest, with_hold_lanes_wait_until_the_value_has_gone) {
  config_.when_down = WhenDown::wait;
  const auto a = desk({pacer(1000), sliding(6)});
  a->arrive(1);
  ASSERT_TRUE(took_off(*a, 1));
  spoil(key("pacer"));
  a->arrive(3);
  ASSERT_TRUE(run_.run_until([&] { return a->degraded(); }));
  run_.run_for(kSecond / 4);
  EXPECT_THAT(a->took_off(), SizeIs(1));
  EXPECT_THAT(a->refused(), IsEmpty());
  EXPECT_EQ(length(key("sliding")), 1) << "a lane that waits counts in none";
  server_.run({"DEL", key("pacer")});
  ASSERT_TRUE(took_off(*a, 4));
  EXPECT_EQ(a->took_off()[1].limited_by, 0);
  EXPECT_FALSE(a->degraded());
}

TEST_F(QuarantineTest, with_refuse_requests_are_refused_on_its_account) {
  config_.when_down = WhenDown::refuse;
  const auto a = desk({sliding(6), pacer(1000)});
  spoil(key("pacer"));
  a->arrive(2);
  ASSERT_TRUE(run_.run_until([&] { return a->refused().size() == 2; }));
  EXPECT_THAT(a->refused(), Each(AllOf(Field(&flow::Commands::Refuse::why, flow::Refused::unavailable),
                                       Field(&flow::Commands::Refuse::limited_by, 1))));
  EXPECT_THAT(a->took_off(), IsEmpty());
}

TEST_F(QuarantineTest, what_left_meanwhile_counts_when_the_value_has_gone) {
  const auto a = desk({sliding(10), pacer(1000)}), b = desk({sliding(10), pacer(1000)});
  spoil(key("sliding"));
  a->arrive(4);
  ASSERT_TRUE(took_off(*a, 4));
  server_.run({"DEL", key("sliding")});
  ASSERT_TRUE(run_.run_until([&] { return !a->degraded(); }));
  EXPECT_THAT(a->notices(), ElementsAre(HasSubstr("limit sliding of github goes on without Redis"),
                                        "limit sliding of github is shared again"));
  EXPECT_EQ(length(key("sliding")), 4);
  b->arrive(10);
  ASSERT_TRUE(took_off(*b, 6));
  run_.run_for(kSecond / 4);
  EXPECT_THAT(b->took_off(), SizeIs(6));
}

TEST_F(QuarantineTest, of_a_group_it_is_that_of_this_group_alone) {
  config_.when_down = WhenDown::refuse;
  LimitConfig limit = sliding(3);
  limit.per = LimitConfig::Per::group;
  const auto a = desk({limit, pacer(1000)}), b = desk({limit, pacer(1000)});
  const auto digits = flow::GroupHash(config_.prefix, "github")("one");
  spoil(key("sliding:") + std::string(digits.data(), digits.size()));
  a->arrive(2, "one");
  ASSERT_TRUE(run_.run_until([&] { return a->refused().size() == 2; }));
  a->arrive(2, "two"), b->arrive(2, "two");
  ASSERT_TRUE(run_.run_until([&] { return a->took_off().size() + b->took_off().size() == 3; }));
  run_.run_for(kSecond / 4);
  EXPECT_EQ(a->took_off().size() + b->took_off().size(), 3u) << "which is still shared";
  EXPECT_THAT(a->refused(), SizeIs(2));
}

/// The key under which Redis keeps the only limit of a route, in which as many requests are counted as have left.
std::string key_of_route(test::RedisServer& server) {
  const auto keys = server.run({"KEYS", "penstock:{github}:*@*"});
  EXPECT_THAT(keys.items, SizeIs(1));
  return keys.items.empty() ? std::string() : keys.items[0].text;
}

TEST_F(QuarantineTest, of_a_route_it_is_that_limit_alone_whatever_the_name) {
  config_.when_down = WhenDown::open;
  for (const std::string route : {"POST /search", "GET /search X-Tier", "search"}) {
    server_.run({"FLUSHALL"});
    LimitConfig limit = sliding(3);
    limit.name = route + ":slidingWindow", limit.route = route;
    const auto a = desk({pacer(20), limit});
    a->arrive(1, flow::LaneKey("", route));
    ASSERT_TRUE(took_off(*a, 1));
    spoil(key_of_route(server_));
    a->arrive(6, flow::LaneKey("", route));
    ASSERT_TRUE(took_off(*a, 7)) << "nothing is left of the limit";
    EXPECT_THAT(a->notices(), ElementsAre(HasSubstr("limit " + limit.name + " of github goes on without Redis")));
    EXPECT_GE(a->took_off()[6].booked - a->took_off()[1].booked, 5 * 50'000 - clock_error(*a)) << "by the pacer";
  }
}

TEST_F(QuarantineTest, of_a_route_it_is_not_that_of_groups_which_has_the_name_of_the_route) {
  config_.when_down = WhenDown::open;
  LimitConfig each = sliding(3), of_search = sliding(5);
  each.name = "search", each.per = LimitConfig::Per::group;
  of_search.name = "search:slidingWindow", of_search.route = "search";
  const auto a = desk({each, of_search});
  const flow::LaneKey lane("one", "search");
  a->arrive(1, lane);
  ASSERT_TRUE(took_off(*a, 1));
  spoil(key_of_route(server_));
  a->arrive(5, lane);
  ASSERT_TRUE(took_off(*a, 3));
  run_.run_for(kSecond / 4);
  EXPECT_THAT(a->took_off(), SizeIs(3)) << "the limit of the group holds";
  EXPECT_THAT(a->notices(), ElementsAre(HasSubstr("limit search:slidingWindow of github goes on without Redis")));
}

TEST_F(QuarantineTest, two_may_be_at_once) {
  config_.when_down = WhenDown::open;
  const auto a = desk({pacer(0.1), {.kind = PacerConfig{.qps = 0.1}, .name = "slow"}, sliding(20)});
  spoil(key("pacer"));
  spoil(key("slow"));
  a->arrive(30);
  ASSERT_TRUE(took_off(*a, 20));
  EXPECT_THAT(a->notices(), SizeIs(2));
  server_.run({"DEL", key("pacer")});
  server_.run({"DEL", key("slow")});
  EXPECT_TRUE(run_.run_until([&] { return !a->degraded(); }));
}

TEST_F(QuarantineTest, is_one_that_a_redis_complains_of_without_end) {
  test::Origin mad(greeting([](const Command& words, int) -> std::string {
    if (words[0] != "EVALSHA") return "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n";
    return "-CORRUPT penstock:{github}:pacer\r\n";
  }));
  config_.port = mad.port();
  const auto a = std::make_unique<LimiterFixture>(run_, resolver_, config_, std::vector{pacer(1000), sliding(20)});
  ASSERT_TRUE(run_.run_until([&] { return a->up(); }));
  const auto calls = a->hub().counts().calls;
  a->arrive(1);
  ASSERT_TRUE(took_off(*a, 1)) << "it is not asked for ever";
  EXPECT_LE(a->hub().counts().calls - calls, 20u);
}

}  // namespace
}  // namespace penstock::redis
