// SPDX-License-Identifier: Apache-2.0
// When a request is said to leave, on its arrival, where processes share limits through Redis. One process is right
// within 50 ms or 2 % for 99 of 100 that wait. Of others that wait it knows only how many they are, and in what state
// the limits are: then a request may leave a step of the limit sooner or later.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "simulation/fleet.h"

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;

struct Foretelling {
  std::vector<LimitConfig> limits;
  int members = 1;
  int groups = 0;
  Time step = 0;  ///< by which it may be off besides
};

/// More comes than the limits let go, for some seconds. Of one lane each request is told; of several the one that comes
/// last, since a later one may leave sooner.
Plan foretelling_plan(const Foretelling& what, std::uint64_t seed) {
  const Time until = (what.groups > 0 ? 3 : 10) * kSecond;
  Plan plan{.seed = seed, .limits = what.limits, .length = 2 * kMinute};
  plan.foretells = what.groups > 0 ? until : kSecond;
  for (int i = 0; i < what.members; ++i) {
    Member member{.settings = {.max_concurrent = 500, .max_pending = 10'000, .max_wait = kHour}};
    member.demand = {.rate = 80.0 / what.members,
                     .even = what.members > 1,  // each process is taken to have as many waiting
                     .spike = what.groups > 0 ? 1 : 0,
                     .spike_at = until + 10 * kMillisecond,
                     .until = until,
                     .groups = what.groups,
                     .flight = 30 * kMillisecond};
    plan.members.push_back(member);
  }
  return plan;
}

void expect_foretold(const std::string& name, const Foretelling& what) {
  int waited = 0, right = 0;
  Time worst = 0;
  for (std::uint64_t seed = 1; seed <= (what.groups > 0 ? 110u : 2u); ++seed) {
    const Plan plan = foretelling_plan(what, seed);
    const Journal journal = run(plan);
    for (const Request& request : journal.requests) {
      const Time wait = request.departed - request.arrived;
      if (request.arrived < plan.foretells || request.departed == kNotYet || wait < kMillisecond) continue;
      ++waited;
      const Time off = request.foretold ? std::abs(*request.foretold - wait) : kHour;
      right += off <= std::max(50 * kMillisecond, wait / 50) + what.step ? 1 : 0;
      worst = std::max(worst, off);
    }
  }
  EXPECT_GE(waited, 100) << name;
  EXPECT_GE(right * 100, waited * 99) << name << ": " << right << " of " << waited << ", the worst is off by " << worst
                                      << " us";
}

LimitConfig some_limit(LimitConfig::Kind kind) { return {.kind = std::move(kind)}; }

void expect_foretold_in_lanes(const std::string& name, const LimitConfig::Kind& kind) {
  expect_foretold(name, {.limits = {some_limit(kind)}});
  expect_foretold(name + ", groups", {.limits = {some_limit(kind)}, .groups = 4});
}

TEST(AheadInRedis, is_right_for_each_kind_in_one_process) {
  expect_foretold_in_lanes("pacer", PacerConfig{.qps = 40, .max_burst = 10});
  expect_foretold_in_lanes("window", WindowConfig{40, 1s});
  expect_foretold_in_lanes("slidingWindow", SlidingWindowConfig{40, 1s});
  expect_foretold_in_lanes("tokenBucket", TokenBucketConfig{50, 4, 100ms});
  expect_foretold_in_lanes("counter", CounterConfig{40, 1s});
  expect_foretold_in_lanes("adaptive", AdaptiveConfig{.min = 20, .max = 40});
}

TEST(AheadInRedis, is_right_for_several_limits_in_one_process) {
  const LimitConfig pacer = some_limit(PacerConfig{.qps = 40}), sliding = some_limit(SlidingWindowConfig{90, 3s});
  LimitConfig each = some_limit(PacerConfig{.qps = 12});
  each.name = "each";
  each.per = LimitConfig::Per::group;
  expect_foretold("pacer and slidingWindow", {.limits = {pacer, sliding}});
  expect_foretold("pacer and slidingWindow, groups", {.limits = {pacer, sliding}, .groups = 4});
  expect_foretold("pacer and one of each group", {.limits = {pacer, each}, .groups = 4});
}

/// A step is an interval, or what six units take, by which one process may be ahead of the others (level.lua).
TEST(AheadInRedis, is_right_to_a_step_in_three_processes) {
  const auto of_three = [](const std::string& name, LimitConfig::Kind kind, Time step) {
    expect_foretold(name, {.limits = {some_limit(std::move(kind))}, .members = 3, .step = step});
  };
  of_three("pacer", PacerConfig{.qps = 40, .max_burst = 10}, 6 * kSecond / 40);
  of_three("window", WindowConfig{42, 1s}, kSecond);
  of_three("slidingWindow", SlidingWindowConfig{42, 1s}, kSecond);
  of_three("tokenBucket", TokenBucketConfig{50, 4, 100ms}, 6 * kSecond / 40);
  of_three("counter", CounterConfig{42, 1s}, kSecond);
}

}  // namespace
}  // namespace penstock::simulation
