// SPDX-License-Identifier: Apache-2.0
// What a sliding window keeps, and what it must not do.
#include "flow/sliding_window.h"

#include <gtest/gtest.h>

#include <map>

#include "flow/keeps.h"

namespace penstock::flow {
namespace {

/// At most `max` in any half-open stretch as long as the interval and the guard.
void expect_kept(const std::vector<Left>& left, const SlidingWindowConfig& config) {
  const auto interval = static_cast<double>(config.interval.count()) + 2 * kGuard;
  expect_at_most(left, [&](Instant length) { return length < interval ? config.max : 1e9; });
}

TEST(SlidingWindow, lets_no_more_than_its_max_pass_in_any_stretch_of_its_length) {
  for (int seed = 0; seed < 400; ++seed) {
    Chance chance(seed);
    SlidingWindowConfig config{.max = 20, .interval = 500ms};
    const auto change = [&] {
      config.max = chance.from_to(5, 40);
      config.interval = Duration(chance.from_to(1'000, 800'000));
    };
    SlidingWindow window(config);
    std::vector<SlidingWindowConfig> in_force{config};
    const auto stretches =
        drive(window, chance, {.heaviest = 5, .change = [&] { change(), in_force.push_back(config); }});
    for (std::size_t i = 0; i < stretches.size(); ++i) expect_kept(stretches[i], in_force[i]);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

TEST(SlidingWindow, keeps_that_across_a_change_of_its_max_by_the_looser_one) {
  for (int seed = 0; seed < 200; ++seed) {
    Chance chance(seed);
    SlidingWindowConfig config{.max = 20, .interval = 500ms};
    SlidingWindow window(config);
    const auto stretches =
        drive(window, chance, {.steps = 400, .heaviest = 5, .change = [&] { config.max = chance.from_to(5, 20); }});
    expect_kept(joined(stretches), {.max = 20, .interval = 500ms});
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

TEST(SlidingWindow, a_crowd_uses_all_but_the_guard) {
  const SlidingWindowConfig config{.max = 200, .interval = 500ms};
  SlidingWindow window(config);
  Instant now = kThisYear;
  for (int n = 0; n < 4'000; ++n) leave_as_soon_as_may_be(window, now);
  EXPECT_EQ(window.frontier(1) - kThisYear, 20 * 502 * kOneMs);
}

/// A third of 9 is 3: what comes 3 places later leaves an interval later.
TEST(SlidingWindow, expects_to_go_on_with_its_part_of_the_times) {
  const SlidingWindowConfig config{.max = 9, .interval = 98ms};
  SlidingWindow window(config);
  for (const int at : {0, 10, 50}) window.commit(kThisYear + at * kOneMs, 1);
  const Instant now = kThisYear + 60 * kOneMs;
  EXPECT_EQ(window.expected(now, 0, 1, {}), now) << "alone it has room";
  const OtherProcesses others{.count = 2};
  for (const auto& [units, at] : {std::pair{0, 100}, {1, 110}, {2, 150}, {3, 200}, {5, 250}})
    EXPECT_EQ(window.expected(now, units, 1, others), kThisYear + at * kOneMs) << units;
}

TEST(SlidingWindow, a_departure_before_the_newest_counts_as_late_as_that) {
  const SlidingWindowConfig config{.max = 3, .interval = 100ms};
  SlidingWindow window(config);
  window.commit(kThisYear + 40 * kOneMs, 2);  // booked ahead, by one lane
  window.commit(kThisYear, 1);                // and now by another
  EXPECT_EQ(window.frontier(3), kThisYear + 142 * kOneMs);
}

// Plain removal forgets what the trim has dropped: 0, 10, 20, 30 (dropped), 15 make four within 30.
TEST(SlidingWindow, taking_back_the_newest_makes_no_room_for_one_too_many) {
  const SlidingWindowConfig config{.max = 3, .interval = 28ms};
  SlidingWindow window(config);
  for (const double at : {0.0, 10.0, 20.0, 30.0}) window.commit(kThisYear + at * kOneMs, 1);
  window.give_back(kThisYear + 30 * kOneMs, 1);
  EXPECT_EQ(window.frontier(1), kThisYear + 30 * kOneMs);
}

TEST(SlidingWindow, takes_back_a_weight_whole) {
  const SlidingWindowConfig config{.max = 4, .interval = 100ms};
  SlidingWindow window(config);
  window.commit(kThisYear, 1);
  window.commit(kThisYear + 10 * kOneMs, 3);
  window.give_back(kThisYear + 10 * kOneMs, 3);
  EXPECT_LE(window.frontier(3), kThisYear + 10 * kOneMs);
  EXPECT_EQ(window.frontier(4), kThisYear + 102 * kOneMs);
}

TEST(SlidingWindow, takes_back_the_newest_only) {
  const SlidingWindowConfig config{.max = 2, .interval = 100ms};
  SlidingWindow window(config);
  window.commit(kThisYear, 1);
  window.commit(kThisYear + 10 * kOneMs, 1);
  window.give_back(kThisYear, 1);
  EXPECT_EQ(window.frontier(1), kThisYear + 102 * kOneMs);
}

// ---- who leaves late ------------------------------------------------------------------------------------------------

TEST(SlidingWindow, keeps_its_promise_by_the_times_at_which_they_left) {
  constexpr int kLatest = 400'000;  // told by then, the place of who left so late is not needed yet
  for (int seed = 0; seed < 200; ++seed) {
    Chance chance(seed);
    const SlidingWindowConfig config{.max = 20, .interval = 500ms};
    SlidingWindow window(config);
    std::vector<Left> left;
    std::multimap<Instant, Left> untold;  // by the time at which it leaves
    Instant now = kThisYear;
    for (int step = 0; step < 400; ++step) {
      const int weight = chance.from_to(1, 5);
      now = std::max(now + chance.from_to(0, 20'000), window.frontier(weight) - static_cast<Instant>(kHorizon));
      for (; !untold.empty() && untold.begin()->first <= now; untold.erase(untold.begin())) {
        const auto& [to, booked] = *untold.begin();
        window.moved(booked.at, to, booked.weight);
      }
      window.refresh(now);
      const Instant at = std::max(now, window.frontier(weight));
      if (at > now + static_cast<Instant>(kHorizon)) continue;
      window.commit(at, weight);
      const Instant to = at + (chance.one_in(2) ? 0 : chance.from_to(0, kLatest));
      left.push_back({to, weight});
      untold.emplace(to, Left{at, weight});
    }
    std::ranges::stable_sort(left, {}, &Left::at);
    expect_kept(left, config);
    EXPECT_GT(left.size(), 100u);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

TEST(SlidingWindow, who_leaves_late_costs_no_more_than_that) {
  const SlidingWindowConfig config{.max = 3, .interval = 100ms};
  SlidingWindow window(config);
  window.commit(kThisYear, 3);
  window.moved(kThisYear, kThisYear + 30 * kOneMs, 1);
  EXPECT_EQ(window.frontier(2), kThisYear + 102 * kOneMs);
  EXPECT_EQ(window.frontier(3), kThisYear + 132 * kOneMs);
}

TEST(SlidingWindow, who_was_stored_as_late_as_the_newest_is_found) {
  const SlidingWindowConfig config{.max = 2, .interval = 100ms};
  SlidingWindow window(config);
  window.commit(kThisYear + 4 * kOneMs, 1);
  window.commit(kThisYear, 1);  // as if at 4 ms
  window.moved(kThisYear, kThisYear + 30 * kOneMs, 1);
  EXPECT_EQ(window.frontier(1), kThisYear + 106 * kOneMs);
  EXPECT_EQ(window.frontier(2), kThisYear + 132 * kOneMs);
}

TEST(SlidingWindow, who_was_stored_later_than_it_left_stays) {
  const SlidingWindowConfig config{.max = 1, .interval = 100ms};
  SlidingWindow window(config);
  window.commit(kThisYear + 40 * kOneMs, 1);
  window.moved(kThisYear, kThisYear + 30 * kOneMs, 1);
  EXPECT_EQ(window.frontier(1), kThisYear + 142 * kOneMs);
}

// ---- estimates, and the end -----------------------------------------------------------------------------------------

TEST(SlidingWindow, estimates_come_true) {
  const SlidingWindowConfig config{.max = 4, .interval = 100ms};
  SlidingWindow window(config);
  expect_estimates_come_true(window, kThisYear, 13, 0);
  window.commit(kThisYear + 700 * kOneMs, 2);
  expect_estimates_come_true(window, kThisYear + 750 * kOneMs, 13, 0);
}

TEST(SlidingWindow, may_be_forgotten_an_interval_after_the_newest) {
  const SlidingWindowConfig config{.max = 4, .interval = 100ms};
  SlidingWindow window(config);
  EXPECT_EQ(window.forgettable_at(), kAlways);
  window.commit(kThisYear, 1);
  EXPECT_EQ(window.forgettable_at(), kThisYear + 102 * kOneMs);
}

/// A host that was asked once would be remembered for an hour, where its limit is 3600 an hour.
TEST(SlidingWindow, beside_a_pacer_may_be_forgotten_when_that_was_idle) {
  const SlidingWindowConfig hour{.max = 3600, .interval = 1h, .beside_pacer = true}, second{5, 1s, true};
  SlidingWindow of_hour(hour), of_second(second);
  of_hour.commit(kThisYear, 1), of_second.commit(kThisYear, 1);
  EXPECT_NEAR(of_hour.forgettable_at(), kThisYear + 7'000 * kOneMs, 2);
  EXPECT_EQ(of_second.forgettable_at(), kThisYear + 1'002 * kOneMs);
}

}  // namespace
}  // namespace penstock::flow
