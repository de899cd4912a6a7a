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
    limit.correct(its.at, now, took - flight.reserved);
    its.weight = took;
  };
  while (left.size() < static_cast<std::size_t>(traffic.departures)) {
    if (chance.one_in(20)) now += chance.from_to(0, 3'000'000);
    limit.refresh(now);
    const int reserved = chance.from_to(1, traffic.most);
    const Instant frontier = limit.frontier(reserved), may = frontier == kNever ? limit.reset_at() : frontier;
    const Instant at = rounded_up(limit.after_guard(std::max(now, may)));
    if (!flights.empty() && flights.top().ends <= at) {
      now = std::max(now, flights.top().ends);
      land(flights.top());
      flights.pop();
      continue;
    }
    now = at;
    if (frontier == kNever) continue;  // the reset comes first
    limit.commit(now, reserved);
    left.push_back({now, reserved});
    flights.push({now + chance.from_to(0, traffic.longest), left.size() - 1, reserved});
  }
  for (; !flights.empty(); flights.pop()) {
    now = std::max(now, flights.top().ends);
    land(flights.top());
  }
  return left;
}

TEST(Settling, a_sliding_window_keeps_its_maximum_of_what_was_taken) {
  for (int seed = 0; seed < 100; ++seed) {
    Chance chance(seed);
    const SlidingWindowConfig config{.max = 20, .interval = 500ms};
    SlidingWindow window(config);
    const auto left = settle_at_random(window, chance, {});
    expect_at_most(left, [&](Instant length) { return length < 500'000 ? 20.0 : 1e9; });
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(Settling, a_window_keeps_its_reservoir_of_what_was_taken) {
  for (int seed = 0; seed < 100; ++seed) {
    Chance chance(seed);
    const WindowConfig config{.reservoir = 20, .interval = 500ms};
    Window window(config);
    std::map<std::int64_t, int> taken;
    for (const Left& one : settle_at_random(window, chance, {})) {
      taken[(static_cast<std::int64_t>(one.at) + kInstantZero) / 500'000] += one.weight;
    }
    for (const auto& [number, units] : taken) ASSERT_LE(units, 20) << "seed " << seed;
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
      return config.capacity + config.refill_amount * (std::floor((length + 1) / period) + 1);
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

// What is known at once is as if it had been reserved so.
TEST(Settling, of_the_newest_departure_all_that_was_too_much_comes_back) {
  const PacerConfig pacer{.qps = 10, .max_burst = 4};
  const WindowConfig window{.reservoir = 20, .interval = 1s};
  const SlidingWindowConfig sliding{.max = 20, .interval = 1s};
  const TokenBucketConfig bucket{.capacity = 20, .refill_amount = 2, .refill_frequency = 100ms};
  const CounterConfig counter{.max = 20, .period = 1s};
  const std::vector<std::function<std::unique_ptr<Limit>()>> kinds{
      [&] { return std::make_unique<Pacer>(pacer); }, [&] { return std::make_unique<Window>(window); },
      [&] { return std::make_unique<SlidingWindow>(sliding); }, [&] { return std::make_unique<TokenBucket>(bucket); },
      [&] { return std::make_unique<Counter>(counter); }};
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    const auto light = kinds[kind](), heavy = kinds[kind]();
    const Instant now = kThisYear + 7'000;
    for (Limit* limit : {light.get(), heavy.get()}) limit->refresh(now), limit->commit(now, 3);
    const Instant then = std::max({now, light->frontier(2), heavy->frontier(11)});
    for (Limit* limit : {light.get(), heavy.get()}) limit->refresh(then);
    heavy->correct(now, then, 0);  // begins to remember, where that is needed
    light->commit(then, 2);
    heavy->commit(then, 11);
    heavy->correct(then, then, 2 - 11);
    for (const int weight : {1, 9, 18}) EXPECT_EQ(light->frontier(weight), heavy->frontier(weight)) << "kind " << kind;
  }
}

TEST(Settling, what_was_reserved_too_few_is_a_debt) {
  const TokenBucketConfig config{.capacity = 10, .refill_amount = 1, .refill_frequency = 100ms};
  TokenBucket bucket(config);
  bucket.commit(kThisYear, 10);
  bucket.correct(kThisYear, kThisYear, 5);
  EXPECT_EQ(bucket.frontier(1), kThisYear + 600'000) << "five that are owed, and its own";

  const SlidingWindowConfig sliding{.max = 10, .interval = 1s};
  SlidingWindow window(sliding);
  window.commit(kThisYear, 10);
  window.correct(kThisYear, kThisYear + 400'000, 5);
  EXPECT_EQ(window.frontier(5), kThisYear + kOneSecond + 2 * kGuard);
  EXPECT_EQ(window.frontier(6), kThisYear + 400'000 + kOneSecond + 2 * kGuard);

  const PacerConfig pacing{.qps = 10};
  Pacer pacer(pacing);
  pacer.commit(kThisYear, 2);
  pacer.correct(kThisYear, kThisYear + 50'000, 3);
  EXPECT_EQ(pacer.frontier(1), kThisYear + 500'000);
}

// 3 970 of 4 000 that it reserved come back after 20 s, in which the bucket would have been full: none of them counts.
TEST(Settling, a_bucket_that_would_have_been_full_gives_back_what_it_would_have_now) {
  const TokenBucketConfig config{.capacity = 10'000, .refill_amount = 1'000, .refill_frequency = 6s};
  TokenBucket bucket(config);
  bucket.commit(kThisYear, 100);
  bucket.correct(kThisYear, kThisYear, -100);  // from now on it remembers
  bucket.commit(kThisYear, 4'000);
  bucket.commit(kThisYear + 20 * kOneSecond, 4'000);  // of the first, 1 000 are still missing
  bucket.correct(kThisYear, kThisYear + 20 * kOneSecond, -3'970);
  EXPECT_EQ(leave_at_once(bucket, kThisYear + 20 * kOneSecond), 6'000);
}

// Costs of 50 to 4 000 are unknown before, so that 4 000 are reserved for each: the tokens of an hour are used.
TEST(Settling, a_crowd_uses_what_it_has_reserved_in_vain) {
  for (const int longest : {1'000'000, 10'000'000}) {
    Chance chance(longest);
    const TokenBucketConfig config{.capacity = 10'000, .refill_amount = 1'000, .refill_frequency = 6s};
    TokenBucket bucket(config);
    std::priority_queue<Flight, std::vector<Flight>, std::greater<>> flights;
    std::vector<Instant> departed;
    Instant now = kThisYear;
    double used = 0;
    while (now < kThisYear + 3'600 * kOneSecond) {
      const Instant at = rounded_up(std::max(now, bucket.frontier(4'000)));
      if (!flights.empty() && flights.top().ends <= at) {
        const Flight flight = flights.top();
        flights.pop();
        const int took = chance.from_to(50, 4'000);
        now = std::max(now, flight.ends);
        bucket.correct(departed[flight.departure], now, took - flight.reserved);
        used += took;
        continue;
      }
      bucket.commit(now = at, 4'000);
      departed.push_back(at);
      flights.push({at + chance.from_to(100'000, longest), departed.size() - 1, 4'000});
    }
    EXPECT_GE(used, 0.97 * 600'000) << longest;
    EXPECT_LE(used, 600'000 + 10'000) << longest;
  }
}

LimitConfig of_tokens(LimitConfig::Kind kind) { return {.kind = kind, .name = "tokens", .unit = "tokens"}; }

TEST(Settling, limits_with_a_unit_count_the_cost_and_others_the_weight) {
  LocalLimiter limiter({of_tokens(TokenBucketConfig{.capacity = 100, .refill_amount = 1, .refill_frequency = 1s}),
                        {.kind = SlidingWindowConfig{.max = 3, .interval = 1s}, .name = "requests"}});
  EXPECT_EQ(limiter.forbids(Load(1, 101)), 0);
  EXPECT_EQ(limiter.forbids(Load(4, 1)), 1);
  EXPECT_EQ(limiter.forbids(Load(3, 100)), kNoLimit);
  Booking booking;
  limiter.ask(0, {.count = 2, .weight = 1, .cost = 60}, booking);
  ASSERT_EQ(booking.departures.size(), 1u);
  EXPECT_EQ(booking.departures.front().cost, 60);
  EXPECT_EQ(booking.limited_by, 0);
  EXPECT_EQ(booking.not_before, 20'000'000) << "20 of 60 are missing";
  EXPECT_TRUE(limiter.settle(1, {}, booking.departures.front(), 60 - 25));
  booking.clear();
  limiter.ask(2, {.count = 3, .weight = 1, .cost = 20}, booking);
  EXPECT_EQ(booking.departures.size(), 2u);
  EXPECT_EQ(booking.limited_by, 1) << "three have left, whatever they cost";
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
