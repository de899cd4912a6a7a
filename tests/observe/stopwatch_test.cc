// SPDX-License-Identifier: Apache-2.0
// Busy time, rps and mean latency, on a clock that the tests move.
#include "observe/stopwatch.h"

#include <gtest/gtest.h>

namespace penstock::observe {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t at(double seconds) { return static_cast<std::int64_t>(seconds * 1e6); }

void flight(Stopwatch& watch, double from, double to) {
  watch.took_off(at(from));
  watch.landed(at(to));
  watch.succeeded(at(to), Duration{at(to) - at(from)});
}

TEST(Stopwatch, says_zero_before_anything_has_happened) {
  Stopwatch watch;
  EXPECT_EQ(watch.busy(at(100)), 0us);
  EXPECT_EQ(watch.last_minute(at(100)).rps, 0);
  EXPECT_EQ(watch.last_minute(at(100)).mean_latency, 0);
}

TEST(Stopwatch, idle_time_does_not_lower_the_rate) {
  Stopwatch watch;
  flight(watch, 1000.0, 1000.5);
  flight(watch, 1010.0, 1010.5);
  EXPECT_EQ(watch.busy(at(1020)), 1s);
  EXPECT_DOUBLE_EQ(watch.last_minute(at(1020)).rps, 2.0);
  EXPECT_DOUBLE_EQ(watch.last_minute(at(1020)).mean_latency, 0.5);
}

TEST(Stopwatch, flights_side_by_side_are_busy_once) {
  Stopwatch watch;
  watch.took_off(at(10));
  watch.took_off(at(10.5));
  watch.landed(at(11));
  watch.landed(at(12));
  EXPECT_EQ(watch.busy(at(20)), 2s);
}

TEST(Stopwatch, time_is_busy_while_a_flight_goes_on) {
  Stopwatch watch;
  watch.took_off(at(10));
  EXPECT_EQ(watch.busy(at(13.25)), 3250ms);
  EXPECT_EQ(watch.busy(at(14)), 4s);
}

TEST(Stopwatch, failures_keep_it_busy_but_are_no_successes) {
  Stopwatch watch;
  watch.took_off(at(10));
  watch.landed(at(11));
  flight(watch, 11, 12);
  EXPECT_DOUBLE_EQ(watch.last_minute(at(12)).rps, 0.5);
  EXPECT_DOUBLE_EQ(watch.last_minute(at(12)).mean_latency, 1.0);
}

TEST(Stopwatch, what_is_older_than_a_minute_is_forgotten) {
  Stopwatch watch;
  flight(watch, 100.0, 100.1);
  flight(watch, 130.0, 130.3);
  EXPECT_DOUBLE_EQ(watch.last_minute(at(159.9)).mean_latency, 0.2);
  EXPECT_DOUBLE_EQ(watch.last_minute(at(160.0)).mean_latency, 0.3);
  EXPECT_EQ(watch.last_minute(at(190.0)).rps, 0);
  EXPECT_EQ(watch.busy(at(200)), 400ms);
}

TEST(Stopwatch, a_long_flight_fills_the_window_and_no_more) {
  Stopwatch watch;
  flight(watch, 100, 1000);
  EXPECT_EQ(watch.busy(at(1000)), 900s);
  EXPECT_NEAR(watch.last_minute(at(1000)).rps, 1.0 / 59, 1e-9);  // 59 whole seconds and one just begun
  EXPECT_DOUBLE_EQ(watch.last_minute(at(1000)).mean_latency, 900.0);
}

TEST(Stopwatch, the_ring_comes_round_without_mixing_minutes) {
  Stopwatch watch;
  for (int second = 0; second < 600; ++second) flight(watch, second, second + 0.25);
  EXPECT_DOUBLE_EQ(watch.last_minute(at(599.9)).rps, 4.0);
  EXPECT_DOUBLE_EQ(watch.last_minute(at(599.9)).mean_latency, 0.25);
}

TEST(Stopwatch, a_clock_that_stands_still_or_steps_back_adds_nothing) {
  Stopwatch watch;
  watch.took_off(at(10));
  EXPECT_EQ(watch.busy(at(11)), 1s);
  EXPECT_EQ(watch.busy(at(10.5)), 1s);
  watch.landed(at(11));
  watch.landed(at(12));
  EXPECT_EQ(watch.busy(at(20)), 1s);
}

}  // namespace
}  // namespace penstock::observe
