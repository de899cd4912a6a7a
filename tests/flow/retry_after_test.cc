// SPDX-License-Identifier: Apache-2.0
// The honest estimate: waiting ahead ÷ (max_concurrent ÷ mean flight of the last minute), in whole seconds, 1 to 3600.
#include "flow/yard.h"

namespace penstock::flow {
namespace {

/// `flights` requests that fly for `each`, one after the other; then the upstream is empty.
void fly(Yard& yard, int flights, Time each) {
  for (int i = 0; i < flights; ++i) {
    yard.arrive(1'000'000);
    yard.now += each;
    yard.land(1'000'000);
  }
}

void fill(Yard& yard, RequestId count) {
  for (RequestId id = 1; id <= count; ++id) yard.arrive(id);
}

TEST(RetryAfter, is_a_second_when_nobody_waits) {
  Yard yard({.max_concurrent = 1});
  EXPECT_EQ(yard.upstream.retry_after(yard.now), 1);
  fly(yard, 1, 50 * kSecond);
  fill(yard, 1);
  EXPECT_EQ(yard.upstream.retry_after(yard.now), 1);
}

TEST(RetryAfter, assumes_flights_of_a_second_before_any_has_landed) {
  Yard yard({.max_concurrent = 4});
  fill(yard, 4 + 10);
  EXPECT_EQ(yard.upstream.retry_after(yard.now), 3);  // 10 ÷ 4, rounded up
}

TEST(RetryAfter, reckons_with_the_mean_flight) {
  Yard yard({.max_concurrent = 2});
  fly(yard, 2, 300 * kMs);
  fly(yard, 1, 900 * kMs);  // the mean is 500 ms
  fill(yard, 2 + 9);
  EXPECT_EQ(yard.upstream.retry_after(yard.now), 3);  // 9 × 0.5 ÷ 2 = 2.25
  yard.leave(11);
  EXPECT_EQ(yard.upstream.retry_after(yard.now), 2);  // 8 × 0.5 ÷ 2 = 2
}

TEST(RetryAfter, forgets_flights_of_more_than_a_minute_ago) {
  Yard yard({.max_concurrent = 1});
  fly(yard, 3, 10 * kSecond);
  yard.now += 61 * kSecond;
  fly(yard, 1, 2 * kSecond);
  fill(yard, 1 + 5);
  EXPECT_EQ(yard.upstream.retry_after(yard.now), 10);
}

TEST(RetryAfter, is_an_hour_at_most) {
  Yard yard({.max_concurrent = 1});
  fly(yard, 1, 50 * kSecond);
  fill(yard, 1 + 100);
  EXPECT_EQ(yard.upstream.retry_after(yard.now), 3600);
}

TEST(RetryAfter, stands_in_a_refusal_and_does_not_count_the_refused) {
  Yard yard({.max_concurrent = 1, .max_pending = 3, .max_wait = kSecond});
  fly(yard, 1, 4 * kSecond);
  fill(yard, 1 + 3 + 1);
  EXPECT_EQ(yard.refusals.at(5).retry_after, 12);
  yard.advance_to(yard.now + kSecond);
  EXPECT_EQ(yard.refusals.at(2).retry_after, 8);
  EXPECT_EQ(yard.refusals.at(3).retry_after, 4);
  EXPECT_EQ(yard.refusals.at(4).retry_after, 1);
}

}  // namespace
}  // namespace penstock::flow
