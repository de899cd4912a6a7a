// SPDX-License-Identifier: Apache-2.0
// What a token bucket keeps, and what it must not do.
#include "flow/token_bucket.h"

#include <gtest/gtest.h>

#include <cmath>

#include "flow/keeps.h"

namespace penstock::flow {
namespace {

TEST(TokenBucket, in_any_stretch_of_time_lets_no_more_pass_than_it_holds_and_the_refills_bring) {
  for (int seed = 0; seed < 400; ++seed) {
    Chance chance(seed);
    TokenBucketConfig config{.capacity = 10, .refill_amount = 3, .refill_frequency = 100ms};
    const auto change = [&] {
      config.capacity = chance.from_to(5, 40);
      config.refill_amount = chance.from_to(1, 50);
      config.refill_frequency = Duration(chance.from_to(1'000, 800'000));
    };
    TokenBucket bucket(config);
    std::vector<TokenBucketConfig> in_force{config};
    const auto stretches =
        drive(bucket, chance, {.heaviest = 5, .change = [&] { change(), in_force.push_back(config); }});
    for (std::size_t i = 0; i < stretches.size(); ++i) {
      const TokenBucketConfig& was = in_force[i];
      const auto period = static_cast<double>(was.refill_frequency.count());
      // A stretch that holds both its ends is ever so little longer than the time between them.
      expect_at_most(stretches[i], [&](Instant length) {
        return was.capacity + was.refill_amount * (std::floor((length + 1) / period) + 1);
      });
    }
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

TEST(TokenBucket, a_crowd_uses_every_refill_whole) {
  for (const int amount : {1, 7, 200}) {
    const TokenBucketConfig config{.capacity = 200, .refill_amount = amount, .refill_frequency = 10ms};
    TokenBucket bucket(config);
    Instant now = kThisYear;
    for (int n = 0; n < 200 + 100 * amount; ++n) leave_as_soon_as_may_be(bucket, now);
    EXPECT_EQ(bucket.frontier(1), kThisYear + 101 * 10'000) << amount;
  }
}

// A sign error of the model subtracted the idle time: capacity 100, 10/s, 5 s idle gave 3 at once instead of 50, and a
// capacity of 1 gave 9.
TEST(TokenBucket, refills_while_idle_what_the_time_brings_and_no_more_than_the_capacity) {
  const TokenBucketConfig hundred{.capacity = 100, .refill_amount = 1, .refill_frequency = 100ms};
  TokenBucket bucket(hundred);
  EXPECT_EQ(leave_at_once(bucket, kThisYear), 100);
  EXPECT_EQ(leave_at_once(bucket, kThisYear + 5 * kOneSecond), 50);
  EXPECT_EQ(leave_at_once(bucket, kThisYear + 500 * kOneSecond), 100);

  const TokenBucketConfig one{.capacity = 1, .refill_amount = 1, .refill_frequency = 100ms};
  TokenBucket small(one);
  EXPECT_EQ(leave_at_once(small, kThisYear), 1);
  EXPECT_EQ(leave_at_once(small, kThisYear + 900'000), 1);
}

TEST(TokenBucket, the_first_does_not_wait_for_a_refill) {
  const TokenBucketConfig config{.capacity = 1, .refill_amount = 1, .refill_frequency = 3'600s};
  TokenBucket bucket(config);
  EXPECT_LE(bucket.frontier(1), kThisYear);
}

// The model forgot its key after 30 s, with slots booked beyond it, and booked them again.
TEST(TokenBucket, may_be_forgotten_when_it_is_full_again_and_not_sooner) {
  const TokenBucketConfig config{.capacity = 10, .refill_amount = 2, .refill_frequency = 60s};
  TokenBucket bucket(config);
  EXPECT_EQ(bucket.forgettable_at(), kAlways);
  leave_at_once(bucket, kThisYear);
  EXPECT_EQ(bucket.forgettable_at(), kThisYear + 300 * kOneSecond);
  EXPECT_EQ(leave_at_once(bucket, bucket.forgettable_at()), 10);
}

TEST(TokenBucket, takes_a_token_back_only_where_no_refill_has_come_in_between) {
  const TokenBucketConfig config{.capacity = 2, .refill_amount = 2, .refill_frequency = 1s};
  TokenBucket bucket(config);
  bucket.commit(kThisYear, 2);
  bucket.give_back(kThisYear, 1);
  EXPECT_LE(bucket.frontier(1), kThisYear);
  bucket.commit(kThisYear + kOneSecond, 2);
  bucket.give_back(kThisYear, 1);
  EXPECT_EQ(bucket.frontier(1), kThisYear + 2 * kOneSecond) << "the refill had made it full anyway";
}

TEST(TokenBucket, estimates_come_true) {
  const TokenBucketConfig config{.capacity = 4, .refill_amount = 3, .refill_frequency = 100ms};
  TokenBucket bucket(config);
  expect_estimates_come_true(bucket, kThisYear, 20, 0);
  expect_estimates_come_true(bucket, kThisYear + 800'000, 20, 0);
}

TEST(TokenBucket, estimates_know_that_a_refill_beyond_the_capacity_is_lost) {
  const TokenBucketConfig config{.capacity = 2, .refill_amount = 5, .refill_frequency = 100ms};
  TokenBucket bucket(config);
  expect_estimates_come_true(bucket, kThisYear, 9, 0);
}

}  // namespace
}  // namespace penstock::flow
