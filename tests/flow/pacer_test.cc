// SPDX-License-Identifier: Apache-2.0
// What a pacer keeps, and what it must not do.
#include "flow/pacer.h"

#include <gtest/gtest.h>

#include "flow/keeps.h"

namespace penstock::flow {
namespace {

TEST(Pacer, in_any_stretch_of_time_lets_no_more_pass_than_rate_burst_and_one_weight) {
  for (int seed = 0; seed < 400; ++seed) {
    Chance chance(seed);
    PacerConfig config{.qps = 50};
    const auto change = [&] {
      config.qps = chance.from_to(20, 20'000) / 7.0;
      config.max_burst = chance.one_in(2) ? 0 : chance.from_to(1, 20);
      config.burst_allowance_factor = chance.from_to(1, 10) / 10.0;
    };
    change();
    Pacer pacer(config);
    std::vector<PacerConfig> in_force{config};
    const Drive how{.heaviest = chance.from_to(1, 5), .change = [&] { change(), in_force.push_back(config); }};
    const auto stretches = drive(pacer, chance, how);
    for (std::size_t i = 0; i < stretches.size(); ++i) {
      expect_at_most(stretches[i], [&](Instant length) {
        const PacerConfig& was = in_force[i];
        // Times are rounded to whole microseconds, and a little at each step.
        return was.qps * (length + 2) / kOneSecond + was.max_burst + how.heaviest;
      });
      ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
    }
  }
}

TEST(Pacer, without_burst_keeps_any_two_departures_apart) {
  Chance chance(1);
  const PacerConfig config{.qps = 300};
  Pacer pacer(config);
  const auto left = joined(drive(pacer, chance, {.steps = 5'000}));
  ASSERT_GT(left.size(), 1'000u);
  for (std::size_t i = 1; i < left.size(); ++i) ASSERT_GE(left[i].at - left[i - 1].at, kOneSecond / 300 - 1);
}

// The model cut rates to a tenth of a millisecond: 3 000 became 3 333, 7 000 became 10 000, and 20 000 was no limit.
TEST(Pacer, rates_are_not_quantised) {
  for (const double qps : {100.0, 3'000.0, 7'000.0, 30'000.0, 100'000.0}) {
    const PacerConfig config{.qps = qps};
    Pacer pacer(config);
    Instant now = kThisYear;
    for (int n = 0; n < 50'000; ++n) leave_as_soon_as_may_be(pacer, now);
    const Instant took = pacer.frontier(1) - kThisYear;
    EXPECT_NEAR(50'000 / took * kOneSecond / qps, 1, 0.001) << qps;
  }
}

TEST(Pacer, does_not_earn_burst_while_busy) {
  const PacerConfig config{.qps = 100, .max_burst = 10, .burst_allowance_factor = 1};
  Pacer pacer(config);
  EXPECT_EQ(leave_at_once(pacer, kThisYear), 11) << "the burst, and one that the idle pacer owes nobody";
  Instant now = kThisYear;
  for (int n = 0; n < 1'000; ++n) now = leave_as_soon_as_may_be(pacer, now);
  EXPECT_EQ(leave_at_once(pacer, now + 10'000), 1);
}

TEST(Pacer, charges_a_weight_that_crosses_the_burst_line_once) {
  const PacerConfig config{.qps = 10, .max_burst = 3};
  Pacer pacer(config);
  pacer.commit(kThisYear, 5);
  EXPECT_EQ(pacer.frontier(1), kThisYear + 0.2 * kOneSecond) << "3 fill the bucket, 2 are paced";
}

TEST(Pacer, earns_its_burst_back_at_the_rate_of_the_factor) {
  for (const double factor : {0.1, 0.5, 1.0}) {
    const PacerConfig config{.qps = 100, .max_burst = 10, .burst_allowance_factor = factor};
    Pacer pacer(config);
    leave_at_once(pacer, kThisYear);
    const Instant idle_for = 0.05 * kOneSecond / factor;  // 5 of 10
    EXPECT_EQ(leave_at_once(pacer, pacer.frontier(1) + idle_for + 1), 6) << factor;
  }
}

TEST(Pacer, estimates_come_true) {
  const PacerConfig plain{.qps = 300};
  Pacer pacer(plain);
  expect_estimates_come_true(pacer, kThisYear, 50, 1);
  expect_estimates_come_true(pacer, kThisYear + 1'000, 50, 1);
}

TEST(Pacer, estimates_count_the_burst_that_is_left) {
  const PacerConfig config{.qps = 100, .max_burst = 10};
  Pacer pacer(config);
  for (int n = 0; n < 4; ++n) pacer.commit(kThisYear, 1);
  EXPECT_EQ(pacer.ahead(kThisYear, 5), kThisYear);
  EXPECT_EQ(pacer.ahead(kThisYear, 16), kThisYear + 100'000) << "10 beyond the burst";
}

TEST(Pacer, may_be_forgotten_when_it_has_earned_everything_back) {
  const PacerConfig config{.qps = 10, .max_burst = 3};
  Pacer pacer(config);
  EXPECT_EQ(pacer.forgettable_at(), kAlways);
  leave_at_once(pacer, kThisYear);
  const Instant then = pacer.forgettable_at();
  EXPECT_EQ(then, kThisYear + 0.1 * kOneSecond + 0.6 * kOneSecond);
  EXPECT_EQ(leave_at_once(pacer, then), 4);
}

}  // namespace
}  // namespace penstock::flow
