// SPDX-License-Identifier: Apache-2.0
// What the judges let pass where Redis is a cluster, and what not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulation/allowances.h"
#include "simulation/hand_made.h"
#include "simulation/reading.h"

namespace penstock::simulation {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using enum Fault::Kind;

/// A request leaves without Redis at 5 s, and this happens to another node at 4 s.
HandMade degraded_beside(Fault::Kind what, Time lasts) {
  HandMade run({pacer(100)}, 2);
  run.plan.masters = 3;
  Fault fault{.kind = what, .at = 4 * kSecond, .lasts = lasts};
  fault.elsewhere = true;
  run.plan.faults = {fault};
  run.fail(elsewhere, fault.at);
  run.add({.arrived = 5 * kSecond, .departed = 5 * kSecond}).without_redis = true;
  return run;
}

TEST(Elsewhere, is_no_reason_to_go_by_when_down) {
  for (const auto kind : {redis_stops, node_fails_over, node_taken_over, slot_moves}) {
    EXPECT_THAT(degraded_beside(kind, kSecond).broken("elsewhere"), SizeIs(1));
  }
}

TEST(Elsewhere, is_to_blame_only_for_what_leaves_without_redis_meanwhile) {
  HandMade with = degraded_beside(redis_stops, kSecond);
  with.journal.requests.back().without_redis = false;
  EXPECT_THAT(with.broken("elsewhere"), IsEmpty());
  HandMade before = degraded_beside(redis_stops, kSecond);
  before.plan.faults.front().at = 5'000'001;
  EXPECT_THAT(before.broken("elsewhere"), IsEmpty());
  HandMade long_after = degraded_beside(redis_stops, 0);
  long_after.plan.faults.front().at = 900'000;
  EXPECT_THAT(long_after.broken("elsewhere"), IsEmpty());
}

TEST(Elsewhere, is_not_to_blame_where_the_own_node_fails_too) {
  HandMade run = degraded_beside(redis_stops, kSecond);
  run.fail(node_fails_over, 4'500'000, kSecond);
  EXPECT_THAT(run.broken("elsewhere"), IsEmpty());
}

/// Ten requests in one window of ten, and `more`.
std::size_t over(Fault::Kind kind, int more, WhenDown mode = WhenDown::share) {
  HandMade run({window(10, kSecond)}, 2);
  run.plan.when_down = mode;
  run.plan.masters = 3;
  run.fail(kind, 100'000, 200'000);
  run.pass(400'000, 10 + more);
  return run.broken("keeps").size();
}

TEST(Takeovers, excuse_no_departure_that_another_process_heard_of) {
  for (const auto kind : {node_fails_over, node_taken_over, node_outlived, slot_moves, cluster_down}) {
    const int part = kind == node_taken_over || kind == node_outlived ? 5 : 0;  // of one that the former one answers
    EXPECT_EQ(over(kind, part), 0u);
    EXPECT_EQ(over(kind, part + 1), 1u);
    EXPECT_EQ(over(kind, 1, WhenDown::wait), 1u);
    EXPECT_EQ(over(kind, 1, WhenDown::refuse), 1u);
    EXPECT_EQ(over(kind, 100, WhenDown::open), 0u);
  }
  EXPECT_EQ(over(elsewhere, 1, WhenDown::open), 1u);
}

/// By `wait`, too, two masters may answer for a moment: 20 units pass in 50 ms.
TEST(Takeovers, of_a_node_that_lives_excuse_a_horizon_by_wait) {
  for (const auto& [kind, excused] : {std::pair{node_taken_over, 20}, std::pair{node_outlived, 20},
                                      std::pair{node_fails_over, 0}, std::pair{slot_moves, 0}}) {
    for (const int more : {0, 1}) {
      HandMade run({window(400, kSecond)}, 2);
      run.plan.when_down = WhenDown::wait;
      run.fail(kind, 100'000, 200'000);
      run.pass(400'000, 400 + excused + more);
      EXPECT_THAT(run.broken("keeps"), SizeIs(more)) << name_of(kind);
    }
  }
}

/// It takes its keys along, so what one process takes is known to all.
TEST(Moves, excuse_nothing_but_by_open) {
  Plan plan;
  const Fault moves{.kind = slot_moves, .at = kSecond, .lasts = kSecond}, stops{.kind = redis_stops, .lasts = kSecond};
  for (const LimitConfig& limit : {pacer(100), window(10, kSecond), semaphore(10)}) {
    EXPECT_EQ(allowance_for(plan, moves, limit), nullptr);
  }
  EXPECT_NE(allowance_for(plan, stops, pacer(100)), nullptr);
  EXPECT_TRUE(is_outage(plan, moves)) << "it may keep a process from Redis";
  plan.when_down = WhenDown::open;
  EXPECT_NE(allowance_for(plan, moves, pacer(100)), nullptr);
}

TEST(Elsewhere, is_no_disturbance) {
  HandMade run = degraded_beside(redis_stops, kSecond);
  EXPECT_TRUE(Reading(run.plan, run.journal).disturbed().empty());
}

}  // namespace
}  // namespace penstock::simulation
