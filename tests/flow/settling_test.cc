// SPDX-License-Identifier: Apache-2.0
// What departures took is corrected when it is known: the limits keep what they promise of what was really taken, and
// what was reserved in vain can be used by others.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "flow/counter.h"
#include "flow/keeps.h"
#include "flow/local_limiter.h"
#include "flow/pacer.h"
#include "flow/sliding_window.h"
#include "flow/token_bucket.h"
#include "flow/window.h"

namespace penstock::flow {
namespace {

/// A request in flight: what it takes is known when it ends.
struct Flight {
  Instant ends;
  std::size_t departure;
  int reserved;
  bool operator>(const Flight& other) const { return ends > other.ends; }
};

struct Traffic {
  int departures = 300;
  int most = 10;          ///< reserved by one
  int longest = 900'000;  ///< a flight, µs
};

/// Lets requests leave that take fewer units than they reserve, or more. Returns what left, with what it really took.
std::vector<Left> settle_at_random(Limit& limit, Chance& chance, const Traffic& traffic) {
  std::priority_queue<Flight, std::vector<Flight>, std::greater<>> flights;
  std::vector<Left> left;
  Instant now = kThisYear + chance.from_to(0, 3'000'000);
  const auto land = [&](const Flight& flight) {
    Left& its = left[flight.departure];
    const int took = chance.from_to(0, flight.reserved);
    limit.refresh(now);
    limit.settle(its.at, now, flight.reserved, took);
    its.weight = took;
  };
  while (left.size() < static_cast<std::size_t>(traffic.departures)) {
    if (chance.one_in(20)) now += chance.from_to(0, 3'000'000);
    limit.refresh(now);
    const int reserved = chance.from_to(1, traffic.most);
    const Instant frontier = limit.frontier(1), may = frontier == kNever ? limit.reset_at() : frontier;
    const Instant at = rounded_up(limit.after_guard(std::max(now, may)));
    if (!flights.empty() && flights.top().ends <= at) {
      now = std::max(now, flights.top().ends);
      land(flights.top());
      flights.pop();
      continue;
    }
    now = at;
    if (frontier == kNever) continue;  // the reset comes first
    limit.commit_cost(now, reserved);
    left.push_back({now, reserved});
    flights.push({now + chance.from_to(0, traffic.longest), left.size() - 1, reserved});
  }
  for (; !flights.empty(); flights.pop()) {
    now = std::max(now, flights.top().ends);
    land(flights.top());
  }
  return left;
}

// One unit must be free for a request, and the rest of it may be a debt: beyond what each kind promises there may be
// one request, less that unit.
constexpr int kOneMore = Traffic{}.most - 1;

TEST(Settling, a_sliding_window_keeps_its_maximum_of_what_was_taken) {
  for (int seed = 0; seed < 100; ++seed) {
    Chance chance(seed);
    const SlidingWindowConfig config{.max = 20, .interval = 500ms};
    SlidingWindow window(config);
    const auto left = settle_at_random(window, chance, {});
    expect_at_most(left, [&](Instant length) { return length < 500'000 ? 20.0 + kOneMore : 1e9; });
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

/// Of costs that are carried over, at most one request is more than any number of windows in a row may have.
void expect_carried_over(const std::map<std::int64_t, int>& taken, int most) {
  for (auto first = taken.begin(); first != taken.end(); ++first) {
    std::int64_t units = 0;
    for (auto last = first; last != taken.end(); ++last) {
      units += last->second;
      ASSERT_LE(units, (last->first - first->first + 1) * most + kOneMore) << "windows from " << first->first << " on";
    }
  }
}

TEST(Settling, a_window_keeps_its_reservoir_of_what_was_taken) {
  for (int seed = 0; seed < 100; ++seed) {
    Chance chance(seed);
    const WindowConfig config{.reservoir = 20, .interval = 500ms, .spread = seed % 2 == 1};
    Window window(config);
    std::map<std::int64_t, int> taken;
    for (const Left& one : settle_at_random(window, chance, {})) {
      taken[(static_cast<std::int64_t>(one.at) + kInstantZero) / 500'000] += one.weight;
    }
    expect_carried_over(taken, 20);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

// Its periods begin with its first departure.
TEST(Settling, a_counter_keeps_its_maximum_of_what_was_taken) {
  for (int seed = 0; seed < 100; ++seed) {
    Chance chance(seed);
    const CounterConfig config{.max = 20, .period = 500ms};
    Counter counter(config, true);
    const auto left = settle_at_random(counter, chance, {});
    expect_at_most(left, [&](Instant length) { return 20 * (std::floor(length / 500'000) + 2) + kOneMore; });
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(Settling, a_token_bucket_lets_no_more_pass_of_what_was_taken_than_it_holds_and_the_refills_bring) {
  for (int seed = 0; seed < 400; ++seed) {
    Chance chance(seed);
    const TokenBucketConfig config{.capacity = chance.from_to(10, 40),
                                   .refill_amount = chance.from_to(1, 12),
                                   .refill_frequency = Duration(chance.from_to(10'000, 400'000))};
    TokenBucket bucket(config);
    const auto left = settle_at_random(bucket, chance, {.longest = chance.from_to(0, 2'000'000)});
    const auto period = static_cast<double>(config.refill_frequency.count());
    expect_at_most(left, [&](Instant length) {
      return config.capacity + config.refill_amount * (std::floor((length + 1) / period) + 1) + kOneMore;
    });
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(Settling, a_pacer_keeps_its_rate_of_what_was_taken) {
  for (int seed = 0; seed < 100; ++seed) {
    Chance chance(seed);
    const PacerConfig config{.qps = 30, .max_burst = chance.from_to(0, 15)};
    Pacer pacer(config);
    const auto left = settle_at_random(pacer, chance, {});
    expect_at_most(left, [&](Instant length) { return 30 * (length + 1) / 1e6 + config.max_burst + 10; });
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

class EachKind {
 public:
  static constexpr int kKinds = 6;
  std::unique_ptr<Limit> make(int kind) const {
    switch (kind) {
      case 0: return std::make_unique<Pacer>(pacer_);
      case 1: return std::make_unique<Window>(window_);
      case 2: return std::make_unique<SlidingWindow>(sliding_);
      case 3: return std::make_unique<TokenBucket>(bucket_);
      case 4: return std::make_unique<Counter>(counter_);
      default: return std::make_unique<Window>(spread_);
    }
  }

 private:
  const PacerConfig pacer_{.qps = 10, .max_burst = 4};
  const WindowConfig window_{.reservoir = 20, .interval = 1s}, spread_{.reservoir = 20, .interval = 1s, .spread = true};
  const SlidingWindowConfig sliding_{.max = 20, .interval = 1s};
  const TokenBucketConfig bucket_{.capacity = 20, .refill_amount = 2, .refill_frequency = 100ms};
  const CounterConfig counter_{.max = 20, .period = 1s};
};

// What is known at once is as if it had been reserved so.
TEST(Settling, of_the_newest_departure_all_that_was_too_much_comes_back) {
  const EachKind each;
  for (int kind = 0; kind < EachKind::kKinds; ++kind) {
    for (const int reserved : {11, 19, 70}) {
      const auto light = each.make(kind), heavy = each.make(kind);
      const Instant now = kThisYear + 7'000;
      for (Limit* limit : {light.get(), heavy.get()}) limit->refresh(now), limit->commit_cost(now, 3);
      const Instant then = std::max({now, light->frontier(1), heavy->frontier(1)});
      for (Limit* limit : {light.get(), heavy.get()}) limit->refresh(then);
      heavy->settle(now, then, 3, 3);  // begins to remember, where that is needed
      light->commit_cost(then, 2);
      heavy->commit_cost(then, reserved);
      heavy->settle(then, then, reserved, 2);
      for (const int weight : {1, 9, 15})
        EXPECT_EQ(light->frontier(weight), heavy->frontier(weight))
            << "kind " << kind << ", " << reserved << " reserved";
    }
  }
}

// Two limits see the same departures: one reserves too much for some and gives it back, the other knows at once.
TEST(Settling, what_comes_back_makes_no_limit_looser_than_if_it_had_been_known) {
  const EachKind each;
  for (int seed = 0; seed < 600; ++seed) {
    Chance chance(seed);
    const auto settled = each.make(seed % EachKind::kKinds), known = each.make(seed % EachKind::kKinds);
    std::priority_queue<Flight, std::vector<Flight>, std::greater<>> flights;
    std::vector<std::pair<Instant, int>> departures;  // with what they cost
    Instant now = kThisYear + chance.from_to(0, 3'000'000);
    const auto looser = [&] { return std::max(now, settled->frontier(1)) < known->frontier(1) - 0.01; };
    for (int step = 0; step < 200; ++step) {
      for (Limit* limit : {settled.get(), known.get()}) limit->refresh(now);
      ASSERT_FALSE(looser()) << "seed " << seed << ", step " << step;
      const Instant frontier = settled->frontier(1), may = frontier == kNever ? settled->reset_at() : frontier;
      const Instant at = rounded_up(settled->after_guard(std::max(now, may)));
      if (!flights.empty() && flights.top().ends <= at) {
        const Flight flight = flights.top();
        flights.pop();
        now = std::max(now, flight.ends);
        for (Limit* limit : {settled.get(), known.get()}) limit->refresh(now);
        const auto& [left, cost] = departures[flight.departure];
        settled->settle(left, now, flight.reserved, cost);
        continue;
      }
      now = at;
      if (frontier == kNever) continue;
      for (Limit* limit : {settled.get(), known.get()}) limit->refresh(now);
      const int cost = chance.from_to(1, 15), reserved = cost + (chance.one_in(2) ? 0 : chance.from_to(1, 40));
      settled->commit_cost(now, reserved);
      known->commit_cost(now, cost);
      flights.push({now + chance.from_to(0, chance.one_in(4) ? 4'000'000 : 900'000), departures.size(), reserved});
      departures.emplace_back(now, cost);
      if (chance.one_in(10)) now += chance.from_to(0, 2'000'000);
    }
  }
}

TEST(Settling, what_does_not_fit_is_a_debt) {
  const TokenBucketConfig config{.capacity = 10, .refill_amount = 1, .refill_frequency = 100ms};
  TokenBucket bucket(config);
  bucket.commit_cost(kThisYear, 9);
  EXPECT_EQ(bucket.frontier(1), kThisYear);
  bucket.commit_cost(kThisYear, 6);
  EXPECT_EQ(bucket.frontier(1), kThisYear + 600'000) << "five that are owed, and its own";

  const SlidingWindowConfig sliding{.max = 10, .interval = 1s};
  constexpr Instant kLater = kOneSecond + 2 * kGuard;
  SlidingWindow window(sliding);
  window.commit_cost(kThisYear, 4);
  window.commit_cost(kThisYear + 100'000, 5);
  window.commit_cost(kThisYear + 200'000, 7);  // one fits; four when the first four leave, two when the next do
  EXPECT_EQ(window.frontier(1), kThisYear + 100'000 + kLater);
  EXPECT_EQ(window.frontier(4), kThisYear + 200'000 + kLater) << "three of five have left";

  const WindowConfig whole{.reservoir = 10, .interval = 1s};
  Window windows(whole);
  windows.commit_cost(kThisYear + 5'000, 35);
  EXPECT_EQ(windows.frontier(5), kThisYear + 3 * kOneSecond);
  EXPECT_EQ(windows.frontier(6), kThisYear + 4 * kOneSecond);

  const CounterConfig counting{.max = 10, .period = 1s};
  Counter counter(counting, true);
  counter.commit_cost(kThisYear + kGuard, 25);
  counter.refresh(kThisYear + kOneSecond);
  EXPECT_EQ(counter.frontier(1), kNever);
  EXPECT_EQ(counter.forgettable_at(), kThisYear + 3 * kOneSecond) << "with what it owes";
  counter.refresh(kThisYear + 2 * kOneSecond);
  EXPECT_EQ(counter.frontier(5), kThisYear + 2 * kOneSecond + kGuard);
  EXPECT_EQ(counter.frontier(6), kNever);
}

TEST(Settling, what_was_reserved_too_few_is_a_debt) {
  const TokenBucketConfig config{.capacity = 10, .refill_amount = 1, .refill_frequency = 100ms};
  TokenBucket bucket(config);
  bucket.commit_cost(kThisYear, 10);
  bucket.settle(kThisYear, kThisYear, 10, 15);
  EXPECT_EQ(bucket.frontier(1), kThisYear + 600'000) << "five that are owed, and its own";

  const SlidingWindowConfig sliding{.max = 10, .interval = 1s};
  SlidingWindow window(sliding);
  window.commit_cost(kThisYear, 10);
  window.settle(kThisYear, kThisYear + 400'000, 10, 15);
  EXPECT_EQ(window.frontier(5), kThisYear + kOneSecond + 2 * kGuard);
  EXPECT_EQ(window.frontier(6), kThisYear + 2 * (kOneSecond + 2 * kGuard)) << "when the debt has left, too";

  const PacerConfig pacing{.qps = 10};
  Pacer pacer(pacing);
  pacer.commit_cost(kThisYear, 2);
  pacer.settle(kThisYear, kThisYear + 50'000, 2, 5);
  EXPECT_EQ(pacer.frontier(1), kThisYear + 500'000);
}

// 3 970 of 4 000 that it reserved come back after 20 s, in which the bucket would have been full: none of them counts.
TEST(Settling, a_bucket_that_would_have_been_full_gives_back_what_it_would_have_now) {
  const TokenBucketConfig config{.capacity = 10'000, .refill_amount = 1'000, .refill_frequency = 6s};
  TokenBucket bucket(config);
  bucket.commit(kThisYear, 100);
  bucket.settle(kThisYear, kThisYear, 100, 0);  // from now on it remembers
  bucket.commit(kThisYear, 4'000);
  bucket.commit(kThisYear + 20 * kOneSecond, 4'000);  // of the first, 1 000 are still missing
  bucket.settle(kThisYear, kThisYear + 20 * kOneSecond, 4'000, 30);
  EXPECT_EQ(leave_at_once(bucket, kThisYear + 20 * kOneSecond), 6'000);
}

// Costs of 50 to 4 000 are unknown before, so that 4 000 are reserved for each: the tokens of an hour are used.
void expect_an_hour_is_used(Limit& limit, Chance& chance, int longest) {
  std::priority_queue<Flight, std::vector<Flight>, std::greater<>> flights;
  std::vector<Instant> departed;
  Instant now = kThisYear;
  double used = 0;
  while (now < kThisYear + 3'600 * kOneSecond) {
    const Instant at = rounded_up(std::max(now, limit.frontier(1)));
    if (!flights.empty() && flights.top().ends <= at) {
      const Flight flight = flights.top();
      flights.pop();
      const int took = chance.from_to(50, 4'000);
      now = std::max(now, flight.ends);
      limit.refresh(now);
      limit.settle(departed[flight.departure], now, flight.reserved, took);
      used += took;
      continue;
    }
    limit.refresh(now = at);
    limit.commit_cost(at, 4'000);
    departed.push_back(at);
    flights.push({at + chance.from_to(100'000, longest), departed.size() - 1, 4'000});
  }
  EXPECT_GE(used, 0.97 * 600'000) << longest;
  EXPECT_LE(used, 600'000 + 14'000) << longest;
}

TEST(Settling, a_crowd_uses_what_it_has_reserved_in_vain) {
  for (const int longest : {1'000'000, 10'000'000}) {
    Chance chance(longest);
    const TokenBucketConfig bucketful{.capacity = 10'000, .refill_amount = 1'000, .refill_frequency = 6s};
    TokenBucket bucket(bucketful);
    expect_an_hour_is_used(bucket, chance, longest);
    const SlidingWindowConfig a_minute{.max = 10'000, .interval = 1min};
    SlidingWindow window(a_minute);
    expect_an_hour_is_used(window, chance, longest);
  }
}

LimitConfig of_tokens(LimitConfig::Kind kind) { return {.kind = kind, .name = "tokens", .unit = "tokens"}; }

TEST(Settling, limits_with_a_unit_count_the_cost_and_others_the_weight) {
  LocalLimiter limiter({of_tokens(TokenBucketConfig{.capacity = 100, .refill_amount = 1, .refill_frequency = 1s}),
                        {.kind = SlidingWindowConfig{.max = 3, .interval = 1s}, .name = "requests"}});
  EXPECT_EQ(limiter.forbids(Load(4, 1)), 1);
  EXPECT_EQ(limiter.forbids(Load(3, 101)), kNoLimit) << "what costs more than there ever is leaves, as a debt";
  Booking booking;
  limiter.ask(0, {.count = 3, .weight = 1, .cost = 60}, booking);
  ASSERT_EQ(booking.departures.size(), 2u);
  EXPECT_EQ(booking.departures.front().cost, 60);
  EXPECT_EQ(booking.limited_by, 0);
  EXPECT_EQ(booking.not_before, 21'000'000) << "20 are owed";
  EXPECT_TRUE(limiter.settle(1, {}, booking.departures.front(), 25));
  booking.clear();
  limiter.ask(2, {.count = 3, .weight = 1, .cost = 5}, booking);
  EXPECT_EQ(booking.departures.size(), 1u);
  EXPECT_EQ(booking.limited_by, 1) << "three have left, whatever they cost";
}

TEST(Settling, a_departure_that_was_not_used_costs_nothing) {
  LocalLimiter limiter({of_tokens(SlidingWindowConfig{.max = 100, .interval = 1s})});
  Booking booking;
  limiter.ask(0, {.weight = 1, .cost = 250}, booking);
  limiter.give_back(1, {}, booking.departures.at(0));
  EXPECT_EQ(limiter.expected(1, {}, Load(1, 1), 99, 0), 1) << "all hundred are free";
}

TEST(Settling, what_costs_as_much_as_was_reserved_changes_nothing) {
  LocalLimiter limiter({of_tokens(PacerConfig{.qps = 10})});
  Booking booking;
  limiter.ask(0, {.weight = 1, .cost = 5}, booking);
  EXPECT_FALSE(limiter.settle(1, {}, booking.departures.at(0), 5));
  EXPECT_EQ(limiter.expected(1, {}, Load(1, 5), 0, 0), 500'000);
}

}  // namespace
}  // namespace penstock::flow
