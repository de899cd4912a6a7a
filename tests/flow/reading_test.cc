// SPDX-License-Identifier: Apache-2.0
// How much of a limit is used, against figures that were worked out by hand.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "flow/keeps.h"
#include "flow/limit.h"
#include "flow/local_limiter.h"
#include "flow/make_limit.h"
#include "flow/part_of_limit.h"
#include "penstock/limits.h"

namespace penstock::flow {
namespace {

using namespace std::chrono_literals;
using Lands = std::optional<Instant>;

/// A whole minute.
constexpr Instant kFullMinute = 100 * 60'000'000.0;
constexpr Instant kWholeSecond = 1'000'000;

struct Figures {
  double used, of;
  Lands opens, resets;
};

void expect(const LimitReading& reading, const Figures& figures) {
  EXPECT_NEAR(reading.used, figures.used, 1e-9);
  EXPECT_EQ(reading.of, figures.of);
  ASSERT_EQ(reading.opens_in.has_value(), figures.opens.has_value());
  ASSERT_EQ(reading.resets_in.has_value(), figures.resets.has_value());
  EXPECT_NEAR(reading.opens_in.value_or(0), figures.opens.value_or(0), 0.01);
  EXPECT_NEAR(reading.resets_in.value_or(0), figures.resets.value_or(0), 0.01);
}

// 10 units a second and a burst of 3, which leaks at 5 a second while idle.
TEST(Reading, of_a_pacer) {
  const LimitConfig::Kind kind = PacerConfig{.qps = 10, .max_burst = 3};
  const auto pacer = make_limit(kind);
  expect(pacer->read(kFullMinute), {0, 3, 0, {}});
  EXPECT_EQ(pacer->read(kFullMinute).rate, 10);
  for (int i = 0; i < 3; ++i) pacer->commit(kFullMinute, 1);
  expect(pacer->read(kFullMinute), {3, 3, 0, {}});
  pacer->commit(kFullMinute, 1);  // the first that is paced: the next is 100 ms behind
  expect(pacer->read(kFullMinute), {3, 3, 100'000, {}});
  expect(pacer->read(kFullMinute + 60'000), {3, 3, 40'000, {}});
  expect(pacer->read(kFullMinute + 300'000), {2, 3, 0, {}});  // idle for 200 ms
}

TEST(Reading, of_a_window) {
  const LimitConfig::Kind kind = WindowConfig{.reservoir = 5, .interval = 60s};
  const auto window = make_limit(kind);
  const Instant now = kFullMinute + 23 * kWholeSecond;
  expect(window->read(now), {0, 5, 0, 37 * kWholeSecond});
  for (int i = 0; i < 4; ++i) window->commit(now, 1);
  expect(window->read(now), {4, 5, 0, 37 * kWholeSecond});
  window->commit(now, 1);
  expect(window->read(now), {5, 5, 37 * kWholeSecond + kGuard, 37 * kWholeSecond});
  expect(window->read(now + 30 * kWholeSecond), {5, 5, 7 * kWholeSecond + kGuard, 7 * kWholeSecond});
  expect(window->read(kFullMinute + 61 * kWholeSecond), {0, 5, 0, 59 * kWholeSecond});
}

TEST(Reading, of_a_window_whose_departures_are_spread) {
  const LimitConfig::Kind kind = WindowConfig{.reservoir = 6, .interval = 60s, .spread = true};
  const auto window = make_limit(kind);
  window->commit(kFullMinute + kWholeSecond, 1);
  window->commit(kFullMinute + 10 * kWholeSecond, 1);
  expect(window->read(kFullMinute + 12 * kWholeSecond), {2, 6, 8 * kWholeSecond, 48 * kWholeSecond});
}

// What strangers took of it is used, too.
TEST(Reading, of_a_window_that_strangers_use) {
  const LimitConfig::Kind kind = WindowConfig{.reservoir = 10, .interval = 60s};
  const auto window = make_limit(kind);
  window->commit(kFullMinute + kWholeSecond, 2);
  window->learn(kFullMinute + 2 * kWholeSecond,
                {.count = 9, .resets = kFullMinute + 60 * kWholeSecond, .departed = kFullMinute + kWholeSecond});
  expect(window->read(kFullMinute + 3 * kWholeSecond), {9, 10, 0, 57 * kWholeSecond});
}

TEST(Reading, of_a_window_whose_interval_was_changed_and_that_nobody_has_used_since) {
  LimitConfig::Kind kind = WindowConfig{.reservoir = 10, .interval = 60s};
  const auto window = make_limit(kind);
  window->commit(kFullMinute + kWholeSecond, 4);
  std::get<WindowConfig>(kind).interval = 10s;
  // All four may have left in the latest of the new windows that the old one overlaps, or in one within the horizon.
  expect(window->read(kFullMinute + 2 * kWholeSecond), {4, 10, 0, 8 * kWholeSecond});
}

// The interval is kept 2 ms longer, so that one departure may be late and the next punctual.
TEST(Reading, of_a_sliding_window) {
  const LimitConfig::Kind kind = SlidingWindowConfig{.max = 3, .interval = 10s};
  const auto window = make_limit(kind);
  expect(window->read(kFullMinute), {0, 3, 0, {}});
  window->commit(kFullMinute, 1);
  window->commit(kFullMinute + kWholeSecond, 2);
  expect(window->read(kFullMinute + 2 * kWholeSecond), {3, 3, 8 * kWholeSecond + 2 * kGuard, {}});
  expect(window->read(kFullMinute + 10 * kWholeSecond + 2 * kGuard), {2, 3, 0, {}});
  expect(window->read(kFullMinute + 11 * kWholeSecond + 2 * kGuard), {0, 3, 0, {}});
}

TEST(Reading, of_a_token_bucket) {
  const LimitConfig::Kind kind = TokenBucketConfig{.capacity = 10, .refill_amount = 3, .refill_frequency = 2s};
  const auto bucket = make_limit(kind);
  expect(bucket->read(kFullMinute), {0, 10, 0, 0});
  bucket->commit(kFullMinute, 10);
  expect(bucket->read(kFullMinute + kWholeSecond),
         {10, 10, kWholeSecond, 7 * kWholeSecond});  // 3, 6, 9 and 10 tokens after 2, 4, 6, 8 s
  expect(bucket->read(kFullMinute + 5 * kWholeSecond), {4, 10, 0, 3 * kWholeSecond});
  expect(bucket->read(kFullMinute + 9 * kWholeSecond), {0, 10, 0, 0});
}

TEST(Reading, of_a_semaphore) {
  const LimitConfig::Kind kind = SemaphoreConfig{.capacity = 2};
  const auto semaphore = make_limit(kind);
  expect(semaphore->read(kFullMinute), {0, 2, 0, {}});
  semaphore->commit(kFullMinute, 5);
  expect(semaphore->read(kFullMinute), {1, 2, 0, {}});
  semaphore->commit(kFullMinute, 1);
  expect(semaphore->read(kFullMinute), {2, 2, {}, {}});
  semaphore->landed();
  expect(semaphore->read(kFullMinute), {1, 2, 0, {}});
}

// The first period begins a guard before its first departure.
TEST(Reading, of_a_counter) {
  const LimitConfig::Kind kind = CounterConfig{.max = 4, .period = 30s};
  const auto counter = make_limit(kind);
  expect(counter->read(kFullMinute), {0, 4, 0, {}});
  counter->commit(kFullMinute + kGuard, 3);
  expect(counter->read(kFullMinute + 10 * kWholeSecond), {3, 4, 0, 20 * kWholeSecond});
  counter->commit(kFullMinute + 11 * kWholeSecond, 1);
  expect(counter->read(kFullMinute + 12 * kWholeSecond), {4, 4, 18 * kWholeSecond + kGuard, 18 * kWholeSecond});
  expect(counter->read(kFullMinute + 31 * kWholeSecond), {0, 4, 0, 29 * kWholeSecond});
}

TEST(Reading, of_an_adaptive_limit) {
  const LimitConfig::Kind kind = AdaptiveConfig{.min = 4, .max = 100};
  const auto adaptive = make_limit(kind);
  adaptive->commit(kFullMinute, 1);
  const LimitReading reading = adaptive->read(kFullMinute + 50'000);
  expect(reading, {0, 0, 200'000, {}});
  EXPECT_EQ(reading.rate, 4);
}

// Of 60 units 20 were left for 3 processes, until the window ends 40 s later.
TEST(Reading, of_one_processs_part) {
  const LimitConfig::Kind whole = WindowConfig{.reservoir = 60, .interval = 60s};
  const LimitConfig::Kind part = WindowConfig{.reservoir = 20, .interval = 60s};
  const Remaining left{.until = kFullMinute + 60 * kWholeSecond, .units = 20};
  PartOfLimit limit(make_limit(whole), part, left, 3, kFullMinute + 20 * kWholeSecond);
  expect(limit.read(kFullMinute + 20 * kWholeSecond), {14, 20, 0, 40 * kWholeSecond});
  for (int i = 0; i < 6; ++i) limit.commit(kFullMinute + 20 * kWholeSecond, 1);
  expect(limit.read(kFullMinute + 20 * kWholeSecond), {20, 20, 40 * kWholeSecond + kGuard, 40 * kWholeSecond});
  expect(limit.read(kFullMinute + 61 * kWholeSecond), {0, 20, 0, 59 * kWholeSecond});
}

// ---- of an upstream and its groups ----------------------------------------------------------------------------------

constexpr LimitConfig::Per kOfGroup = LimitConfig::Per::group;

TEST(Reading, tells_the_limits_of_an_upstream_and_those_of_a_group) {
  LocalLimiter limiter({{.kind = SemaphoreConfig{.capacity = 9}, .name = "slots"},
                        {.kind = WindowConfig{.reservoir = 5, .interval = 60s}, .name = "each", .per = kOfGroup},
                        {.kind = CounterConfig{.max = 7, .period = 1s}, .name = "all"}},
                       kFullMinute);
  limiter.book(0, "a", 2);
  const auto told = [&](std::string_view group) {
    std::string text;
    limiter.reader()->read(0, group, [&](LimitIndex limit, const LimitReading& reading) {
      text += std::to_string(limit) + ":" + std::to_string(std::lround(reading.used)) + "/" +
              std::to_string(std::lround(reading.of)) + " ";
    });
    return text;
  };
  EXPECT_EQ(told({}), "0:1/9 2:2/7 ");
  EXPECT_EQ(told("a"), "1:2/5 ");
  EXPECT_EQ(told("unknown"), "1:0/5 ");
}

TEST(Reading, finds_the_groups_of_whose_limits_most_is_used) {
  LocalLimiter limiter({{.kind = WindowConfig{.reservoir = 100, .interval = 60s}, .per = kOfGroup}}, kFullMinute);
  for (int i = 1; i <= 30; ++i) limiter.book(2'000, LaneKey("group " + std::to_string(i)), i);
  const auto fullest = limiter.reader()->fullest_groups(2'000, 20);
  ASSERT_EQ(fullest.size(), 20u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(fullest[static_cast<std::size_t>(i)], "group " + std::to_string(30 - i));
}

}  // namespace
}  // namespace penstock::flow
