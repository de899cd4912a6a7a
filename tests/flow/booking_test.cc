// SPDX-License-Identifier: Apache-2.0
// Departures: booked for a lane, not for a request; at once, later, in part, or by an answer that takes its time.
#include "flow/scheduler_fixture.h"

namespace penstock::flow {
namespace {

using Asked = SlowLimiter::Asked;

TEST(Booking, departures_leave_at_their_times) {
  SchedulerFixture yard({.max_concurrent = 10}, limits(Spacing(10 * kMs)));
  const Time start = yard.now;
  EXPECT_THAT(yard.arrive_all({1, 2, 3}), ElementsAre(1));
  EXPECT_EQ(yard.upstream.wake_at(), start + 10 * kMs);
  EXPECT_THAT(yard.advance_to(start + 10 * kMs - 1), IsEmpty());
  EXPECT_THAT(yard.advance_to(start + 10 * kMs), ElementsAre(2));
  EXPECT_THAT(yard.advance_to(start + 20 * kMs), ElementsAre(3));
  EXPECT_EQ(yard.waited.at(3), 20 * kMs);
  EXPECT_EQ(yard.upstream.wake_at(), std::nullopt);
}

TEST(Booking, who_starts_is_told_which_departure_it_takes) {
  SlowLimiter slow;
  Scheduler upstream({.max_concurrent = 10}, slow);
  Commands commands;
  upstream.arrive(0, {.id = 1}, commands);
  upstream.answer(kMs, {}, {.departures = {{.at = 5 * kMs, .weight = 2}}}, commands);
  ASSERT_THAT(commands.start, IsEmpty());
  upstream.advance(9 * kMs, commands);
  ASSERT_THAT(commands.start, testing::SizeIs(1));
  EXPECT_EQ(commands.start[0].booked, 5 * kMs);
  EXPECT_EQ(commands.start[0].departure, (Departure{.at = 9 * kMs, .weight = 2}))
      << "it was missed by more than a millisecond";
}

TEST(Booking, who_starts_at_once_takes_the_departure_that_was_granted) {
  PlainLimiter plain(limits(Spacing(10 * kMs)));
  Scheduler upstream({.max_concurrent = 10}, plain);
  Commands commands;
  upstream.arrive(kSecond, {.id = 1}, commands);
  ASSERT_THAT(commands.start, testing::SizeIs(1));
  EXPECT_EQ(commands.start[0].departure, Departure{kSecond});
}

TEST(Booking, a_booked_departure_holds_a_slot) {
  SchedulerFixture yard({.max_concurrent = 2}, limits(Spacing(10 * kMs)));
  yard.arrive_all({1, 2, 3});
  EXPECT_EQ(yard.upstream.in_flight(), 1u);
  EXPECT_EQ(yard.upstream.slots_held(), 2u);
  EXPECT_EQ(yard.upstream.pending(), 2u);
}

TEST(Booking, a_lane_told_to_wait_holds_no_slot) {
  SchedulerFixture yard({.max_concurrent = 4}, limits(Spacing(kSecond)));
  yard.arrive_all({1, 2, 3});
  EXPECT_EQ(yard.upstream.slots_held(), 1u);
}

TEST(Booking, a_limit_beyond_the_horizon_is_kept_without_losing_a_departure) {
  SchedulerFixture yard({.max_concurrent = 4}, limits(Spacing(kSecond)));
  const Time start = yard.now;
  yard.arrive_all({1, 2, 3});
  Ids order;
  std::vector<Time> times;
  while (const auto at = yard.upstream.wake_at()) {
    for (const RequestId id : yard.advance_to(*at)) order.push_back(id), times.push_back(yard.now - start);
  }
  EXPECT_THAT(order, ElementsAre(2, 3));
  EXPECT_THAT(times, ElementsAre(kSecond, 2 * kSecond));
}

TEST(Booking, departures_and_slots_bind_together) {
  SchedulerFixture yard({.max_concurrent = 1}, limits(Spacing(10 * kMs)));
  const Time start = yard.now;
  yard.arrive_all({1, 2, 3});
  EXPECT_THAT(yard.advance_to(start + 30 * kMs), IsEmpty());
  EXPECT_THAT(yard.land(1), ElementsAre(2)) << "the limit has long allowed it";
  yard.now += kMs;
  EXPECT_THAT(yard.land(2), IsEmpty()) << "a slot is free, the limit is not";
  EXPECT_THAT(yard.advance_to(start + 40 * kMs), ElementsAre(3));
}

TEST(Booking, one_who_leaves_gives_its_departure_to_the_next) {
  SchedulerFixture yard({.max_concurrent = 10}, limits(Spacing(10 * kMs)));
  const Time start = yard.now;
  yard.arrive_all({1, 2, 3, 4});
  yard.cancel(2);
  EXPECT_THAT(yard.advance_to(start + 10 * kMs), ElementsAre(3));
  EXPECT_THAT(yard.advance_to(start + 20 * kMs), ElementsAre(4));
}

TEST(Booking, the_last_to_leave_gives_its_departure_and_its_slot_back) {
  SchedulerFixture yard({.max_concurrent = 2}, limits(Spacing(10 * kMs)));
  yard.arrive_all({1, 2});
  yard.cancel(2);
  EXPECT_EQ(yard.upstream.slots_held(), 1u);
  EXPECT_EQ(yard.upstream.wake_at(), std::nullopt);
  const Time start = yard.now;
  yard.now += 5 * kMs;
  yard.arrive(3);
  EXPECT_THAT(yard.advance_to(start + 10 * kMs), ElementsAre(3)) << "the departure is there again";
}

TEST(Booking, of_several_departures_too_many_the_latest_go_back) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 3}, limiter);
  const Time start = yard.now;
  yard.arrive(1);
  yard.answer({}, start + kMs);
  yard.arrive_all({2, 3});
  yard.advance_to(start + kMs);
  yard.answer({start + 10 * kMs, start + 20 * kMs, start + 30 * kMs});
  yard.cancel(1);
  EXPECT_THAT(limiter.given_back, ElementsAre(start + 30 * kMs));
  EXPECT_THAT(yard.advance_to(start + 20 * kMs), ElementsAre(2, 3));
}

TEST(Booking, a_lane_asks_for_as_many_as_it_has_slots_and_requests) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 3}, limiter);
  yard.arrive_all({1, 2, 3, 4, 5});
  EXPECT_THAT(limiter.asks, ElementsAre(Asked{"", 1})) << "one ask at a time";
  yard.answer({yard.now});
  EXPECT_THAT(limiter.asks, ElementsAre(Asked{"", 1}, Asked{"", 2})) << "two slots for four requests";
  yard.answer({yard.now, yard.now});
  EXPECT_EQ(limiter.asks.size(), 2u) << "no slot is free";
  yard.land(1);
  EXPECT_THAT(limiter.asks.back(), (Asked{"", 1}));
}

TEST(Booking, an_ask_holds_its_slots) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  yard.arrive(1, "a");
  yard.arrive(2, "b");
  EXPECT_THAT(limiter.asks, ElementsAre(Asked{"a", 1}));
  EXPECT_EQ(yard.upstream.slots_held(), 1u);
  EXPECT_FALSE(idle(yard.upstream));
}

TEST(Booking, a_late_answer_starts_the_request_at_the_head) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 2}, limiter);
  EXPECT_THAT(yard.arrive_all({1, 2}), IsEmpty());
  yard.cancel(1);
  yard.now += 3 * kMs;
  EXPECT_THAT(yard.answer({yard.now - kMs}), ElementsAre(2));
  EXPECT_EQ(yard.waited.at(2), 3 * kMs);
}

TEST(Booking, a_partial_answer_is_used_and_the_rest_asked_for_at_the_moment_named) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive_all({1, 2, 3, 4});
  EXPECT_THAT(yard.answer({yard.now}), ElementsAre(1));
  const Time again = yard.now + 7 * kMs;
  EXPECT_THAT(yard.answer({yard.now}, again), ElementsAre(2));
  EXPECT_EQ(yard.upstream.slots_held(), 2u);
  EXPECT_EQ(yard.upstream.wake_at(), again);
  yard.arrive(5);
  EXPECT_EQ(limiter.asks.size(), 2u) << "nobody asks before the moment named";
  yard.advance_to(again);
  EXPECT_THAT(limiter.asks.back(), (Asked{"", 2}));
}

TEST(Booking, an_empty_answer_is_asked_again_at_the_moment_named) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  yard.arrive(1);
  yard.answer({}, yard.now + kSecond);
  EXPECT_EQ(yard.upstream.slots_held(), 0u);
  yard.advance_to(yard.now + kSecond);
  EXPECT_THAT(limiter.asks, ElementsAre(Asked{"", 1}, Asked{"", 1}));
  EXPECT_THAT(yard.answer({yard.now}), ElementsAre(1));
}

TEST(Booking, what_an_emptied_lane_was_told_does_not_bind_its_newcomers) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive(1);
  yard.answer({}, yard.now + kSecond);
  yard.cancel(1);
  yard.arrive_all({2, 3});
  EXPECT_EQ(limiter.asks.size(), 2u);
  EXPECT_THAT(yard.answer({yard.now}), ElementsAre(2));
  EXPECT_EQ(limiter.asks.size(), 3u) << "3 is asked for at once";
}

TEST(Booking, an_answer_that_names_no_moment_or_a_past_one_is_asked_again_later_and_not_for_ever_now) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  yard.arrive(1);
  yard.answer({}, yard.now - kSecond);
  EXPECT_EQ(yard.upstream.wake_at(), yard.now + 1);
  yard.advance_to(yard.now + 1);
  yard.answer(std::vector<Time>{});
  EXPECT_EQ(yard.upstream.wake_at(), yard.now + kHorizon);
}

TEST(Booking, an_answer_for_an_emptied_lane_is_given_back_and_frees_its_slot) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  yard.arrive(1, "a");
  yard.cancel(1);
  EXPECT_EQ(yard.upstream.slots_held(), 1u) << "the answer is still to come";
  EXPECT_THAT(yard.answer({yard.now + kMs}, {}, "a"), IsEmpty());
  EXPECT_THAT(limiter.given_back, ElementsAre(yard.now + kMs));
  EXPECT_TRUE(idle(yard.upstream));
}

TEST(Booking, an_answer_finds_the_newcomer_of_a_lane_that_had_emptied) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  yard.arrive(1, "a");
  yard.cancel(1);
  yard.arrive(2, "a");
  EXPECT_EQ(limiter.asks.size(), 1u);
  EXPECT_THAT(yard.answer({yard.now}, {}, "a"), ElementsAre(2));
}

TEST(Booking, an_answer_that_nobody_asked_for_is_given_back) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  EXPECT_THAT(yard.answer({yard.now}), IsEmpty());
  EXPECT_THAT(yard.answer({yard.now}, {}, "a"), IsEmpty());
  EXPECT_EQ(limiter.given_back.size(), 2u);
}

TEST(Booking, departures_beyond_those_asked_for_are_given_back) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  yard.arrive_all({1, 2});
  EXPECT_THAT(yard.answer({yard.now, yard.now + 1, yard.now + 2}), ElementsAre(1));
  EXPECT_THAT(limiter.given_back, ElementsAre(yard.now + 1, yard.now + 2));
  EXPECT_EQ(yard.upstream.in_flight(), 1u);
}

TEST(Booking, an_arrival_that_the_limiter_does_not_answer_at_once_cannot_start_now) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1, .max_pending = 0}, limiter);
  EXPECT_THAT(yard.arrive(1), IsEmpty());
  EXPECT_THAT(yard.refused, ElementsAre(1));
  EXPECT_EQ(yard.refusals.at(1).why, Refused::queue_full);
}

TEST(Booking, a_full_queue_refuses_a_newcomer_to_another_lane_only_if_it_cannot_start_now) {
  SchedulerFixture yard({.max_concurrent = 4, .max_pending = 1, .max_wait = 10 * kSecond}, limits(Spacing(kSecond)));
  yard.arrive(1, "a");
  yard.arrive(2, "a");
  yard.arrive(3, "b");
  EXPECT_THAT(yard.refused, ElementsAre(3));
  EXPECT_EQ(yard.refusals.at(3).why, Refused::queue_full);
}

}  // namespace
}  // namespace penstock::flow
