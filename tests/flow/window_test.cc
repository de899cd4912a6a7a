// SPDX-License-Identifier: Apache-2.0
// What a window keeps, and what it must not do.
#include "flow/window.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "flow/keeps.h"

namespace penstock::flow {
namespace {

using std::chrono::microseconds;

/// The number of its window, for an interval that divides an hour.
double window_of(Instant at, Duration interval) {
  return std::floor((at - kThisYear) / static_cast<double>(interval.count()));
}

void expect_at_most_in_a_window(const std::vector<Left>& left, const WindowConfig& config) {
  std::map<double, int> units;
  for (const Left& departure : left) units[window_of(departure.at, config.interval)] += departure.weight;
  for (const auto& [number, count] : units) ASSERT_LE(count, config.reservoir) << "in window " << number;
}

void keeps_its_promise(bool spread, bool other_intervals) {
  for (int seed = 0; seed < 200; ++seed) {
    Chance chance(seed);
    WindowConfig config{.reservoir = 20, .interval = 1s, .spread = spread};
    const auto change = [&] {
      config.reservoir = chance.from_to(5, 40);
      if (other_intervals) config.interval = std::vector<Duration>{5ms, 100ms, 500ms, 1s, 60s}[chance.from_to(0, 4)];
    };
    change();
    Window window(config);
    std::vector<WindowConfig> in_force{config};
    const auto stretches =
        drive(window, chance, {.heaviest = 5, .change = [&] { change(), in_force.push_back(config); }});
    for (std::size_t i = 0; i < stretches.size(); ++i) expect_at_most_in_a_window(stretches[i], in_force[i]);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

TEST(Window, lets_no_more_than_its_reservoir_pass_in_any_window) { keeps_its_promise(false, false); }
TEST(Window, keeps_that_when_the_interval_changes) { keeps_its_promise(false, true); }
TEST(Window, keeps_that_when_departures_are_spread) { keeps_its_promise(true, true); }

TEST(Window, keeps_departures_a_millisecond_off_every_edge) {
  Chance chance(1);
  const WindowConfig config{.reservoir = 10, .interval = 100ms};
  Window window(config);
  const auto left = joined(drive(window, chance, {.steps = 5'000}));
  ASSERT_GT(left.size(), 1'000u);
  for (const Left& departure : left) {
    const double phase = std::fmod(departure.at - kThisYear, 100'000);
    ASSERT_TRUE(phase >= 1'000 && phase <= 99'000) << phase;
  }
}

TEST(Window, a_crowd_uses_every_window_whole) {
  const WindowConfig config{.reservoir = 200, .interval = 500ms};
  Window window(config);
  std::map<double, int> units;
  Instant now = kThisYear + 123'456;
  for (int n = 0; n < 4'000; ++n) ++units[window_of(leave_as_soon_as_may_be(window, now), 500ms)];
  ASSERT_EQ(units.size(), 20u);
  for (const auto& [number, count] : units) EXPECT_EQ(count, 200) << number;
}

TEST(Window, the_kth_that_waits_leaves_in_the_window_that_was_estimated) {
  const WindowConfig config{.reservoir = 3, .interval = 1s};
  Window window(config);
  expect_estimates_come_true(window, kThisYear + 200'000, 10, kGuard);
  expect_estimates_come_true(window, kThisYear + 7'300'000, 10, kGuard);
}

TEST(Window, estimates_of_spread_departures_come_true) {
  const WindowConfig config{.reservoir = 4, .interval = 1s, .spread = true};
  Window window(config);
  expect_estimates_come_true(window, kThisYear + 2'000, 10, kGuard);
}

// The model kept the number of the window: an interval that changed from an hour to a second closed it for years.
TEST(Window, an_interval_that_changes_closes_it_for_no_longer_than_the_horizon_and_a_window) {
  WindowConfig config{.reservoir = 1, .interval = 3'600s};
  Window window(config);
  window.commit(kThisYear + 5'000, 1);
  config.interval = 1s;
  const Instant now = kThisYear + 60'500'000;
  window.refresh(now);
  EXPECT_LE(window.frontier(1), now + 1'050'000);
}

TEST(Window, a_longer_interval_counts_what_has_left_in_the_window_that_is_open) {
  WindowConfig config{.reservoir = 2, .interval = 1s};
  Window window(config);
  window.commit(kThisYear + 60'300'000, 2);
  config.interval = 60s;
  window.refresh(kThisYear + 60'400'000);
  EXPECT_EQ(window.frontier(1), kThisYear + 120'000'000);
}

TEST(Window, does_not_take_back_what_left_in_another_window) {
  const WindowConfig config{.reservoir = 2, .interval = 1s};
  Window window(config);
  window.commit(kThisYear + 500'000, 1);
  window.commit(kThisYear + 1'500'000, 2);
  window.give_back(kThisYear + 500'000, 1);
  EXPECT_EQ(window.frontier(1), kThisYear + 2'000'000);
}

TEST(Window, who_leaves_over_the_edge_counts_in_the_window_beyond_too) {
  const WindowConfig config{.reservoir = 2, .interval = 1s};
  Window window(config);
  window.commit(kThisYear + 998'000, 1);
  window.moved(kThisYear + 998'000, kThisYear + 1'005'000, 1);
  EXPECT_LE(window.frontier(1), kThisYear + 1'005'000);
  EXPECT_EQ(window.frontier(2), kThisYear + 2'000'000);
}

TEST(Window, who_leaves_late_in_its_window_counts_once) {
  const WindowConfig config{.reservoir = 2, .interval = 1s};
  Window window(config);
  window.commit(kThisYear + 100'000, 1);
  window.moved(kThisYear + 100'000, kThisYear + 900'000, 1);
  EXPECT_LE(window.frontier(1), kThisYear + 900'000);
}

TEST(Window, who_left_in_a_window_that_is_over_is_forgotten) {
  const WindowConfig config{.reservoir = 2, .interval = 1s};
  Window window(config);
  window.commit(kThisYear + 998'000, 1);
  window.commit(kThisYear + 2'100'000, 1);
  window.moved(kThisYear + 998'000, kThisYear + 1'005'000, 1);
  EXPECT_LE(window.frontier(1), kThisYear + 2'100'000);
}

/// Its first departure may have been of the window before. What counts is when the next may leave.
TEST(Window, stays_with_its_latest_departure_when_the_clock_is_corrected) {
  const WindowConfig config{.reservoir = 2, .interval = 60s};
  Window window(config);
  window.commit(kThisYear + 30'000'000, 1);
  window.commit(kThisYear + 50'000'000, 1);
  for (const Instant by : {1.0, 4'000.0, -9'000.0, 9'000'000.0, -48'000'000.0}) {
    window.shift(by);
    EXPECT_EQ(window.frontier(1), kThisYear + 60'000'000) << by;
  }
  window.shift(70'000'000);
  EXPECT_EQ(window.frontier(1), kThisYear + 120'000'000);
}

TEST(Window, may_be_forgotten_when_it_has_closed) {
  const WindowConfig config{.reservoir = 2, .interval = 1s};
  Window window(config);
  EXPECT_EQ(window.forgettable_at(), kAlways);
  window.commit(kThisYear + 300'000, 2);
  EXPECT_EQ(window.forgettable_at(), kThisYear + 1'000'000);
}

}  // namespace
}  // namespace penstock::flow
