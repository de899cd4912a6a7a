// SPDX-License-Identifier: Apache-2.0
// When to come again: by waiting ahead ÷ (max_concurrent ÷ mean flight of the last minute), an estimate in whole
// seconds, or by the limits, to the microsecond. A week at most.
#include "flow/local_limiter.h"
#include "flow/scheduler_fixture.h"

namespace penstock::flow {
namespace {

/// `flights` requests that fly for `each`, one after the other; then the upstream is empty.
void fly(SchedulerFixture& yard, int flights, Time each) {
  for (int i = 0; i < flights; ++i) {
    yard.arrive(1'000'000);
    yard.now += each;
    yard.land(1'000'000);
  }
}

void fill(SchedulerFixture& yard, RequestId count) {
  for (RequestId id = 1; id <= count; ++id) yard.arrive(id);
}

TEST(RetryAfter, is_a_second_when_nobody_waits_and_a_slot_is_free) {
  SchedulerFixture yard({.max_concurrent = 2});
  EXPECT_EQ(yard.upstream.retry_after(yard.now), kSecond);
  fly(yard, 1, 50 * kSecond);
  fill(yard, 1);
  EXPECT_EQ(yard.upstream.retry_after(yard.now), kSecond);
}

TEST(RetryAfter, is_the_time_to_the_next_free_slot_when_nobody_waits_and_none_is) {
  SchedulerFixture yard({.max_concurrent = 2});
  fly(yard, 1, 50 * kSecond);
  fill(yard, 2);
  EXPECT_EQ(yard.upstream.retry_after(yard.now), 25 * kSecond);
}

TEST(RetryAfter, assumes_flights_of_a_second_before_any_has_landed) {
  SchedulerFixture yard({.max_concurrent = 4});
  fill(yard, 4 + 10);
  EXPECT_EQ(yard.upstream.retry_after(yard.now), 3 * kSecond);  // 10 ÷ 4, rounded up
}

TEST(RetryAfter, reckons_with_the_mean_flight) {
  SchedulerFixture yard({.max_concurrent = 2});
  fly(yard, 2, 300 * kMs);
  fly(yard, 1, 900 * kMs);  // the mean is 500 ms
  fill(yard, 2 + 9);
  EXPECT_EQ(yard.upstream.retry_after(yard.now), 3 * kSecond);  // 9 × 0.5 ÷ 2 = 2.25
  yard.cancel(11);
  EXPECT_EQ(yard.upstream.retry_after(yard.now), 2 * kSecond);  // 8 × 0.5 ÷ 2 = 2
}

TEST(RetryAfter, forgets_flights_of_more_than_a_minute_ago) {
  SchedulerFixture yard({.max_concurrent = 1});
  fly(yard, 3, 10 * kSecond);
  yard.now += 61 * kSecond;
  fly(yard, 1, 2 * kSecond);
  fill(yard, 1 + 5);
  EXPECT_EQ(yard.upstream.retry_after(yard.now), 10 * kSecond);
}

TEST(RetryAfter, is_the_truth_where_it_is_long) {
  SchedulerFixture yard({.max_concurrent = 1});
  fly(yard, 1, 50 * kSecond);
  fill(yard, 1 + 100);
  EXPECT_EQ(yard.upstream.retry_after(yard.now), 5'000 * kSecond);
}

TEST(RetryAfter, is_a_week_at_most) {
  SlowLimiter limiter;
  limiter.pace = 8 * 86'400 * kSecond;
  SchedulerFixture yard({.max_wait = kLongestRetry * 2}, limiter);
  yard.arrive(1);
  yard.answer(turn(Booking::Scope::upstream, yard.now + kSecond));
  EXPECT_EQ(yard.upstream.retry_after(yard.now), kLongestRetry);
}

TEST(RetryAfter, stands_in_a_refusal_and_does_not_count_the_refused) {
  SchedulerFixture yard({.max_concurrent = 1, .max_pending = 3, .max_wait = kSecond});
  fly(yard, 1, 4 * kSecond);
  fill(yard, 1 + 3 + 1);
  EXPECT_EQ(yard.refusals.at(5).retry_after, 12 * kSecond);
  yard.advance_to(yard.now + kSecond);
  EXPECT_EQ(yard.refusals.at(2).retry_after, 10 * kSecond) << "2 × (4 s that landed + 1 s in flight)";
  EXPECT_EQ(yard.refusals.at(3).retry_after, 5 * kSecond);
  EXPECT_EQ(yard.refusals.at(4).retry_after, 5 * kSecond) << "the slot is taken";
}

TEST(RetryAfter, of_a_limit_is_exact) {
  LocalLimiter limiter({{.kind = CounterConfig{.max = 1, .period = 90min}, .mode = LimitConfig::Mode::refuse}}, 0);
  SchedulerFixture yard({}, limiter);
  EXPECT_EQ(yard.arrive(1), Ids{1});
  yard.now += 1'500 * kMs;
  yard.arrive(2);
  yard.now += 500 * kMs;
  yard.arrive(3);  // by what the second was told, without asking
  EXPECT_EQ(yard.refusals.at(2).why, Refused::limited);
  EXPECT_EQ(yard.refusals.at(2).retry_after, 5'400 * kSecond - 1'500 * kMs);
  EXPECT_EQ(yard.refusals.at(3).retry_after, 5'400 * kSecond - 2'000 * kMs);
}

TEST(RetryAfter, of_a_heavy_request_is_when_all_its_units_are_allowed) {
  LocalLimiter limiter({{.kind = SlidingWindowConfig{.max = 5, .interval = 60s}, .mode = LimitConfig::Mode::refuse}},
                       0);
  SchedulerFixture yard({}, limiter);
  for (RequestId id = 1; id <= 3; ++id) {
    yard.arrive(id);
    yard.now += kSecond;
  }
  yard.arrive({.id = 4, .weight = 3});
  EXPECT_EQ(yard.refusals.at(4).retry_after, 57 * kSecond + 2 * static_cast<Time>(kGuard))
      << "when the first is a minute ago";
  yard.arrive({.id = 5, .weight = 4});
  EXPECT_EQ(yard.refusals.at(5).retry_after, 58 * kSecond + 2 * static_cast<Time>(kGuard)) << "when the second is";
  EXPECT_EQ(yard.arrive({.id = 6, .weight = 2}), Ids{6});
}

TEST(RetryAfter, does_not_count_the_refused_before_the_limits_either) {
  SlowLimiter limiter;
  limiter.pace = 3 * kSecond;
  SchedulerFixture yard({.max_wait = kSecond}, limiter);
  yard.arrive_all({1, 2, 3});
  yard.answer(turn(Booking::Scope::upstream, yard.now + 500 * kMs));
  yard.advance_to(yard.now + kSecond + 1);
  EXPECT_EQ(yard.refusals.at(1).retry_after, 6 * kSecond) << "two wait";
  EXPECT_EQ(yard.refusals.at(3).retry_after, kSecond);
}

}  // namespace
}  // namespace penstock::flow
