// SPDX-License-Identifier: Apache-2.0
// What is promised of shared limits, exact to the departure: in virtual time no machine is late, so no tolerance is
// needed. Each process is the real limiter and the real queue, over the simulated Redis.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "simulation/arrivals.h"
#include "simulation/fleet.h"

namespace penstock::simulation {
namespace {

using testing::Each;
using testing::Ge;
using testing::Le;

constexpr Time kHalfASecond = 500 * kMillisecond;
constexpr Time kAcquainted = 2 * kSecond;  // by then each process has heard of all others

/// Processes with 50 clients each, which ask again as soon as they are served.
Plan at_work(LimitConfig limit, int processes, Time length) {
  Plan plan{.seed = 1, .length = length};
  plan.limits = {std::move(limit)};
  Member member{.settings = {.max_concurrent = 1'000, .max_pending = 10'000, .max_wait = kHour}};
  member.demand = {.clients = 50, .flight = kMillisecond};
  plan.members.assign(static_cast<std::size_t>(processes), member);
  return plan;
}

Plan failing(Plan plan, Fault fault) {
  plan.faults.push_back(std::move(fault));
  return plan;
}

LimitConfig pacing(double qps, int burst = 0) { return {.kind = PacerConfig{.qps = qps, .max_burst = burst}}; }
LimitConfig counter_of(int max, Time period) { return {.kind = CounterConfig{.max = max, .period = Duration(period)}}; }

/// When requests of one process, or of all, left; ascending.
std::vector<Time> left_at(const Journal& journal, int member = -1) {
  std::vector<Time> times;
  for (const auto id : journal.departures) {
    const Request& request = journal.requests[id];
    if (member < 0 || request.member == member) times.push_back(request.left);
  }
  std::ranges::sort(times);
  return times;
}

int count_in(const std::vector<Time>& times, Time from, Time to) {
  return static_cast<int>(std::ranges::lower_bound(times, to) - std::ranges::lower_bound(times, from));
}

/// The most departures in any half-open stretch of that length that begins at `from` or later.
int fullest(const std::vector<Time>& times, Time length, Time from = 0) {
  int most = 0;
  for (const Time begin : times) {
    if (begin >= from) most = std::max(most, count_in(times, begin, begin + length));
  }
  return most;
}

std::vector<int> shares(const Journal& journal, int processes, Time from, Time to) {
  std::vector<int> found;
  for (int member = 0; member < processes; ++member) found.push_back(count_in(left_at(journal, member), from, to));
  return found;
}

void expect_equal_within(double part, const std::vector<int>& shares) {
  double mean = 0;
  for (const int share : shares) mean += share / static_cast<double>(shares.size());
  for (const int share : shares) EXPECT_NEAR(share, mean, part * mean);
}

/// From `from` on.
double calls_a_request(const Journal& journal, Time from = 0) {
  const auto calls = std::ranges::count_if(journal.calls, [=](const Call& call) { return call.at >= from; });
  return static_cast<double>(calls) / count_in(left_at(journal), from, journal.ended);
}

/// The number of departures between two silences each.
std::vector<int> bursts(const std::vector<Time>& times, Time silence) {
  std::vector<int> found;
  Time before = -silence;
  for (const Time at : times) {
    if (at - before >= silence) found.push_back(0);
    ++found.back(), before = at;
  }
  return found;
}

// ---- a rate ---------------------------------------------------------------------------------------------------------

TEST(SharedPacer, is_used_to_the_departure_in_equal_shares_for_few_calls) {
  for (const int processes : {3, 8, 16}) {
    SCOPED_TRACE(processes);
    const Journal journal = run(at_work(pacing(400), processes, 12 * kSecond));
    const auto times = left_at(journal);
    EXPECT_LE(fullest(times, kHalfASecond), 201);
    for (Time from = kAcquainted; from < 12 * kSecond; from += kHalfASecond) {
      EXPECT_GE(count_in(times, from, from + kHalfASecond), 199);
    }
    expect_equal_within(processes < 16 ? 0.02 : 0.04, shares(journal, processes, kAcquainted, 12 * kSecond));
    EXPECT_LE(calls_a_request(journal, kAcquainted), 0.2);
  }
}

/// At 100 000 a second, a call for each request would be too expensive.
TEST(SharedPacer, that_is_hot_is_decided_on_for_many_at_a_time_within_milliseconds) {
  Plan plan = at_work(pacing(100'000), 1, kHalfASecond);
  plan.members[0].demand.clients = 64;
  const Journal journal = run(plan);
  ASSERT_GT(journal.departures.size(), 10'000u);
  EXPECT_LT(calls_a_request(journal), 1.0 / 8);
  std::vector<Time> waits;
  for (const auto id : journal.departures)
    waits.push_back(journal.requests[id].departed - journal.requests[id].arrived);
  std::ranges::sort(waits);
  EXPECT_LT(waits[waits.size() * 99 / 100], 2 * kMillisecond);
}

// ---- a rate as its API counts it ------------------------------------------------------------------------------------

Plan at_rate(std::vector<LimitConfig> limits, int processes, Time length) {
  Plan plan = at_work({}, processes, length);
  plan.limits = std::move(limits);
  for (Member& member : plan.members) member.demand.clients = 10;
  return plan;
}

/// An API that counts any stretch of a unit sees no more than the rate, so one whose units begin anywhere does neither.
TEST(PublishedRate, is_never_exceeded_as_the_api_counts_it_and_is_used) {
  for (const Rate rate : {Rate{10, 1s}, Rate{100, 1s}, Rate{1000, 1s}, Rate{500, 60s}, Rate{300, 15min}}) {
    for (const int processes : {1, 3}) {
      SCOPED_TRACE(testing::Message() << rate.count << " in " << rate.unit.count() << " us, " << processes);
      const Time unit = rate.unit.count();
      Plan plan = at_rate(limits_of(rate), processes, std::max<Time>(3 * unit, 12 * kSecond));
      const auto departed = left_at(run(std::move(plan)));
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        ASSERT_LE(fullest(arrivals(departed, seed), unit), rate.count) << "delays by seed " << seed;
      }
      const Time used = departed.back() - departed.front();
      EXPECT_GE(static_cast<double>(departed.size() - 1) / used * unit, 0.97 * rate.count);
    }
  }
}

/// The first requests of a process arrive late, by the time that their connections take; those behind them do not.
TEST(PublishedRate, is_never_exceeded_while_connections_are_opened) {
  for (const Rate rate : {Rate{5, 1s}, Rate{10, 1s}, Rate{100, 1s}, Rate{1000, 1s}, Rate{500, 60s}}) {
    for (const int processes : {1, 3}) {
      SCOPED_TRACE(testing::Message() << rate.count << " in " << rate.unit.count() << " us, " << processes);
      const Time unit = rate.unit.count(), all_cold = static_cast<Time>(30 / rate.count * static_cast<double>(unit));
      const Time warm = all_cold + 2 * unit;
      Plan plan = at_rate(limits_of(rate), processes, warm + std::max<Time>(2 * unit, 12 * kSecond));
      for (Member& member : plan.members) member.demand.cold = 10;
      const auto left = left_at(run(std::move(plan)));
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        ASSERT_LE(fullest(arrivals(left, seed), unit), rate.count) << "delays by seed " << seed;
      }
      const auto first = std::ranges::lower_bound(left, warm);
      EXPECT_GE(static_cast<double>(left.end() - first - 1) / static_cast<double>(left.back() - *first) * unit,
                0.97 * rate.count);
    }
  }
}

TEST(PublishedRate, is_kept_in_units_where_requests_weigh_more_than_one) {
  Plan plan = at_rate(limits_of({10, 1s}), 2, 60 * kSecond);
  for (Member& member : plan.members) member.demand.weights = {1, 2, 3};
  const Journal journal = run(std::move(plan));
  std::vector<Time> units;
  for (const auto id : journal.departures) {
    const Request& request = journal.requests[id];
    units.insert(units.end(), static_cast<std::size_t>(request.weight), request.left);
  }
  EXPECT_EQ(fullest(units, kSecond + 20 * kMillisecond), 10);
  EXPECT_GE(units.size(), 500u) << "a heavy one waits for room";
}

/// Both limits allow the same. What people read is `rate`, unless a connection was slow.
TEST(PublishedRate, holds_requests_by_its_pacer_while_they_leave_on_time) {
  for (const Rate rate : {Rate{7, 1s}, Rate{30, 1s}, Rate{900, 1s}, Rate{500, 60s}}) {
    for (const int processes : {1, 3}) {
      SCOPED_TRACE(testing::Message() << rate.count << " in " << rate.unit.count() << " us, " << processes);
      const Journal journal =
          run(at_rate(limits_of(rate), processes, std::max<Time>(2 * rate.unit.count(), 12 * kSecond)));
      std::map<flow::LimitIndex, int> held;
      for (const auto id : journal.departures) ++held[journal.requests[id].limited_by];
      EXPECT_EQ(held[1], 0) << held[0];
    }
  }
}

/// How many requests an API refuses which answers at most `most` in any stretch of a unit, and counts those alone.
int refused_by_api(const std::vector<Time>& arrivals, std::size_t most, Time unit) {
  std::deque<Time> answered;
  int refused = 0;
  for (const Time at : arrivals) {
    while (!answered.empty() && answered.front() <= at - unit) answered.pop_front();
    if (answered.size() < most)
      answered.push_back(at);
    else
      ++refused;
  }
  return refused;
}

/// Why `rate: 20/s` is no pacer of 20 a second, and no sliding window: both are exact where they leave, not at the API.
TEST(PublishedRate, is_exceeded_by_limits_that_leave_no_room_for_jitter) {
  const LimitConfig sliding{.kind = SlidingWindowConfig{.max = 20, .interval = 1s}};
  for (const auto& [limit, refuses] : {std::pair{LimitConfig{.kind = pacer_of({20, 1s})}, false},
                                       std::pair{pacing(20), true}, std::pair{sliding, true}}) {
    Plan plan = at_work(limit, 1, 10 * kSecond);
    plan.members[0].demand.clients = 10;
    const auto departed = left_at(run(std::move(plan)));
    std::vector<int> refused;
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
      refused.push_back(refused_by_api(arrivals(departed, seed), 20, kSecond));
    EXPECT_EQ(std::ranges::max(refused) > 0, refuses) << limit_name(limit);
  }
}

// ---- windows and counters -------------------------------------------------------------------------------------------

TEST(SharedWindow, carries_all_of_it_and_no_more_in_every_window) {
  constexpr Time kInterval = 200 * kMillisecond;
  const LimitConfig window{.kind = WindowConfig{.reservoir = 20, .interval = Duration(kInterval)}};
  const Journal journal = run(at_work(window, 2, 10 * kSecond));
  std::map<Time, int> windows;
  for (const Time at : left_at(journal)) ++windows[(journal.wall_at_begin + at) / kInterval];
  windows.erase(windows.begin());
  windows.erase(std::prev(windows.end()));
  EXPECT_GE(windows.size(), 48u);
  for (const auto& [number, count] : windows) EXPECT_EQ(count, 20) << number;
}

TEST(SharedSlidingWindow, is_kept_to_the_request_over_every_stretch) {
  const LimitConfig sliding{.kind = SlidingWindowConfig{.max = 200, .interval = Duration(kHalfASecond)}};
  const Journal journal = run(at_work(sliding, 8, 10 * kSecond));
  const auto times = left_at(journal);
  EXPECT_EQ(fullest(times, kHalfASecond), 200);
  EXPECT_GE(times.size(), 3'980u) << "two milliseconds of each interval are its price";
}

TEST(SharedCounter, is_used_whole_in_every_period_and_never_twice) {
  constexpr Time kPeriod = 200 * kMillisecond;
  const auto times = left_at(run(at_work(counter_of(20, kPeriod), 2, 10 * kSecond)));
  auto counts = bursts(times, kPeriod / 2);
  counts.pop_back();
  EXPECT_GE(counts.size(), 48u);
  EXPECT_THAT(counts, Each(20));
}

/// The first process makes the resets, because it came first.
Plan led_by_the_first(Fault::Kind kind, Time lasts) {
  Plan plan = at_work(counter_of(20, 2 * kSecond), 2, 30 * kSecond);
  plan.members[1].joins = kSecond;
  return failing(std::move(plan), {.kind = kind, .at = 9 * kSecond, .lasts = lasts, .member = 0});
}

TEST(Resetter, that_ends_without_a_word_is_replaced_within_a_period) {
  const auto times = left_at(run(led_by_the_first(Fault::Kind::killed, 0)));
  Time longest = 0;
  for (std::size_t i = 1; i < times.size(); ++i) longest = std::max(longest, times[i] - times[i - 1]);
  EXPECT_LE(longest, 4 * kSecond) << "it is late by one period at most";
  const auto counts = bursts(times, kSecond);
  EXPECT_THAT(counts, Each(Le(20)));
  EXPECT_LE(std::ranges::count_if(counts.begin(), counts.end() - 1, [](int count) { return count < 20; }), 1)
      << testing::PrintToString(counts);
}

TEST(Resetter, that_stood_still_does_no_harm_when_it_runs_on) {
  const auto counts = bursts(left_at(run(led_by_the_first(Fault::Kind::frozen, 7 * kSecond))), kSecond);
  EXPECT_GE(counts.size(), 13u);
  EXPECT_LE(std::ranges::count_if(counts, [](int count) { return count > 20; }), 1)
      << "what it had booked before leaves when it runs on; " << testing::PrintToString(counts);
}

// ---- without Redis --------------------------------------------------------------------------------------------------

TEST(WithoutRedis, by_shares_the_rate_stays_what_it_was_and_each_has_its_part) {
  const Journal journal =
      run(failing(at_work(pacing(300), 3, 10 * kSecond),
                  {.kind = Fault::Kind::redis_loses_memory, .at = 5 * kSecond, .lasts = 3 * kSecond}));
  for (int member = 0; member < 3; ++member) {
    EXPECT_NEAR(count_in(left_at(journal, member), 5'100 * kMillisecond, 7'100 * kMillisecond), 200, 1);
  }
}

/// Its window is full whenever the pacer is busy. Left to themselves, processes would wait for all of it.
TEST(WithoutRedis, by_shares_a_rate_goes_on_at_once) {
  Plan plan = at_rate(limits_of({300, 60s}), 3, 95 * kSecond);
  const Journal journal =
      run(failing(std::move(plan), {.kind = Fault::Kind::redis_stops, .at = 65 * kSecond, .lasts = 20 * kSecond}));
  const auto times = left_at(journal);
  EXPECT_NEAR(count_in(times, 66 * kSecond, 84 * kSecond), 90, 3);
  EXPECT_GE(count_in(times, 86 * kSecond, 94 * kSecond), 38);
  EXPECT_LE(fullest(times, 60 * kSecond), 300 + 2) << "a request for each process but one";
}

TEST(WithoutRedis, no_request_waits_longer_than_the_time_out) {
  Plan plan = at_work(pacing(1'000), 1, 8 * kSecond);
  plan.members[0].demand = {.rate = 50, .even = true, .flight = kMillisecond};
  const Journal journal =
      run(failing(std::move(plan), {.kind = Fault::Kind::redis_stalls, .at = 3 * kSecond, .lasts = 3 * kSecond}));
  std::size_t at_once = 0;
  for (const auto id : journal.departures) {
    const Request& request = journal.requests[id];
    EXPECT_LE(request.departed - request.arrived, 50 * kMillisecond) << "came at " << request.arrived;
    at_once +=
        request.arrived >= 3'100 * kMillisecond && request.arrived < 6 * kSecond && request.departed == request.arrived;
  }
  EXPECT_EQ(at_once, 145u) << "once the first has waited in vain, Redis is asked no more";
}

TEST(WithoutRedis, a_return_is_noticed_within_a_second_and_brings_no_burst) {
  const Journal journal =
      run(failing(at_work(pacing(100, 30), 2, 12 * kSecond),
                  {.kind = Fault::Kind::redis_loses_memory, .at = 5 * kSecond, .lasts = 2 * kSecond}));
  for (const int member : {0, 1}) {
    const auto back = std::ranges::find_if(journal.standings, [&](const Standing& one) {
      return one.member == member && one.up && one.at >= 7 * kSecond;
    });
    ASSERT_NE(back, journal.standings.end());
    EXPECT_LE(back->at, 8 * kSecond);
  }
  EXPECT_LE(fullest(left_at(journal), kHalfASecond, kAcquainted), 50 + 30 + 1) << "one burst at most";
}

TEST(WithoutRedis, one_of_three_adds_its_own_part_at_most) {
  Plan plan = at_work(pacing(90), 3, 12 * kSecond);
  const auto times = left_at(
      run(failing(std::move(plan), {.kind = Fault::Kind::cut_off, .at = 4 * kSecond, .lasts = kMinute, .member = 2})));
  EXPECT_LE(fullest(times, kSecond, kAcquainted), 90 + 30 + 2);
  EXPECT_GE(count_in(times, 6 * kSecond, 11 * kSecond), 5 * 120 - 2);
}

// ---- pauses and permits ---------------------------------------------------------------------------------------------

TEST(SharedPause, of_a_third_of_a_second_holds_everywhere_and_not_longer) {
  constexpr Time kUntil = 3'300 * kMillisecond;
  const Journal journal =
      run(failing(at_work(pacing(1'000), 3, 5 * kSecond),
                  {.kind = Fault::Kind::paused, .at = 3 * kSecond, .lasts = 300 * kMillisecond, .member = 0}));
  const auto times = left_at(journal);
  EXPECT_EQ(count_in(times, 3'050 * kMillisecond, kUntil), 0);
  EXPECT_GE(count_in(times, kUntil, kUntil + 20 * kMillisecond), 15);
}

TEST(SharedSemaphore, of_a_short_lease_is_renewed_in_time_under_full_load) {
  Plan plan = at_work({.kind = SemaphoreConfig{.capacity = 20, .lease = Duration(2 * kSecond)}}, 3, 20 * kSecond);
  for (Member& member : plan.members) member.demand.flight = 50 * kMillisecond;
  const Journal journal = run(plan);
  std::vector<std::pair<Time, int>> steps;
  Time flown = 0;
  for (const auto id : journal.departures) {
    const Request& request = journal.requests[id];
    EXPECT_NE(request.end, Request::End::cut);
    const Time ended = request.ended == kNotYet ? journal.ended : request.ended;
    steps.emplace_back(request.departed, 1), steps.emplace_back(ended, -1);
    flown += std::max<Time>(0, std::min(ended, 20 * kSecond) - std::max(request.departed, 5 * kSecond));
  }
  std::ranges::sort(steps);  // landings make room for departures of the same moment
  int flying = 0, most = 0;
  for (const auto& [at, by] : steps) most = std::max(most, flying += by);
  EXPECT_EQ(most, 20);
  EXPECT_GE(static_cast<double>(flown), 0.98 * 20 * 15 * kSecond);
  EXPECT_LE(calls_a_request(journal), 0.7);
}

}  // namespace
}  // namespace penstock::simulation
