// SPDX-License-Identifier: Apache-2.0
// A failing plan becomes as small as it can, remains a plan that can be run, and is not tried for ever.
#include "simulation/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "simulation/drawing.h"
#include "simulation/regimes.h"

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;

constexpr int kEnough = 2'000;

/// Eight processes with groups and weights, three limits, and a fault for each process.
Plan large() {
  Random random(1);
  Plan plan =
      busy_fleet(random, {pacer(100, 100), window(1'000, 5s), for_each_group(sliding_window(50, 1s))}, 8, 60 * kSecond);
  for (Member& member : plan.members) {
    member.demand.groups = 100;
    member.demand.zipf = 1;
    member.demand.weights = {1, 5, 20};
    member.demand.leaves = 0.1;
    member.demand.flight_varies = true;
    member.drift_ppm = 500;
  }
  for (int i = 0; i < 8; ++i) plan.faults.push_back(fault_of_one(Fault::Kind::frozen, i, (i + 1) * kSecond, kSecond));
  return plan;
}

bool has_window(const Plan& plan) {
  return std::ranges::any_of(plan.limits, [](const LimitConfig& limit) { return limit.kind.index() == 1; });
}

TEST(Shrink, takes_away_all_that_does_not_matter) {
  const auto shrunk = shrink(
      large(), [](const Plan& plan) { return plan.members.size() >= 2 && has_window(plan); }, kEnough);
  const Plan& plan = shrunk.plan;
  EXPECT_EQ(plan.members.size(), 2u);
  EXPECT_TRUE(plan.faults.empty());
  ASSERT_EQ(plan.limits.size(), 1u);
  EXPECT_TRUE(has_window(plan));
  EXPECT_FALSE(plan.grouped());
  EXPECT_LT(plan.length, 200 * kMillisecond);
  for (const Member& member : plan.members) {
    EXPECT_EQ(member.demand.clients, 1);
    EXPECT_TRUE(member.demand.weights.empty());
    EXPECT_EQ(member.demand.leaves, 0);
    EXPECT_FALSE(member.demand.flight_varies);
    EXPECT_EQ(member.jitter, 0);
    EXPECT_EQ(member.drift_ppm, 0);
    EXPECT_EQ(member.round_trip, Member{}.round_trip);
  }
  EXPECT_LT(shrunk.tries, kEnough);
}

/// The needed fault stays with its process, whatever index that has by then.
TEST(Shrink, keeps_faults_with_their_processes) {
  Plan begun = large();
  begun.members[5].round_trip = 7 * kMillisecond;
  const auto shrunk = shrink(
      begun,
      [](const Plan& plan) {
        return std::ranges::any_of(plan.faults, [&](const Fault& fault) {
          return plan.members[static_cast<std::size_t>(fault.member)].round_trip == 7 * kMillisecond;
        });
      },
      kEnough);
  ASSERT_EQ(shrunk.plan.members.size(), 1u);
  ASSERT_EQ(shrunk.plan.faults.size(), 1u);
  EXPECT_EQ(shrunk.plan.faults[0].member, 0);
  EXPECT_EQ(shrunk.plan.faults[0].at, 6 * kSecond);
  EXPECT_GT(shrunk.plan.length, 6 * kSecond);
}

/// A process that would begin after the end is dropped, and the faults of the processes after it are still theirs.
TEST(Shrink, drops_processes_that_would_come_too_late) {
  Plan begun = large();
  begun.members[2].joins = 50 * kSecond;
  begun.members[3].round_trip = 7 * kMillisecond;
  const auto its_own = [](const Plan& plan) {
    return std::ranges::all_of(plan.faults, [&](const Fault& fault) {
      const bool fourth = fault.at == 4 * kSecond;
      return fourth == (plan.members[static_cast<std::size_t>(fault.member)].round_trip == 7 * kMillisecond);
    });
  };
  ASSERT_TRUE(its_own(begun));
  int late = 0;
  for (const Plan& next : smaller(begun)) {
    const bool same =
        std::ranges::any_of(next.members, [](const Member& m) { return m.round_trip == 7 * kMillisecond; });
    EXPECT_TRUE(!same || its_own(next)) << next.text();
    if (next.length == begun.length / 2) late += next.members.size() == 7u;
  }
  EXPECT_EQ(late, 1);
}

TEST(Shrink, keeps_what_it_takes) {
  const auto busy_enough = [](const Plan& plan) { return cost_of(plan).departures >= 500; };
  const Plan plan = shrink(large(), busy_enough, kEnough).plan;
  EXPECT_GE(cost_of(plan).departures, 500);
  EXPECT_LT(cost_of(plan).departures, 1'000);
}

TEST(Shrink, asks_no_more_often_than_it_may) {
  int asked = 0;
  const auto shrunk = shrink(
      large(), [&](const Plan&) { return ++asked % 3 == 0; }, 50);
  EXPECT_EQ(asked, 50);
  EXPECT_EQ(shrunk.tries, 50);
}

TEST(Shrink, leaves_what_does_not_fail_when_smaller) {
  const Plan plan = large();
  EXPECT_EQ(shrink(
                plan, [](const Plan&) { return false; }, kEnough)
                .plan.text(),
            plan.text());
}

/// Whatever is drawn, each step is another plan, which has demand and only faults of its own processes.
TEST(Shrink, steps_are_sound) {
  for (const Regime& regime : regimes()) {
    const Plan plan = draw(regime, 5);
    const auto steps = smaller(plan);
    EXPECT_FALSE(steps.empty()) << regime.name;
    for (const Plan& next : steps) {
      EXPECT_NE(next.text(), plan.text());
      ASSERT_FALSE(next.members.empty() || next.limits.empty());
      EXPECT_LE(next.length, plan.length);
      for (const Fault& fault : next.faults) {
        ASSERT_LT(fault.member, static_cast<int>(next.members.size()));
        ASSERT_LT(fault.at, next.length);
      }
    }
  }
}

TEST(Shrink, is_deterministic) {
  const auto fails = [](const Plan& plan) { return plan.members.size() > 2 || plan.faults.size() > 3; };
  EXPECT_EQ(shrink(large(), fails, kEnough).plan.text(), shrink(large(), fails, kEnough).plan.text());
}

}  // namespace
}  // namespace penstock::simulation
