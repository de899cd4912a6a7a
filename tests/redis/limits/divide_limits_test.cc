// SPDX-License-Identifier: Apache-2.0
// Limits divided by the processes that are left to themselves.
#include "redis/limits/divide_limits.h"

#include <gtest/gtest.h>

namespace penstock::redis {
namespace {

template <typename Kind>
Kind share_of(Kind kind, int processes) {
  return std::get<Kind>(shares_of({LimitConfig{.kind = kind}}, processes)[0].kind);
}

TEST(Share, of_a_rate_is_exact_and_of_its_burst_rounded_down) {
  EXPECT_EQ(share_of(PacerConfig{.qps = 400, .max_burst = 10}, 4), (PacerConfig{.qps = 100, .max_burst = 2}));
  EXPECT_DOUBLE_EQ(share_of(PacerConfig{.qps = 400}, 3).qps, 400.0 / 3);
  EXPECT_EQ(share_of(PacerConfig{.qps = 1, .max_burst = 1, .burst_allowance_factor = 0.25}, 2),
            (PacerConfig{.qps = 0.5, .max_burst = 0, .burst_allowance_factor = 0.25}));
}

TEST(Share, of_a_count_is_rounded_down) {
  EXPECT_EQ(share_of(WindowConfig{.reservoir = 200, .interval = 500ms}, 3).reservoir, 66);
  EXPECT_EQ(share_of(WindowConfig{.reservoir = 200, .interval = 500ms}, 3).interval, Duration(500ms));
  EXPECT_EQ(share_of(SlidingWindowConfig{.max = 3, .interval = 1s}, 3),
            (SlidingWindowConfig{.max = 1, .interval = 1s}));
  EXPECT_EQ(share_of(CounterConfig{.max = 7, .period = 1min}, 2), (CounterConfig{.max = 3, .period = 1min}));
  EXPECT_GT(share_of(SemaphoreConfig{.capacity = 5}, 3).capacity, 1'000'000) << "those count that are held";
}

TEST(Share, of_a_count_that_is_too_small_is_one_in_a_longer_time) {
  EXPECT_EQ(share_of(WindowConfig{.reservoir = 1, .interval = 1min, .spread = true}, 3),
            (WindowConfig{.reservoir = 1, .interval = 3min, .spread = true}));
  EXPECT_EQ(share_of(SlidingWindowConfig{.max = 2, .interval = 1s}, 5),
            (SlidingWindowConfig{.max = 1, .interval = 3s}));
  EXPECT_EQ(share_of(CounterConfig{.max = 1, .period = 1h}, 16), (CounterConfig{.max = 1, .period = 16h}));
}

TEST(Share, of_a_window_beside_a_pacer_lets_as_many_pass_as_the_share_of_that) {
  const auto shares = shares_of(limits_of({5, 1s}), 3);
  EXPECT_DOUBLE_EQ(std::get<PacerConfig>(shares[0].kind).qps, 5 / (3 * 1.022));
  EXPECT_EQ(shares[1].kind, (LimitConfig::Kind{SlidingWindowConfig{5, 3059700us, true}})) << "not 1 in any second";
}

TEST(Share, of_a_bucket_is_refilled_at_the_exact_rate) {
  const auto third = share_of(TokenBucketConfig{.capacity = 200, .refill_amount = 200, .refill_frequency = 500ms}, 3);
  EXPECT_EQ(third, (TokenBucketConfig{.capacity = 66, .refill_amount = 66, .refill_frequency = 495ms}));
  EXPECT_EQ(share_of(TokenBucketConfig{.capacity = 1, .refill_amount = 1, .refill_frequency = 2500us}, 3),
            (TokenBucketConfig{.capacity = 1, .refill_amount = 1, .refill_frequency = 7500us}));
  EXPECT_EQ(share_of(TokenBucketConfig{.capacity = 100, .refill_amount = 3, .refill_frequency = 1s}, 4),
            (TokenBucketConfig{.capacity = 25, .refill_amount = 1, .refill_frequency = 1'333'334us}));
}

TEST(Share, of_a_rate_that_is_learned_has_both_bounds_divided) {
  EXPECT_EQ(share_of(AdaptiveConfig{.min = 2, .max = 60}, 4), (AdaptiveConfig{.min = 0.5, .max = 15}));
}

TEST(Share, of_one_process_is_everything) {
  const PacerConfig pacer{.qps = 3, .max_burst = 3};
  EXPECT_EQ(share_of(pacer, 1), pacer);
  EXPECT_EQ(share_of(pacer, 0), pacer);
}

TEST(Share, leaves_alone_what_every_process_has_for_itself) {
  const std::vector<LimitConfig> limits{{.kind = PacerConfig{.qps = 10}, .shared = false}};
  EXPECT_EQ(shares_of(limits, 5), limits);
}

TEST(Share, of_permits_is_what_whenDown_leaves) {
  EXPECT_EQ(permits_alone({.capacity = 7}, WhenDown::share, 3), 2);
  EXPECT_EQ(permits_alone({.capacity = 2}, WhenDown::share, 3), 0);
  EXPECT_GT(permits_alone({.capacity = 2}, WhenDown::open, 3), 1'000'000);
  EXPECT_EQ(permits_alone({.capacity = 7}, WhenDown::wait, 1), 0);
  EXPECT_EQ(permits_alone({.capacity = 7}, WhenDown::refuse, 1), 0);
}

}  // namespace
}  // namespace penstock::redis
