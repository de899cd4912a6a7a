// SPDX-License-Identifier: Apache-2.0
// Judges find nothing where nothing is wrong: one real process keeps each kind of limit under each kind of demand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulation/one_process.h"

namespace penstock::simulation {
namespace {

std::string told(const Judgement& judgement) {
  std::string text;
  for (const Verdict& verdict : judgement.broken) text += verdict.rule + ": " + verdict.detail + "\n";
  return text;
}

Plan plan_of(std::vector<LimitConfig> limits, const Demand& demand, Time length = 30 * kSecond) {
  Plan plan{.seed = 1, .limits = std::move(limits), .length = length};
  Member member{.demand = demand};
  member.settings = {.max_concurrent = 5'000, .max_pending = 100'000, .max_wait = kHour};
  plan.members = {member};
  return plan;
}

Judgement judged(const Plan& plan) { return judge(plan, OneProcess(plan).run()); }

const std::vector<LimitConfig> kEachKind{pacer(100),
                                         pacer(100, 100),
                                         pacer(2'000, 10),
                                         window(200, kSecond / 2),
                                         {.kind = WindowConfig{200, 500ms, true}},
                                         {.kind = SlidingWindowConfig{200, 500ms}},
                                         {.kind = TokenBucketConfig{40, 2, 1s}},
                                         {.kind = TokenBucketConfig{100, 1, 10ms}},
                                         {.kind = CounterConfig{50, 200ms}},
                                         semaphore(10)};

TEST(OneProcess, with_a_queue_keeps_and_uses_each_kind) {
  for (const LimitConfig& limit : kEachKind) {
    const Judgement judgement = judged(plan_of({limit}, {.clients = 300, .flight = 20 * kMillisecond}));
    EXPECT_EQ(told(judgement), "") << called(limit);
    EXPECT_LE(judgement.figures.worst_excess, 0) << called(limit);
    if (counts_flights(limit)) {
      EXPECT_GT(judgement.figures.least_permit_use, 0.99);
    } else {
      EXPECT_GT(judgement.figures.stretches, 0u) << called(limit);
      EXPECT_GT(judgement.figures.least_use, 0.97) << called(limit);
      EXPECT_TRUE(judgement.figures.told > 0 || rate_of(limit) < 10) << called(limit);
    }
  }
}

TEST(OneProcess, with_open_demand_and_a_spike_drains) {
  for (const LimitConfig& limit : kEachKind) {
    if (counts_flights(limit)) continue;
    const Demand demand{.rate = 0.6 * rate_of(limit), .spike = 300, .spike_at = 5 * kSecond};
    EXPECT_EQ(told(judged(plan_of({limit}, demand))), "") << called(limit);
  }
}

TEST(OneProcess, with_weights_keeps_and_uses_each_kind) {
  for (const LimitConfig& limit : kEachKind) {
    const Demand demand{.clients = 200, .weights = {1, 2, 5}};
    EXPECT_EQ(told(judged(plan_of({limit}, demand))), "") << called(limit);
  }
}

TEST(OneProcess, with_groups_keeps_and_uses_limits_of_both_scopes) {
  const Demand demand{.clients = 400, .groups = 20};
  EXPECT_EQ(told(judged(plan_of({each_group(pacer(20, 5)), pacer(200)}, demand))), "");
  EXPECT_EQ(told(judged(plan_of({each_group(window(10, kSecond)), pacer(500, 20)}, demand))), "");
  EXPECT_EQ(told(judged(plan_of({each_group({.kind = TokenBucketConfig{10, 5, 200ms}})}, demand))), "");
  EXPECT_EQ(told(judged(plan_of({each_group(semaphore(2)), window(100, kSecond)}, demand))), "");
}

TEST(OneProcess, with_several_limits_or_few_slots_keeps_and_uses_them) {
  const Demand demand{.clients = 300, .flight = 30 * kMillisecond, .flight_varies = true};
  EXPECT_EQ(told(judged(plan_of({pacer(100, 50), window(300, 2 * kSecond)}, demand, 2 * kMinute))), "");
  EXPECT_EQ(told(judged(plan_of({pacer(100, 10), semaphore(5)}, demand))), "");
  Plan few = plan_of({pacer(200, 10)}, demand);
  few.members[0].settings.max_concurrent = 4;
  EXPECT_EQ(told(judged(few)), "");
}

TEST(OneProcess, that_refuses_or_gives_up_is_judged_as_well) {
  Plan impatient = plan_of({pacer(50)}, {.rate = 100});
  impatient.members[0].settings.max_wait = 2 * kSecond;
  EXPECT_EQ(told(judged(impatient)), "");
  LimitConfig limit = window(100, kSecond);
  limit.mode = LimitConfig::Mode::refuse;
  EXPECT_EQ(told(judged(plan_of({limit}, {.rate = 300}))), "");
}

/// Treats the lanes of one process as processes: lanes share by turns, as processes do, but need no way to Redis. A
/// lane's turn is as large as what may leave at once: for kinds with periods that is a whole window, so shares are
/// not equal.
Judgement judged_as_processes(Plan plan, int processes) {
  plan.members[0].demand.groups = processes;
  Journal journal = OneProcess(plan).run();
  plan.members.assign(static_cast<std::size_t>(processes), plan.members[0]);
  journal.standings.clear();
  for (int i = 0; i < processes; ++i) journal.standings.push_back({.at = 0, .member = i, .up = true});
  for (Request& request : journal.requests) request.member = request.group, request.group = -1, request.told = kNotYet;
  return judge(plan, journal);
}

TEST(SeveralProcesses, with_queues_share_and_use_each_kind) {
  for (const LimitConfig& limit : kEachKind) {
    if (kind_of(limit) == LimitKind::counter || limit == window(200, kSecond / 2)) continue;
    for (const int processes : {3, 8}) {
      const Demand demand{.clients = 100 * processes, .flight = 20 * kMillisecond};
      const Judgement judgement = judged_as_processes(plan_of({limit}, demand, kMinute), processes);
      EXPECT_EQ(told(judgement), "") << called(limit) << " of " << processes;
      if (rate_of(limit) < 10) continue;  // equal only over minutes
      EXPECT_GT(judgement.figures.shares, 0u) << called(limit) << " of " << processes;
      EXPECT_LT(judgement.figures.widest_shares, 1.2) << called(limit) << " of " << processes;
    }
  }
}

TEST(SeveralProcesses, with_open_demand_and_a_spike_drain) {
  for (const LimitConfig& limit : kEachKind) {
    if (counts_flights(limit)) continue;
    const Demand demand{.rate = 0.6 * rate_of(limit), .spike = 300, .spike_at = 5 * kSecond};
    EXPECT_EQ(told(judged_as_processes(plan_of({limit}, demand), 3)), "") << called(limit);
  }
}

/// The same process, judged by other limits than it keeps.
TEST(OneProcess, that_goes_by_other_limits_is_found_out) {
  for (const double qps : {90.0, 101.0}) {
    Plan plan = plan_of({pacer(qps)}, {.clients = 100});
    const Journal journal = OneProcess(plan).run();
    plan.limits = {pacer(100)};
    const Judgement judgement = judge(plan, journal);
    ASSERT_FALSE(judgement.broken.empty());
    EXPECT_EQ(judgement.broken.front().rule, qps < 100 ? "use" : "keeps");
  }
}

}  // namespace
}  // namespace penstock::simulation
