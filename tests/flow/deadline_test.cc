// SPDX-License-Identifier: Apache-2.0
// Who waits too long is refused, at its deadline and not before it; who is sure to wait too long, at once.
#include "flow/scheduler_fixture.h"

namespace penstock::flow {
namespace {

TEST(Deadline, refuses_at_max_wait_and_not_before) {
  SchedulerFixture yard({.max_concurrent = 1, .max_wait = 2 * kSecond});
  yard.arrive_all({1, 2});
  const Time deadline = yard.now + 2 * kSecond;
  EXPECT_EQ(yard.upstream.wake_at(), deadline);
  yard.advance_to(deadline - 1);
  EXPECT_THAT(yard.refused, IsEmpty());
  yard.advance_to(deadline);
  EXPECT_THAT(yard.refused, ElementsAre(2));
  EXPECT_EQ(yard.refusals.at(2).why, Refused::wait_over);
  EXPECT_EQ(yard.refusals.at(2).waited, 2 * kSecond);
  EXPECT_EQ(yard.upstream.pending(), 0u);
  EXPECT_EQ(yard.upstream.wake_at(), std::nullopt);
}

TEST(Deadline, a_request_may_wait_less_than_the_upstream_allows) {
  SchedulerFixture yard({.max_concurrent = 1, .max_wait = 2 * kSecond});
  yard.arrive(1);
  yard.arrive(2, {}, 500 * kMs);
  yard.advance_to(yard.now + 500 * kMs);
  EXPECT_THAT(yard.refused, ElementsAre(2));
}

TEST(Deadline, a_request_may_not_wait_longer_than_the_upstream_allows) {
  SchedulerFixture yard({.max_concurrent = 1, .max_wait = 2 * kSecond});
  yard.arrive(1);
  yard.arrive(2, {}, 60 * kSecond);
  EXPECT_EQ(yard.upstream.wake_at(), yard.now + 2 * kSecond);
}

TEST(Deadline, a_short_wait_behind_a_long_one_ends_first) {
  SchedulerFixture yard({.max_concurrent = 1, .max_wait = 2 * kSecond});
  yard.arrive_all({1, 2});
  yard.arrive(3, {}, 100 * kMs);
  yard.arrive(4);
  yard.advance_to(yard.now + 100 * kMs);
  EXPECT_THAT(yard.refused, ElementsAre(3));
  EXPECT_THAT(yard.land(1), ElementsAre(2));
  EXPECT_THAT(yard.land(2), ElementsAre(4));
}

TEST(Deadline, equal_deadlines_are_refused_in_order_of_arrival) {
  SchedulerFixture yard({.max_concurrent = 1, .max_wait = kSecond});
  yard.arrive_all({1, 2, 3, 4, 5, 6, 7});
  yard.advance_to(yard.now + kSecond);
  EXPECT_THAT(yard.refused, ElementsAre(2, 3, 4, 5, 6, 7));
}

TEST(Deadline, a_wait_of_zero_is_refused_unless_it_can_start_now) {
  SchedulerFixture yard({.max_concurrent = 1});
  EXPECT_THAT(yard.arrive(1, {}, 0), ElementsAre(1));
  EXPECT_THAT(yard.arrive(2, {}, 0), IsEmpty());
  EXPECT_THAT(yard.refused, ElementsAre(2));
  EXPECT_EQ(yard.refusals.at(2).why, Refused::wait_over);
  EXPECT_EQ(yard.upstream.pending(), 0u);
}

TEST(Deadline, an_upstream_where_nobody_may_wait_refuses_at_once) {
  SchedulerFixture yard({.max_concurrent = 1, .max_wait = 0});
  yard.arrive_all({1, 2});
  EXPECT_THAT(yard.refused, ElementsAre(2));
}

TEST(Deadline, a_take_off_at_the_very_deadline_wins) {
  SchedulerFixture yard({.max_concurrent = 1, .max_wait = kSecond});
  yard.arrive_all({1, 2});
  yard.now += kSecond;
  EXPECT_THAT(yard.land(1), ElementsAre(2));
  EXPECT_THAT(yard.refused, IsEmpty());
}

TEST(Deadline, nobody_takes_off_after_it_even_if_the_clock_is_looked_at_late) {
  SchedulerFixture yard({.max_concurrent = 1, .max_wait = kSecond});
  yard.arrive_all({1, 2});
  yard.now += kMs;
  yard.arrive(3);
  yard.now += kSecond;  // 2 is late by a millisecond, 3 is not
  EXPECT_THAT(yard.land(1), ElementsAre(3));
  EXPECT_THAT(yard.refused, ElementsAre(2));
}

TEST(Deadline, one_who_left_is_not_refused) {
  SchedulerFixture yard({.max_concurrent = 1, .max_wait = kSecond});
  yard.arrive_all({1, 2});
  yard.cancel(2);
  EXPECT_EQ(yard.upstream.wake_at(), std::nullopt);
  yard.advance_to(yard.now + 2 * kSecond);
  EXPECT_THAT(yard.refused, IsEmpty());
}

TEST(Deadline, a_request_in_flight_has_none) {
  SchedulerFixture yard({.max_concurrent = 1, .max_wait = kSecond});
  yard.arrive_all({1, 2});
  yard.land(1);
  EXPECT_EQ(yard.upstream.wake_at(), std::nullopt);
  yard.advance_to(yard.now + 10 * kSecond);
  EXPECT_THAT(yard.refused, IsEmpty());
  EXPECT_EQ(yard.upstream.in_flight(), 1u);
}

TEST(Deadline, who_becomes_the_head_with_a_departure_past_it_is_refused_then) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 2, .max_wait = kSecond}, limiter);
  const Time start = yard.now;
  yard.arrive(1);
  yard.answer({}, start + kMs);
  yard.arrive(2, {}, 20 * kMs);
  yard.arrive(3);
  yard.advance_to(start + kMs);
  ASSERT_THAT(limiter.asks, ElementsAre(SlowLimiter::Asked{"", 1}, SlowLimiter::Asked{"", 2}));
  yard.answer({start + 10 * kMs, start + 40 * kMs});
  EXPECT_THAT(yard.refused, IsEmpty()) << "if 1 leaves, 2 takes its departure";
  EXPECT_THAT(yard.advance_to(start + 10 * kMs), ElementsAre(1));
  EXPECT_THAT(yard.refused, ElementsAre(2));
  EXPECT_THAT(yard.advance_to(start + 40 * kMs), ElementsAre(3));
}

TEST(Deadline, passes_while_the_limiter_is_asked_and_the_answer_goes_to_the_next) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1, .max_wait = kSecond}, limiter);
  yard.arrive(1, {}, 20 * kMs);
  yard.arrive(2);
  yard.advance_to(yard.now + 20 * kMs);
  EXPECT_THAT(yard.refused, ElementsAre(1));
  yard.now += kMs;
  EXPECT_THAT(yard.answer({yard.now}), ElementsAre(2));
}

TEST(Deadline, a_newcomer_whose_deadline_is_before_the_next_departure_is_refused_on_arrival) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  yard.arrive(1);
  yard.answer({yard.now + 10 * kMs});
  yard.arrive(2, {}, 5 * kMs);
  EXPECT_THAT(yard.refused, ElementsAre(2));
}

TEST(Deadline, one_booked_beyond_it_is_refused_at_once_and_the_next_takes_the_departure) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1, .max_wait = kSecond}, limiter);
  const Time start = yard.now;
  yard.arrive(1, {}, 20 * kMs);
  yard.arrive(2);
  yard.answer({start + 30 * kMs});
  EXPECT_THAT(yard.refused, ElementsAre(1));
  EXPECT_THAT(limiter.given_back, IsEmpty());
  EXPECT_THAT(yard.advance_to(start + 30 * kMs), ElementsAre(2));
}

TEST(Deadline, a_wait_that_is_sure_to_exceed_it_is_refused_on_arrival_and_spends_nothing) {
  SchedulerFixture yard({.max_concurrent = 4, .max_wait = 500 * kMs}, limits(Spacing(kSecond)));
  EXPECT_THAT(yard.arrive(1), ElementsAre(1));
  EXPECT_THAT(yard.arrive(2), IsEmpty());
  EXPECT_THAT(yard.refused, ElementsAre(2));
  EXPECT_EQ(yard.upstream.slots_held(), 1u);
  yard.now += kSecond;
  EXPECT_THAT(yard.arrive(3), ElementsAre(3)) << "the refused one must not have taken this departure";
}

TEST(Deadline, a_departure_within_the_horizon_but_past_it_is_given_back_on_arrival) {
  SchedulerFixture yard({.max_concurrent = 4, .max_wait = 5 * kMs}, limits(Spacing(10 * kMs)));
  yard.arrive_all({1, 2});
  EXPECT_THAT(yard.refused, ElementsAre(2));
  yard.now += 10 * kMs;
  EXPECT_THAT(yard.arrive(3), ElementsAre(3));
}

TEST(Deadline, a_departure_at_the_very_deadline_is_waited_for) {
  SchedulerFixture yard({.max_concurrent = 4, .max_wait = kSecond}, limits(Spacing(kSecond)));
  const Time start = yard.now;
  yard.arrive_all({1, 2});
  EXPECT_THAT(yard.refused, IsEmpty());
  yard.advance_to(*yard.upstream.wake_at());
  EXPECT_THAT(yard.advance_to(start + kSecond), ElementsAre(2));
}

TEST(Deadline, one_behind_others_in_a_lane_told_to_wait_longer_is_refused_on_arrival) {
  SchedulerFixture yard({.max_concurrent = 4, .max_wait = 10 * kSecond}, limits(Spacing(kSecond)));
  yard.arrive_all({1, 2});
  yard.arrive(3, {}, 900 * kMs);
  EXPECT_THAT(yard.refused, ElementsAre(3));
}

TEST(Deadline, nothing_is_sure_while_the_limiter_is_asked) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 3}, limiter);
  const Time start = yard.now;
  yard.arrive(1);
  yard.answer({start + 40 * kMs});
  yard.now += 30 * kMs;
  yard.arrive(2);  // is asked for
  yard.arrive(3, {}, 5 * kMs);
  EXPECT_THAT(yard.refused, IsEmpty());
  EXPECT_THAT(yard.answer({start + 31 * kMs, start + 32 * kMs}), IsEmpty());
  EXPECT_THAT(yard.advance_to(start + 31 * kMs), ElementsAre(1));
}

TEST(Deadline, refusals_free_the_booked_slot_for_other_lanes) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1, .max_wait = kSecond}, limiter);
  const Time start = yard.now;
  yard.arrive(1, "a", 5 * kMs);
  yard.arrive(2, "b");
  ASSERT_THAT(limiter.asks, ElementsAre(SlowLimiter::Asked{"a", 1}));
  yard.answer({start + 10 * kMs}, {}, "a");
  EXPECT_THAT(yard.refused, ElementsAre(1));
  EXPECT_THAT(limiter.given_back, ElementsAre(start + 10 * kMs));
  EXPECT_THAT(limiter.asks, ElementsAre(SlowLimiter::Asked{"a", 1}, SlowLimiter::Asked{"b", 1}));
}

}  // namespace
}  // namespace penstock::flow
