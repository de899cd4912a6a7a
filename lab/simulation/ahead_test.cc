// SPDX-License-Identifier: Apache-2.0
// When a request is said to leave, on its arrival, where processes share limits through Redis. For 99 of 100 that
// wait it is right within 50 ms or 2 %. Other processes are asked how much waits in them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "simulation/fleet.h"

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;

struct Foretelling {
  std::vector<LimitConfig> limits;
  std::vector<double> rates = {80};  ///< of each process, in a second
  std::vector<int> batches = {};     ///< of each process, at once, before what is judged
  int groups = 0;
};

/// Requests that arrive in this time are judged.
struct Judged {
  Time from, until;
};

/// More comes than the limits let go, for some seconds. Of one lane each request is told that leaves while as many go
/// on coming; of several the one that comes last, since a later one may leave sooner.
Judged judged(const Foretelling& what) {
  if (what.groups > 0) return {3 * kSecond - 1, kHour};
  return what.batches.empty() ? Judged{kSecond, 5 * kSecond} : Judged{2 * kSecond, 5 * kSecond};
}

Plan foretelling_plan(const Foretelling& what, std::uint64_t seed) {
  const Time until = what.groups > 0 ? 3 * kSecond : 25 * kSecond;  // all that are judged have left by then
  Plan plan{.seed = seed,
            .limits = what.limits,
            .foretells = judged(what).from,
            .foretells_until = judged(what).until,
            .length = 2 * kMinute};
  for (std::size_t i = 0; i < what.rates.size(); ++i) {
    Member member{.settings = {.max_concurrent = 500, .max_pending = 10'000, .max_wait = kHour}};
    member.demand = {.rate = what.rates[i],
                     .spike = what.groups > 0        ? 1
                              : what.batches.empty() ? 0
                                                     : what.batches[i],
                     .spike_at = what.groups > 0 ? until - 1 : 500 * kMillisecond,
                     .until = until,
                     .groups = what.groups,
                     .flight = 30 * kMillisecond};
    plan.members.push_back(member);
  }
  return plan;
}

void expect_foretold(const std::string& name, const Foretelling& what) {
  const Judged judged_in = judged(what);
  const bool are_few = what.groups > 0 || !what.batches.empty();
  int waited = 0, right = 0;
  Time worst = 0;
  for (std::uint64_t seed = 1; seed <= (are_few ? 110u : 2u); ++seed) {
    const Plan plan = foretelling_plan(what, seed);
    const Journal journal = run(plan);
    for (const Request& request : journal.requests) {
      const Time wait = request.departed - request.arrived;
      const bool is_judged = request.arrived >= judged_in.from && request.arrived < judged_in.until;
      if (!is_judged || request.departed == kNotYet || wait < kMillisecond) continue;
      ++waited;
      const Time off = request.foretold ? std::abs(*request.foretold - wait) : kHour;
      right += off <= std::max(50 * kMillisecond, wait / 50) ? 1 : 0;
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

void expect_foretold_in_three(const std::string& name, const std::vector<double>& rates,
                              const std::vector<int>& batches = {}) {
  const auto of_three = [&](const std::string& kind_name, LimitConfig::Kind kind) {
    expect_foretold(kind_name + name, {.limits = {some_limit(std::move(kind))}, .rates = rates, .batches = batches});
  };
  of_three("pacer", PacerConfig{.qps = 40, .max_burst = 10});
  of_three("window", WindowConfig{42, 1s});
  of_three("slidingWindow", SlidingWindowConfig{42, 1s});
  of_three("tokenBucket", TokenBucketConfig{50, 4, 100ms});
  of_three("counter", CounterConfig{42, 1s});
}

TEST(AheadInRedis, is_right_in_three_processes) { expect_foretold_in_three("", {27, 27, 27}); }

/// Each has more than its part, and much more comes to one than to another.
TEST(AheadInRedis, is_right_where_more_comes_to_one_process_than_to_another) {
  expect_foretold_in_three(", uneven", {50, 30, 20});
}

/// Little comes behind: so each process has its part until it has nothing left, and then the others have more.
TEST(AheadInRedis, is_right_where_more_waits_in_one_process_than_in_another) {
  expect_foretold_in_three(", batches", {1, 1, 1}, {200, 120, 60});
}

}  // namespace
}  // namespace penstock::simulation
