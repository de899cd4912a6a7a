// SPDX-License-Identifier: Apache-2.0
// What Redis remembers, forgets, and has never known: no request waits for what does not exist, and nothing counts
// twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <utility>
#include <vector>

#include "simulation/fleet.h"
#include "simulation/in_flight.h"

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;

Member worker(Demand demand) {
  return {.settings = {.max_concurrent = 20'000, .max_pending = 20'000, .max_wait = 100 * kDay},
          .demand = std::move(demand)};
}

Plan plan_with(LimitConfig::Kind kind, std::vector<Member> members, Time length) {
  return {.seed = 7, .limits = {LimitConfig{.kind = kind}}, .members = std::move(members), .length = length};
}

/// The departures of one process, or of all.
std::vector<Time> times_of(const Journal& journal, int member = -1) {
  std::vector<Time> times;
  for (const std::uint64_t id : journal.departures) {
    if (member < 0 || journal.requests[id].member == member) times.push_back(journal.requests[id].departed);
  }
  return times;
}

std::ptrdiff_t how_many(const std::vector<Time>& times, Time from, Time to) {
  return std::ranges::count_if(times, [&](Time time) { return time >= from && time < to; });
}

/// The longest time without a departure between `from` and `to`.
Time longest_gap(const std::vector<Time>& times, Time from, Time to) {
  Time longest = 0, last = from;
  for (const Time time : times) {
    if (time < from || time >= to) continue;
    longest = std::max(longest, time - last);
    last = time;
  }
  return std::max(longest, to - last);
}

std::ptrdiff_t how_many_cut(const Journal& journal) {
  return std::ranges::count(journal.requests, Request::End::cut, &Request::end);
}

const SemaphoreConfig kSemaphore{.capacity = 4, .lease = 30s};
const Demand kLongFlights{.clients = 10, .flight = 8 * kSecond, .flight_varies = true};

/// The generation that begins is closed until the third process has come, which is cut off: for a second. The others
/// look ever less often meanwhile, not a hundred times each.
TEST(LostMemory, is_looked_at_ever_less_often_by_those_that_wait_for_others) {
  Plan plan = plan_with(PacerConfig{.qps = 100}, {3, worker({.clients = 20})}, 15 * kSecond);
  plan.faults = {{.kind = Fault::Kind::cut_off, .at = 9'900 * kMillisecond, .lasts = 3 * kSecond, .member = 2},
                 {.kind = Fault::Kind::redis_flushed, .at = 10 * kSecond}};
  const Journal journal = run(plan);
  const auto calls = std::ranges::count_if(journal.calls, [](const Call& call) {
    return call.member < 2 && call.at > 10'050 * kMillisecond && call.at < 10'900 * kMillisecond;
  });
  EXPECT_GE(calls, 2 * 8) << "they would not hear soon that they may go on";
  EXPECT_LE(calls, 2 * 12);
  EXPECT_GT(how_many(times_of(journal, 0), 11 * kSecond, 12 * kSecond), 20);
}

TEST(NewSemaphore, is_free_at_once) {
  const Journal journal = run(plan_with(kSemaphore, {worker(kLongFlights), worker(kLongFlights)}, 20 * kSecond));
  ASSERT_FALSE(journal.departures.empty());
  EXPECT_LT(times_of(journal).front(), kSecond);
  EXPECT_EQ(most_in_flight(journal), kSemaphore.capacity);
}

TEST(NewSemaphore, is_free_again_after_a_day_on_which_nobody_used_it) {
  Demand yesterday = kLongFlights, today = kLongFlights;
  yesterday.until = kMinute;
  Plan plan = plan_with(kSemaphore, {worker(yesterday), worker(today)}, 26 * kHour + kMinute);
  plan.members[0].ends = 2 * kMinute;
  plan.members[1].joins = 26 * kHour;
  const Journal journal = run(plan);
  ASSERT_FALSE(times_of(journal, 1).empty());
  EXPECT_LT(times_of(journal, 1).front(), 26 * kHour + kSecond);
}

TEST(NewSemaphore, of_a_redis_that_does_not_tell_its_id_waits_for_those_who_may_hold_it) {
  Plan plan = plan_with(kSemaphore, {worker(kLongFlights)}, 40 * kSecond);
  plan.faults = {{.kind = Fault::Kind::denied, .command = "info"}};
  const Journal journal = run(plan);
  ASSERT_FALSE(journal.departures.empty());
  EXPECT_GE(times_of(journal).front(), 15 * kSecond);
}

/// One process holds all permits when Redis forgets them, and then a new process comes that remembers nothing.
TEST(ForgottenSemaphore, is_not_taken_for_new_by_a_newcomer) {
  for (const auto kind : {Fault::Kind::redis_flushed, Fault::Kind::redis_loses_memory}) {
    Plan plan = plan_with(kSemaphore, {worker(kLongFlights), worker(kLongFlights)}, kMinute);
    plan.faults = {{.kind = kind, .at = 10 * kSecond, .lasts = kind == Fault::Kind::redis_flushed ? 0 : 100'000}};
    for (const Time after : {kMillisecond, 100 * kMillisecond, kSecond, 5 * kSecond}) {
      plan.members[1].joins = 10 * kSecond + after + (kind == Fault::Kind::redis_flushed ? 0 : kSecond);
      const Journal journal = run(plan);
      EXPECT_EQ(most_in_flight(journal), kSemaphore.capacity) << "joined " << after << " after it";
      EXPECT_EQ(how_many_cut(journal), 0);
      EXPECT_GE(how_many(times_of(journal, 1), 30 * kSecond, kMinute), 3) << "work goes on";
    }
  }
}

TEST(KeptSemaphore, goes_on_at_once_when_redis_was_restarted_with_all_it_knew) {
  Plan plan = plan_with(kSemaphore, {worker(kLongFlights), worker(kLongFlights)}, kMinute);
  plan.when_down = WhenDown::wait;
  plan.faults = {{.kind = Fault::Kind::redis_stops, .at = 20 * kSecond, .lasts = 100 * kMillisecond}};
  const Journal journal = run(plan);
  EXPECT_EQ(most_in_flight(journal), kSemaphore.capacity);
  EXPECT_LT(longest_gap(times_of(journal), 20 * kSecond, kMinute), 14 * kSecond) << "half a lease would show";
}

// ---- states that are still there -----------------------------------------------------------------------------------

/// All departures of the first window, as two processes use it: `before` of each at first, and later whatever they get.
std::size_t let_through(LimitConfig::Kind kind, const std::vector<Fault>& faults, int before, Time again, Time length) {
  Demand once{.rate = 1e6 / static_cast<double>(again), .even = true, .spike = before, .spike_at = kSecond};
  Plan plan = plan_with(kind, {worker(once), worker(once)}, length);
  plan.members.push_back(worker({.spike = 5'000, .spike_at = again + 10 * kSecond}));
  plan.members[2].joins = again + kSecond;
  plan.faults = faults;
  return run(plan).departures.size();
}

TEST(StateStillThere, counts_once_after_an_idle_day) {
  EXPECT_EQ(
      let_through(WindowConfig{.reservoir = 1'000, .interval = 30 * 24h}, {}, 200, 25 * kHour, 25 * kHour + kMinute),
      1'000u);
}

TEST(StateStillThere, counts_once_where_the_head_alone_was_lost) {
  const std::vector<Fault> lost{{.kind = Fault::Kind::key_erased, .at = 5 * kSecond, .key = ":head"},
                                {.kind = Fault::Kind::key_erased, .at = 15 * kSecond, .key = ":head"}};
  const auto after = [&](LimitConfig::Kind kind) { return let_through(kind, lost, 200, 10 * kSecond, kMinute); };
  EXPECT_EQ(after(WindowConfig{.reservoir = 1'000, .interval = 24h}), 1'000u);
  EXPECT_EQ(after(SlidingWindowConfig{.max = 1'000, .interval = 24h}), 1'000u);
  EXPECT_EQ(after(TokenBucketConfig{.capacity = 1'000, .refill_amount = 1, .refill_frequency = 24h}), 1'000u);
  EXPECT_EQ(after(CounterConfig{.max = 1'000, .period = 24h}), 1'000u);
}

TEST(StateStillThere, counts_what_left_without_redis_meanwhile_once) {
  const std::vector<Fault> lost{{.kind = Fault::Kind::redis_stops, .at = 5 * kSecond, .lasts = 8 * kSecond},
                                {.kind = Fault::Kind::key_erased, .at = 6 * kSecond, .key = ":head"}};
  const auto after = [&](LimitConfig::Kind kind) { return let_through(kind, lost, 200, 10 * kSecond, kMinute); };
  EXPECT_EQ(after(WindowConfig{.reservoir = 1'000, .interval = 24h}), 1'000u);
  EXPECT_EQ(after(SlidingWindowConfig{.max = 1'000, .interval = 24h}), 1'000u);
  EXPECT_EQ(after(CounterConfig{.max = 1'000, .period = 24h}), 1'000u);
}

// ---- pauses ---------------------------------------------------------------------------------------------------------

TEST(Pause, is_not_forgotten_with_redis_memory) {
  constexpr Time kAsked = 3 * kSecond, kLost = 4 * kSecond, kOver = 7 * kSecond;
  const Demand demand{.clients = 20};
  for (const auto kind : {Fault::Kind::redis_flushed, Fault::Kind::redis_loses_memory}) {
    for (const std::size_t processes : {1, 3}) {
      Plan plan = plan_with(PacerConfig{.qps = 200}, std::vector(processes, worker(demand)), 10 * kSecond);
      plan.faults = {{.kind = Fault::Kind::paused, .at = kAsked, .lasts = kOver - kAsked, .member = 0},
                     {.kind = kind, .at = kLost, .lasts = kind == Fault::Kind::redis_flushed ? 0 : 100'000}};
      const auto times = times_of(run(plan));
      EXPECT_EQ(how_many(times, kAsked + 60 * kMillisecond, kOver - 10 * kMillisecond), 0) << processes;
      EXPECT_GE(how_many(times, kOver, 10 * kSecond), 550) << processes;
    }
  }
}

/// The process that was told is dead by then; the others have heard of the pause from Redis.
TEST(Pause, is_remembered_by_those_who_waited_for_its_end) {
  Plan plan = plan_with(PacerConfig{.qps = 200}, std::vector(3, worker({.clients = 20})), 10 * kSecond);
  plan.faults = {{.kind = Fault::Kind::paused, .at = 3 * kSecond, .lasts = 4 * kSecond, .member = 0},
                 {.kind = Fault::Kind::killed, .at = 3'500 * kMillisecond, .member = 0},
                 {.kind = Fault::Kind::redis_flushed, .at = 4 * kSecond}};
  EXPECT_EQ(how_many(times_of(run(plan)), 3'060 * kMillisecond, 6'990 * kMillisecond), 0);
}

// ---- whenDown: open -------------------------------------------------------------------------------------------------

/// All processes want three times as much as the limit gives, and get it while Redis is away.
TEST(Open, leaves_no_debt) {
  const LimitConfig::Kind kinds[]{PacerConfig{.qps = 100, .max_burst = 20},
                                  TokenBucketConfig{.capacity = 100, .refill_amount = 10, .refill_frequency = 100ms},
                                  WindowConfig{.reservoir = 100, .interval = 1s},
                                  SlidingWindowConfig{.max = 100, .interval = 1s}};
  for (const auto& kind : kinds) {
    Plan plan = plan_with(kind, std::vector(3, worker({.rate = 100})), 20 * kSecond);
    plan.when_down = WhenDown::open;
    plan.faults = {{.kind = Fault::Kind::redis_stops, .at = 5 * kSecond, .lasts = 5 * kSecond}};
    const auto times = times_of(run(plan));
    EXPECT_GE(how_many(times, 6 * kSecond, 10 * kSecond), 1'000) << limit_key(kind);
    EXPECT_GE(how_many(times, 12 * kSecond, 14 * kSecond), 180) << limit_key(kind);
    EXPECT_LE(how_many(times, 12 * kSecond, 14 * kSecond), 320) << limit_key(kind);
  }
}

// ---- old snapshots --------------------------------------------------------------------------------------------------

/// The fullest window of this length, by Redis' clock.
int fullest_window(const Journal& journal, Time interval) {
  std::map<Time, int> windows;
  for (const Time time : times_of(journal)) ++windows[(journal.wall_at_begin + time) / interval];
  return std::ranges::max(windows | std::views::values);
}

int fullest_stretch(const std::vector<Time>& times, Time length) {
  std::size_t most = 0, first = 0;
  for (std::size_t last = 0; last < times.size(); ++last) {
    while (times[last] - times[first] >= length) ++first;
    most = std::max(most, last - first + 1);
  }
  return static_cast<int>(most);
}

Plan goes_back(LimitConfig::Kind kind, Demand demand, Time length) {
  Plan plan = plan_with(kind, std::vector(3, worker(std::move(demand))), length);
  plan.when_down = WhenDown::wait;
  plan.faults = {
      {.kind = Fault::Kind::redis_goes_back, .at = 10 * kSecond, .lasts = 300 * kMillisecond, .back = 6 * kSecond}};
  return plan;
}

TEST(OldSnapshot, grants_nothing_twice) {
  const Demand demand{.rate = 50};
  EXPECT_LE(
      fullest_window(run(goes_back(WindowConfig{.reservoir = 600, .interval = 20s}, demand, kMinute)), 20 * kSecond),
      600);
  EXPECT_LE(fullest_stretch(times_of(run(goes_back(SlidingWindowConfig{.max = 600, .interval = 20s}, demand, kMinute))),
                            20 * kSecond),
            600);
  const Journal bucket =
      run(goes_back(TokenBucketConfig{.capacity = 600, .refill_amount = 1, .refill_frequency = 1h}, demand, kMinute));
  EXPECT_LE(bucket.departures.size(), 600u);
  const Journal counter = run(goes_back(CounterConfig{.max = 600, .period = 1h}, demand, kMinute));
  EXPECT_LE(counter.departures.size(), 600u);
}

TEST(OldSnapshot, of_a_sliding_window_costs_nothing) {
  const Journal journal = run(goes_back(SlidingWindowConfig{.max = 100, .interval = 1s}, {.clients = 50}, kMinute));
  EXPECT_LE(fullest_stretch(times_of(journal), kSecond), 100);
  EXPECT_GE(how_many(times_of(journal), 12 * kSecond, 60 * kSecond), 4'700);
}

/// Most of what the processes remember is in that snapshot, too.
TEST(OldSnapshot, counts_little_twice_in_a_long_interval) {
  for (const LimitConfig::Kind kind : {LimitConfig::Kind(WindowConfig{.reservoir = 10'000, .interval = 30 * 24h}),
                                       LimitConfig::Kind(CounterConfig{.max = 10'000, .period = 24h})}) {
    for (const auto when_down : {WhenDown::wait, WhenDown::share}) {
      Plan plan = goes_back(kind, {.rate = 50}, 3 * kMinute);
      plan.when_down = when_down;
      plan.faults[0].at = 40 * kSecond;
      plan.faults.push_back({.kind = Fault::Kind::redis_stops, .at = 20 * kSecond, .lasts = 3 * kSecond});
      const Journal journal = run(plan);
      EXPECT_LE(journal.departures.size(), 10'000u);
      EXPECT_GE(journal.departures.size(), 10'000u - 150 * 10) << "what left in six seconds, two more, and a second";
    }
  }
}

/// Redis lost its memory after that snapshot, so the generation in it is over.
TEST(OldSnapshot, of_an_older_generation_grants_nothing_twice) {
  const Demand demand{.rate = 15};
  for (const LimitConfig::Kind kind : {LimitConfig::Kind(SlidingWindowConfig{.max = 600, .interval = 24h}),
                                       LimitConfig::Kind(WindowConfig{.reservoir = 600, .interval = 24h}),
                                       LimitConfig::Kind(CounterConfig{.max = 600, .period = 24h})}) {
    Plan plan = goes_back(kind, demand, kMinute);
    plan.faults.push_back({.kind = Fault::Kind::redis_flushed, .at = 7 * kSecond});
    EXPECT_LE(run(plan).departures.size(), 600u);
  }
}

TEST(OldSnapshot, of_a_semaphore_grants_no_permit_that_somebody_holds) {
  Plan plan = goes_back(SemaphoreConfig{.capacity = 10, .lease = 30s},
                        {.clients = 20, .flight = 5 * kSecond, .flight_varies = true}, 2 * kMinute);
  const Journal journal = run(plan);
  EXPECT_LE(most_in_flight(journal), 10);
  EXPECT_EQ(how_many_cut(journal), 0);
  EXPECT_GE(how_many(times_of(journal), 30 * kSecond, 2 * kMinute), 150) << "and work goes on";
}

/// Nothing was lost, and it must not look as if something were.
TEST(Restart, with_all_that_redis_knew_costs_a_second_at_most) {
  Plan plan = goes_back(PacerConfig{.qps = 200}, {.clients = 20}, 30 * kSecond);
  for (const auto kind : {Fault::Kind::redis_stops, Fault::Kind::redis_goes_back}) {
    plan.faults[0].kind = kind;
    plan.faults[0].back = 0;
    const Journal journal = run(plan);
    EXPECT_LE(longest_gap(times_of(journal), 9 * kSecond, 30 * kSecond), 300 * kMillisecond + kSecond);
    EXPECT_GE(how_many(times_of(journal), 12 * kSecond, 30 * kSecond), 3'590);
  }
}

TEST(Restart, again_and_again_holds_nobody_up_for_longer) {
  Plan plan = goes_back(PacerConfig{.qps = 200}, {.clients = 20}, 30 * kSecond);
  plan.faults.clear();
  for (Time at = 10 * kSecond; at < 18 * kSecond; at += 1'500 * kMillisecond) {
    plan.faults.push_back({.kind = Fault::Kind::redis_stops, .at = at, .lasts = 50 * kMillisecond});
  }
  const auto times = times_of(run(plan));
  EXPECT_LE(longest_gap(times, 9 * kSecond, 30 * kSecond), 50 * kMillisecond + kSecond);
  EXPECT_GE(how_many(times, 19 * kSecond, 30 * kSecond), 2'190);
}

/// Processes that come later find a generation that began before the latest time that they were told.
TEST(LostMemory, with_a_clock_that_is_set_back_begins_one_generation) {
  Plan plan = plan_with(PacerConfig{.qps = 200}, std::vector(8, worker({.clients = 5})), 30 * kSecond);
  plan.faults = {{.kind = Fault::Kind::redis_loses_memory, .at = 10 * kSecond, .lasts = 300 * kMillisecond},
                 {.kind = Fault::Kind::clock_steps, .at = 10 * kSecond + 1, .step = -30 * kSecond}};
  const Journal journal = run(plan);
  std::map<int, std::pair<bool, int>> degraded;
  for (const Standing& standing : journal.standings) {
    auto& [is_so, times] = degraded[standing.member];
    if (standing.at > 9 * kSecond && standing.degraded && !is_so) ++times;
    is_so = standing.degraded;
  }
  for (const auto& [member, seen] : degraded) EXPECT_LE(seen.second, 2) << "process " << member;
  EXPECT_GE(how_many(times_of(journal), 12 * kSecond, 30 * kSecond), 3'560);
}

/// The new process is the first to come, and knows nothing of what the others were told.
TEST(OldSnapshot, is_not_taken_as_it_is_by_a_newcomer) {
  const Demand before{.rate = 25, .until = 10 * kSecond};
  Plan plan = goes_back(SlidingWindowConfig{.max = 600, .interval = 24h}, before, kMinute);
  plan.members[2] = worker({.clients = 50});
  plan.members[2].joins = 10 * kSecond + 350 * kMillisecond;
  const Journal journal = run(plan);
  EXPECT_LE(journal.departures.size(), 600u);
  EXPECT_GE(journal.departures.size(), 595u) << "what is left it gets, but for what was about to leave when Redis went";
}

}  // namespace
}  // namespace penstock::simulation
