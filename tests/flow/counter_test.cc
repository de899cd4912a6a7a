// SPDX-License-Identifier: Apache-2.0
// What a counter keeps, and what it must not do.
#include "flow/counter.h"

#include <gtest/gtest.h>

#include "flow/keeps.h"

namespace penstock::flow {
namespace {

/// The resets of a counter, as they are seen from outside.
class CounterResets {
 public:
  CounterResets(const Counter& counter, const CounterConfig& config) : counter_(counter), config_(config) {}
  void watch() {
    const Instant reset = counter_.reset_at() - static_cast<Instant>(config_.period.count());
    if (counter_.reset_at() == kNever || (!at_.empty() && at_.back() == reset)) return;
    at_.push_back(reset);
  }
  void expect_apart(Instant least) const {
    for (std::size_t i = 1; i < at_.size(); ++i) ASSERT_GE(at_[i] - at_[i - 1], least);
  }
  /// What left after the reset at `from` and no later than the next.
  void expect_at_most(int max, const std::vector<Left>& left) const {
    for (std::size_t i = 0; i < at_.size(); ++i) {
      int units = 0;
      for (const Left& departure : left) {
        const bool here = departure.at > at_[i] && (i + 1 == at_.size() || departure.at <= at_[i + 1]);
        if (here) units += departure.weight;
      }
      ASSERT_LE(units, max) << "after the reset at " << at_[i] - kThisYear;
    }
  }

 private:
  const Counter& counter_;
  const CounterConfig& config_;
  std::vector<Instant> at_;
};

TEST(Counter, lets_no_more_than_its_max_pass_between_two_resets) {
  for (int seed = 0; seed < 400; ++seed) {
    Chance chance(seed);
    CounterConfig config{.max = 20, .period = Duration(chance.from_to(60'000, 900'000))};
    Counter counter(config);
    CounterResets resets(counter, config);
    Drive how{.heaviest = 5, .change = [&] { config.max = chance.from_to(5, 20); }};
    how.watch = [&](Instant) { resets.watch(); };
    const std::vector<Left> all = joined(drive(counter, chance, how));
    resets.watch();
    resets.expect_at_most(20, all);
    resets.expect_apart(static_cast<Instant>(config.period.count()));
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

TEST(Counter, a_crowd_uses_every_period_whole) {
  const CounterConfig config{.max = 200, .period = 500ms};
  Counter counter(config);
  Instant now = kThisYear;
  for (int n = 0; n < 4'000; ++n) {
    EXPECT_EQ(leave_as_soon_as_may_be(counter, now), kThisYear + n / 200 * 500 * kOneMs);
  }
}

TEST(Counter, books_nothing_before_the_reset_that_it_needs) {
  const CounterConfig config{.max = 2, .period = 100ms};
  Counter counter(config);
  counter.commit(kThisYear, 2);
  EXPECT_EQ(counter.frontier(1), kNever);
  EXPECT_EQ(counter.reset_at(), kThisYear + 99 * kOneMs);
  counter.refresh(kThisYear + 99 * kOneMs);
  EXPECT_EQ(counter.frontier(1), kThisYear + 100 * kOneMs);
}

// Departures that are booked before a reset leave after it: with the reset at its due moment both would leave together.
TEST(Counter, resets_after_the_latest_departure_that_is_booked) {
  const CounterConfig config{.max = 2, .period = 100ms};
  Counter counter(config);
  counter.commit(kThisYear, 1);
  counter.commit(kThisYear + 130 * kOneMs, 1);
  counter.refresh(kThisYear + 99 * kOneMs);
  EXPECT_EQ(counter.frontier(1), kThisYear + 131 * kOneMs);
  EXPECT_EQ(counter.reset_at(), kThisYear + 230 * kOneMs);
}

TEST(Counter, catches_up_with_one_reset_after_a_gap) {
  const CounterConfig config{.max = 2, .period = 100ms};
  Counter counter(config);
  leave_at_once(counter, kThisYear);
  EXPECT_EQ(leave_at_once(counter, kThisYear + 950 * kOneMs), 2);
  EXPECT_EQ(counter.reset_at(), kThisYear + 999 * kOneMs) << "as if it had been reset all the time";
}

TEST(Counter, takes_nothing_back_that_left_before_the_reset) {
  const CounterConfig config{.max = 2, .period = 100ms};
  Counter counter(config);
  counter.commit(kThisYear, 2);
  counter.refresh(kThisYear + 100 * kOneMs);
  counter.commit(kThisYear + 100 * kOneMs, 2);
  counter.give_back(kThisYear, 1);
  EXPECT_EQ(counter.frontier(1), kNever);
  counter.give_back(kThisYear + 100 * kOneMs, 1);
  EXPECT_LE(counter.frontier(1), kThisYear + 100 * kOneMs);
}

TEST(Counter, estimates_come_true) {
  const CounterConfig config{.max = 3, .period = 100ms};
  Counter counter(config);
  expect_estimates_come_true(counter, kThisYear, 10, 0);
  expect_estimates_come_true(counter, kThisYear + 5'050 * kOneMs, 10, 0);
}

TEST(Counter, may_be_forgotten_when_a_reset_is_due) {
  const CounterConfig config{.max = 3, .period = 100ms};
  Counter counter(config);
  EXPECT_EQ(counter.forgettable_at(), kAlways);
  counter.commit(kThisYear, 1);
  EXPECT_EQ(counter.forgettable_at(), kThisYear + 99 * kOneMs);
  counter.commit(kThisYear + 130 * kOneMs, 1);
  EXPECT_EQ(counter.forgettable_at(), kThisYear + 130 * kOneMs);
}

}  // namespace
}  // namespace penstock::flow
