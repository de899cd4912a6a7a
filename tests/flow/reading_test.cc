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
using Left = std::optional<Instant>;

/// A whole minute.
constexpr Instant kMinute = 100 * 60'000'000.0;
constexpr Instant kSecond = 1'000'000;

struct Figures {
  double used, of;
  Left opens, resets;
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
  expect(pacer->read(kMinute), {0, 3, 0, {}});
  EXPECT_EQ(pacer->read(kMinute).rate, 10);
  for (int i = 0; i < 3; ++i) pacer->commit(kMinute, 1);
  expect(pacer->read(kMinute), {3, 3, 0, {}});
  pacer->commit(kMinute, 1);  // the first that is paced: the next is 100 ms behind
  expect(pacer->read(kMinute), {3, 3, 100'000, {}});
  expect(pacer->read(kMinute + 60'000), {3, 3, 40'000, {}});
  expect(pacer->read(kMinute + 300'000), {2, 3, 0, {}});  // idle for 200 ms
}

TEST(Reading, of_a_window) {
  const LimitConfig::Kind kind = WindowConfig{.reservoir = 5, .interval = 60s};
  const auto window = make_limit(kind);
  const Instant now = kMinute + 23 * kSecond;
  expect(window->read(now), {0, 5, 0, 37 * kSecond});
  for (int i = 0; i < 4; ++i) window->commit(now, 1);
  expect(window->read(now), {4, 5, 0, 37 * kSecond});
  window->commit(now, 1);
  expect(window->read(now), {5, 5, 37 * kSecond + kGuard, 37 * kSecond});
  expect(window->read(now + 30 * kSecond), {5, 5, 7 * kSecond + kGuard, 7 * kSecond});
  expect(window->read(kMinute + 61 * kSecond), {0, 5, 0, 59 * kSecond});
}

TEST(Reading, of_a_window_whose_departures_are_spread) {
  const LimitConfig::Kind kind = WindowConfig{.reservoir = 6, .interval = 60s, .spread = true};
  const auto window = make_limit(kind);
  window->commit(kMinute + kSecond, 1);
  window->commit(kMinute + 10 * kSecond, 1);
  expect(window->read(kMinute + 12 * kSecond), {2, 6, 8 * kSecond, 48 * kSecond});
}

// What strangers took of it is used, too.
TEST(Reading, of_a_window_that_strangers_use) {
  const LimitConfig::Kind kind = WindowConfig{.reservoir = 10, .interval = 60s};
  const auto window = make_limit(kind);
  window->commit(kMinute + kSecond, 2);
  window->learn(kMinute + 2 * kSecond, {.count = 9, .resets = kMinute + 60 * kSecond, .departed = kMinute + kSecond});
  expect(window->read(kMinute + 3 * kSecond), {9, 10, 0, 57 * kSecond});
}

TEST(Reading, of_a_window_whose_interval_was_changed_and_that_nobody_has_used_since) {
  LimitConfig::Kind kind = WindowConfig{.reservoir = 10, .interval = 60s};
  const auto window = make_limit(kind);
  window->commit(kMinute + kSecond, 4);
  std::get<WindowConfig>(kind).interval = 10s;
  // All four may have left in the latest of the new windows that the old one overlaps, or in one within the horizon.
  expect(window->read(kMinute + 2 * kSecond), {4, 10, 0, 8 * kSecond});
}

// The interval is kept 2 ms longer, so that one departure may be late and the next punctual.
TEST(Reading, of_a_sliding_window) {
  const LimitConfig::Kind kind = SlidingWindowConfig{.max = 3, .interval = 10s};
  const auto window = make_limit(kind);
  expect(window->read(kMinute), {0, 3, 0, {}});
  window->commit(kMinute, 1);
  window->commit(kMinute + kSecond, 2);
  expect(window->read(kMinute + 2 * kSecond), {3, 3, 8 * kSecond + 2 * kGuard, {}});
  expect(window->read(kMinute + 10 * kSecond + 2 * kGuard), {2, 3, 0, {}});
  expect(window->read(kMinute + 11 * kSecond + 2 * kGuard), {0, 3, 0, {}});
}

TEST(Reading, of_a_token_bucket) {
  const LimitConfig::Kind kind = TokenBucketConfig{.capacity = 10, .refill_amount = 3, .refill_frequency = 2s};
  const auto bucket = make_limit(kind);
  expect(bucket->read(kMinute), {0, 10, 0, 0});
  bucket->commit(kMinute, 10);
  expect(bucket->read(kMinute + kSecond), {10, 10, kSecond, 7 * kSecond});  // 3, 6, 9 and 10 tokens after 2, 4, 6, 8 s
  expect(bucket->read(kMinute + 5 * kSecond), {4, 10, 0, 3 * kSecond});
  expect(bucket->read(kMinute + 9 * kSecond), {0, 10, 0, 0});
}

TEST(Reading, of_a_semaphore) {
  const LimitConfig::Kind kind = SemaphoreConfig{.capacity = 2};
  const auto semaphore = make_limit(kind);
  expect(semaphore->read(kMinute), {0, 2, 0, {}});
  semaphore->commit(kMinute, 5);
  expect(semaphore->read(kMinute), {1, 2, 0, {}});
  semaphore->commit(kMinute, 1);
  expect(semaphore->read(kMinute), {2, 2, {}, {}});
  semaphore->landed();
  expect(semaphore->read(kMinute), {1, 2, 0, {}});
}

// The first period begins a guard before its first departure.
TEST(Reading, of_a_counter) {
  const LimitConfig::Kind kind = CounterConfig{.max = 4, .period = 30s};
  const auto counter = make_limit(kind);
  expect(counter->read(kMinute), {0, 4, 0, {}});
  counter->commit(kMinute + kGuard, 3);
  expect(counter->read(kMinute + 10 * kSecond), {3, 4, 0, 20 * kSecond});
  counter->commit(kMinute + 11 * kSecond, 1);
  expect(counter->read(kMinute + 12 * kSecond), {4, 4, 18 * kSecond + kGuard, 18 * kSecond});
  expect(counter->read(kMinute + 31 * kSecond), {0, 4, 0, 29 * kSecond});
}

TEST(Reading, of_an_adaptive_limit) {
  const LimitConfig::Kind kind = AdaptiveConfig{.min = 4, .max = 100};
  const auto adaptive = make_limit(kind);
  adaptive->commit(kMinute, 1);
  const LimitReading reading = adaptive->read(kMinute + 50'000);
  expect(reading, {0, 0, 200'000, {}});
  EXPECT_EQ(reading.rate, 4);
}

// Of 60 units 20 were left for 3 processes, until the window ends 40 s later.
TEST(Reading, of_one_processs_part) {
  const LimitConfig::Kind whole = WindowConfig{.reservoir = 60, .interval = 60s};
  const LimitConfig::Kind part = WindowConfig{.reservoir = 20, .interval = 60s};
  const Remaining left{.until = kMinute + 60 * kSecond, .units = 20};
  PartOfLimit limit(make_limit(whole), part, left, 3, kMinute + 20 * kSecond);
  expect(limit.read(kMinute + 20 * kSecond), {14, 20, 0, 40 * kSecond});
  for (int i = 0; i < 6; ++i) limit.commit(kMinute + 20 * kSecond, 1);
  expect(limit.read(kMinute + 20 * kSecond), {20, 20, 40 * kSecond + kGuard, 40 * kSecond});
  expect(limit.read(kMinute + 61 * kSecond), {0, 20, 0, 59 * kSecond});
}

// ---- of an upstream and its groups ----------------------------------------------------------------------------------

constexpr LimitConfig::Per kOfGroup = LimitConfig::Per::group;

TEST(Reading, tells_the_limits_of_an_upstream_and_those_of_a_group) {
  LocalLimiter limiter({{.kind = SemaphoreConfig{.capacity = 9}, .name = "slots"},
                        {.kind = WindowConfig{.reservoir = 5, .interval = 60s}, .name = "each", .per = kOfGroup},
                        {.kind = CounterConfig{.max = 7, .period = 1s}, .name = "all"}},
                       kMinute);
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
  LocalLimiter limiter({{.kind = WindowConfig{.reservoir = 100, .interval = 60s}, .per = kOfGroup}}, kMinute);
  for (int i = 1; i <= 30; ++i) limiter.book(2'000, LaneKey("group " + std::to_string(i)), i);
  const auto fullest = limiter.reader()->fullest_groups(2'000, 20);
  ASSERT_EQ(fullest.size(), 20u);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(fullest[static_cast<std::size_t>(i)], "group " + std::to_string(30 - i));
}

}  // namespace
}  // namespace penstock::flow
