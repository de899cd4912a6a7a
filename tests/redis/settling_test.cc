// SPDX-License-Identifier: Apache-2.0
// Limits that count costs, shared by processes: what one of them has reserved in vain, another has at once.
#include <gmock/gmock.h>

#include <memory>
#include <vector>

#include "redis/limiter_fixture.h"

namespace penstock::redis {
namespace {

using namespace std::chrono_literals;

LimitConfig of_tokens(LimitConfig::Kind kind) { return {.kind = kind, .name = "tokens", .unit = "tokens"}; }
LimitConfig a_thousand() { return of_tokens(SlidingWindowConfig{.max = 1'000, .interval = 30s}); }

const flow::Load kHalf(1, 500), kLoad(1, 1'000), kMost(1, 900), kFew(1, 100);

class SharedCosts : public SharedLimiterTest {
 protected:
  std::size_t units_in_redis() {
    const auto count = server_.run({"LLEN", "penstock:{github}:tokens,tokens"}).integer;
    return count > 0 ? static_cast<std::size_t>(count - 1) : 0;  // the first says since when
  }
  /// Redis has told it to wait.
  bool waits(const LimiterFixture& desk, std::size_t answers) {
    return run_.run_until([&] { return desk.told_to_ask_after().size() >= answers && desk.pending() > 0; });
  }
};

TEST_F(SharedCosts, are_reserved_over_all_processes) {
  const auto a = desk({a_thousand()}), b = desk({a_thousand()});
  a->arrive(1, {}, kMost);
  ASSERT_TRUE(took_off(*a, 1));
  EXPECT_EQ(units_in_redis(), 900u);
  b->arrive(1, {}, kFew);
  ASSERT_TRUE(took_off(*b, 1));
  EXPECT_EQ(b->granted().at(0).cost, 100);
  EXPECT_EQ(units_in_redis(), 1'000u);
}

TEST_F(SharedCosts, that_do_not_fit_leave_all_the_same_and_are_owed_by_all) {
  const auto a = desk({a_thousand()}), b = desk({a_thousand()});
  a->arrive(1, {}, kMost);
  ASSERT_TRUE(took_off(*a, 1));
  b->arrive(1, {}, kHalf);
  ASSERT_TRUE(took_off(*b, 1));
  EXPECT_EQ(units_in_redis(), 1'400u);
  a->arrive(1, {}, kFew);
  EXPECT_TRUE(waits(*a, 1));
}

TEST_F(SharedCosts, wake_what_waits_in_another_process_when_some_were_reserved_in_vain) {
  const auto a = desk({a_thousand()}), b = desk({a_thousand()});
  a->arrive(1, {}, kLoad);
  ASSERT_TRUE(took_off(*a, 1));
  b->arrive(1, {}, kHalf);
  ASSERT_TRUE(waits(*b, 1));
  a->settle(0, 50);
  ASSERT_TRUE(took_off(*b, 1));
  EXPECT_LT(b->took_off()[0].at, a->took_off()[0].at + 20'000'000) << "not when the window has passed";
  EXPECT_EQ(b->took_off()[0].limited_by, 0);
  EXPECT_EQ(units_in_redis(), 550u);
}

TEST_F(SharedCosts, wake_what_waits_in_the_same_process_too) {
  const auto a = desk({a_thousand()});
  a->arrive(1, {}, kLoad);
  a->arrive(1, {}, kHalf);
  ASSERT_TRUE(took_off(*a, 1) && waits(*a, 2));
  a->settle(0, 1);
  ASSERT_TRUE(took_off(*a, 2));
  EXPECT_LT(a->took_off()[1].at, a->took_off()[0].at + 20'000'000) << "not when the window has passed";
  EXPECT_EQ(units_in_redis(), 501u);
}

TEST_F(SharedCosts, are_there_for_a_process_that_could_not_be_told) {
  const auto a = desk({a_thousand()}), b = desk({a_thousand()});
  a->arrive(1, {}, kLoad);
  ASSERT_TRUE(took_off(*a, 1));
  b->arrive(1, {}, kHalf);
  ASSERT_TRUE(waits(*b, 1));
  server_.run({"CLIENT", "KILL", "TYPE", "pubsub"});
  a->settle(0, 50);
  ASSERT_TRUE(took_off(*b, 1)) << "it asks again once it is connected again";
  EXPECT_LT(b->took_off()[0].at, a->took_off()[0].at + 20'000'000) << "not when the window has passed";
}

TEST_F(SharedCosts, are_a_debt_where_more_was_used_than_reserved) {
  const auto a = desk({a_thousand()}), b = desk({a_thousand()});
  a->arrive(1, {}, kFew);
  ASSERT_TRUE(took_off(*a, 1));
  a->settle(0, 1'000);
  ASSERT_TRUE(run_.run_until([&] { return units_in_redis() == 1'000; }));
  b->arrive(1, {}, kFew);
  EXPECT_TRUE(waits(*b, 1));
}

TEST_F(SharedCosts, of_a_group_wake_what_waits_in_it) {
  LimitConfig each = a_thousand();
  each.per = LimitConfig::Per::group;
  const std::vector<LimitConfig> limits{each, pacer(1'000)};
  const auto a = desk(limits), b = desk(limits);
  const flow::LaneKey model("large");
  a->arrive(1, model, kLoad);
  ASSERT_TRUE(took_off(*a, 1));
  b->arrive(1, model, kHalf);
  ASSERT_TRUE(waits(*b, 1));
  a->settle(0, 50, model);
  EXPECT_TRUE(took_off(*b, 1));
}

TEST_F(SharedCosts, are_remembered_as_settled_when_redis_has_lost_its_memory) {
  const auto a = desk({a_thousand()});
  a->arrive(1, {}, kLoad);
  ASSERT_TRUE(took_off(*a, 1));
  a->settle(0, 300);
  ASSERT_TRUE(run_.run_until([&] { return units_in_redis() == 300; }));
  server_.run({"FLUSHALL"});
  a->arrive(1, {}, kHalf);
  ASSERT_TRUE(took_off(*a, 2));
  EXPECT_EQ(units_in_redis(), 800u);
}

TEST_F(SharedCosts, are_settled_in_this_process_while_redis_is_away) {
  config_.timeout = 500ms;
  const auto a = desk({a_thousand()});
  server_.pause();
  a->arrive(1, {}, kFew);
  ASSERT_TRUE(took_off(*a, 1));
  ASSERT_TRUE(run_.run_until([&] { return !a->up(); }));
  a->arrive(1, {}, kLoad);
  ASSERT_TRUE(took_off(*a, 2));
  a->arrive(1, {}, kHalf);
  run_.run_for(20'000);
  EXPECT_EQ(a->took_off().size(), 2u);
  a->settle(1, 50);
  EXPECT_TRUE(took_off(*a, 3));
  server_.resume();
}

}  // namespace
}  // namespace penstock::redis
