// SPDX-License-Identifier: Apache-2.0
// Two clocks, and round trips between them.
#include "redis/limits/clock_map.h"
#include "redis/in_time.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

namespace penstock::redis {
namespace {

constexpr std::int64_t kAhead = 50'000'000'000;  // what the script clock shows at our 0

/// A round trip that took so long there and so long back.
bool learn(ClockMap& map, flow::Time sent, flow::Time there, flow::Time back, std::int64_t ahead = kAhead) {
  return map.learn(sent, sent + there + back, sent + there + ahead);
}

TEST(ClockMap, knows_nothing_at_first) {
  const ClockMap map;
  EXPECT_FALSE(map.known());
  EXPECT_EQ(map.to_loop(7), 7);
}

TEST(ClockMap, takes_the_script_to_have_run_in_the_middle_of_the_round_trip) {
  ClockMap map;
  EXPECT_TRUE(learn(map, 1'000, 100, 100));
  EXPECT_EQ(map.to_loop(kAhead + 5'000), 5'000);
  EXPECT_EQ(map.to_script(5'000), kAhead + 5'000);
  EXPECT_EQ(map.round_trip(), 200);
}

TEST(ClockMap, keeps_to_the_quickest_round_trip) {
  ClockMap map;
  learn(map, 0, 100, 100);
  EXPECT_FALSE(learn(map, 10'000, 5'000, 100));  // late on its way there: seems 2450 ahead
  EXPECT_EQ(map.to_loop(kAhead + 20'000), 20'000);
  EXPECT_FALSE(learn(map, 20'000, 30, 60));
  EXPECT_EQ(map.to_loop(kAhead + 30'000), 30'000 + 15);
}

TEST(ClockMap, forgets_a_quick_one_after_a_minute_for_the_quickest_since) {
  ClockMap map;
  learn(map, 0, 50, 50);
  learn(map, 40 * kSecond, 200, 100);
  learn(map, 50 * kSecond, 900, 100);
  EXPECT_EQ(map.to_loop(kAhead), 0);
  learn(map, 61 * kSecond, 900, 100);
  EXPECT_EQ(map.to_loop(kAhead), -50);
  EXPECT_EQ(map.round_trip(), 300);
}

TEST(ClockMap, forgets_everything_over_a_long_silence) {
  ClockMap map;
  learn(map, 0, 50, 50);
  learn(map, 600 * kSecond, 900, 100);
  EXPECT_EQ(map.round_trip(), 1'000);
}

TEST(ClockMap, follows_a_clock_that_was_set_forward_or_back) {
  for (const std::int64_t step : {10 * kSecond, -10 * kSecond, std::int64_t{2'000}, std::int64_t{-2'000}}) {
    ClockMap map;
    learn(map, 0, 50, 50);
    EXPECT_TRUE(learn(map, kSecond, 300, 300, kAhead + step));
    EXPECT_EQ(map.to_loop(kAhead + step + 5'000), 5'000) << step;
    EXPECT_FALSE(learn(map, 2 * kSecond, 50, 50, kAhead + step));
  }
}

TEST(ClockMap, follows_clocks_that_drift_apart) {
  ClockMap map;
  std::mt19937 random(1);
  std::uniform_int_distribution<flow::Time> way(80, 400);
  for (flow::Time now = 0; now < 3600 * kSecond; now += kSecond) {
    const std::int64_t drifted = kAhead + now * 20 / 1'000'000;  // 20 µs a second: 1.2 ms a minute
    learn(map, now, way(random), way(random), drifted);
    ASSERT_LT(std::abs(map.at_zero() - drifted), 1'500) << now;
  }
}

TEST(ClockMap, of_a_jittery_way_is_never_off_by_more_than_half_the_quickest_trip) {
  ClockMap map;
  std::mt19937 random(7);
  std::exponential_distribution<double> late(1.0 / 2'000);
  const auto way = [&] { return 250 + static_cast<flow::Time>(late(random)); };
  for (flow::Time now = 0; now < 600 * kSecond; now += kSecond / 10) {
    learn(map, now, way(), way());
    ASSERT_LE(std::abs(map.at_zero() - kAhead), map.round_trip() / 2 + 1) << now;
  }
  EXPECT_LT(std::abs(map.at_zero() - kAhead), 150);
}

}  // namespace
}  // namespace penstock::redis
