// SPDX-License-Identifier: Apache-2.0
// Settings and limits that change while requests wait, are booked and fly: nobody is thrown out, nobody is cut, and
// nobody waits for what does not hold any more.
#include "flow/scheduler_fixture.h"

namespace penstock::flow {
namespace {

using Asked = SlowLimiter::Asked;
using Scope = Booking::Scope;
using Stop = Booking::Stop;

Booking stopped(Stop stop, Scope scope, LimitIndex by = kNoLimit, Time until = 0) {
  return {.stop = stop, .scope = scope, .limited_by = by, .ask_again = until, .not_before = until};
}

// ---- slots ----------------------------------------------------------------------------------------------------------

TEST(Change, more_slots_are_for_those_that_wait_at_once_and_in_order) {
  SchedulerFixture yard({.max_concurrent = 1});
  yard.arrive_all({1, 2, 3, 4});
  EXPECT_THAT(yard.change({.max_concurrent = 3}), ElementsAre(2, 3));
  EXPECT_THAT(yard.land(1), ElementsAre(4));
}

TEST(Change, fewer_slots_cut_nobody_and_start_nobody_until_enough_have_landed) {
  SchedulerFixture yard({.max_concurrent = 4});
  yard.arrive_all({1, 2, 3, 4, 5, 6});
  EXPECT_THAT(yard.change({.max_concurrent = 2}), IsEmpty());
  EXPECT_EQ(yard.upstream.in_flight(), 4u);
  EXPECT_EQ(yard.upstream.slots_held(), 4u);
  EXPECT_THAT(yard.arrive(7), IsEmpty());
  EXPECT_THAT(yard.land(1), IsEmpty());
  EXPECT_THAT(yard.land(2), IsEmpty());
  EXPECT_THAT(yard.land(3), ElementsAre(5));
  EXPECT_THAT(yard.land(4), ElementsAre(6));
  EXPECT_EQ(yard.upstream.in_flight(), 2u);
}

TEST(Change, fewer_slots_leave_an_upstream_asleep_while_all_are_held) {
  SchedulerFixture yard({.max_concurrent = 3, .max_wait = kSecond});
  yard.arrive_all({1, 2, 3, 4});
  yard.change({.max_concurrent = 1, .max_wait = kSecond});
  EXPECT_EQ(yard.upstream.wake_at(), yard.now + kSecond) << "the deadline";
}

TEST(Change, who_is_booked_takes_off_though_there_are_fewer_slots_and_the_next_waits_for_one) {
  SchedulerFixture yard({.max_concurrent = 4}, limits(Spacing(10 * kMs)));
  yard.arrive_all({1, 2, 3, 4, 5});
  yard.change({.max_concurrent = 1});
  EXPECT_EQ(yard.upstream.slots_held(), 4u);
  EXPECT_THAT(yard.advance_to(yard.now + 10 * kMs), ElementsAre(2));
  EXPECT_THAT(yard.advance_to(yard.now + 10 * kMs), ElementsAre(3));
  EXPECT_THAT(yard.advance_to(yard.now + 10 * kMs), ElementsAre(4));
  EXPECT_THAT(yard.advance_to(yard.now + 10 * kMs), IsEmpty());
  for (const RequestId id : {1, 2, 3}) EXPECT_THAT(yard.land(id), IsEmpty());
  EXPECT_THAT(yard.land(4), ElementsAre(5));
}

TEST(Change, who_returns_from_a_flight_keeps_its_slot_though_there_are_fewer) {
  SchedulerFixture yard({.max_concurrent = 2});
  yard.arrive_all({1, 2, 3});
  yard.change({.max_concurrent = 1});
  EXPECT_THAT(yard.requeue(2), ElementsAre(2));
  EXPECT_THAT(yard.land(1), IsEmpty());
  EXPECT_THAT(yard.land(2), ElementsAre(3));
}

TEST(Change, to_no_slot_leaves_one) {
  SchedulerFixture yard({.max_concurrent = 2});
  yard.arrive_all({1, 2, 3});
  yard.change({.max_concurrent = 0});
  yard.land(1);
  EXPECT_THAT(yard.land(2), ElementsAre(3));
}

// ---- the queue ------------------------------------------------------------------------------------------------------

TEST(Change, a_shorter_queue_throws_out_nobody_who_waits) {
  SchedulerFixture yard({.max_concurrent = 1, .max_pending = 5});
  yard.arrive_all({1, 2, 3, 4});
  yard.change({.max_concurrent = 1, .max_pending = 1});
  EXPECT_EQ(yard.upstream.pending(), 3u);
  EXPECT_THAT(yard.refused, IsEmpty());
  yard.arrive(5);
  EXPECT_EQ(yard.refusals.at(5).why, Refused::queue_full);
  EXPECT_THAT(yard.land(1), ElementsAre(2));
}

TEST(Change, a_shorter_queue_throws_out_nobody_either_when_the_answer_comes_that_all_wait_for) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 2, .max_pending = 5}, limiter);
  yard.arrive_all({1, 2, 3, 4});
  yard.change({.max_concurrent = 2, .max_pending = 1});
  EXPECT_THAT(yard.answer({yard.now}), ElementsAre(1));
  EXPECT_THAT(yard.refused, IsEmpty());
  EXPECT_EQ(yard.upstream.pending(), 3u);
}

TEST(Change, a_shorter_queue_throws_out_nobody_who_was_let_in_beyond_it_and_found_room) {
  SlowLimiter limiter;
  limiter.its_patience = 50 * kMs;
  SchedulerFixture yard({.max_concurrent = 3, .max_pending = 2}, limiter);
  yard.arrive_all({1, 2, 3});
  EXPECT_THAT(yard.answer({yard.now}), ElementsAre(1));
  EXPECT_EQ(yard.upstream.pending(), 2u) << "3 has room now";
  yard.change({.max_concurrent = 3, .max_pending = 1});
  yard.answer(turn(Scope::upstream, yard.now + kSecond));
  EXPECT_THAT(yard.refused, IsEmpty());
}

TEST(Change, a_longer_queue_takes_more) {
  SchedulerFixture yard({.max_concurrent = 1, .max_pending = 0});
  yard.arrive_all({1, 2});
  EXPECT_THAT(yard.refused, ElementsAre(2));
  yard.change({.max_concurrent = 1, .max_pending = 1});
  yard.arrive(3);
  EXPECT_EQ(yard.upstream.pending(), 1u);
}

TEST(Change, another_wait_holds_for_those_who_come_from_then_on) {
  SchedulerFixture yard({.max_concurrent = 1, .max_wait = 10 * kSecond});
  yard.arrive_all({1, 2});
  yard.change({.max_concurrent = 1, .max_wait = kSecond});
  const Time start = yard.now;
  yard.arrive(3);
  yard.advance_to(start + kSecond + 1);
  EXPECT_THAT(yard.refused, ElementsAre(3));
  yard.advance_to(start + 10 * kSecond + 1);
  EXPECT_THAT(yard.refused, ElementsAre(3, 2));
}

// ---- what lanes were told -------------------------------------------------------------------------------------------

TEST(Change, who_was_told_to_wait_by_all_lanes_limits_asks_again_at_once) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive(1);
  yard.answer(turn(Scope::upstream, yard.now + 20 * kSecond));
  yard.change({.max_concurrent = 4});
  EXPECT_THAT(limiter.asks, ElementsAre(Asked{"", 1}, Asked{"", 1}));
  EXPECT_THAT(yard.answer({yard.now}), ElementsAre(1));
}

TEST(Change, lanes_that_were_told_to_wait_on_their_own_ask_again_in_the_order_in_which_they_were_told) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  for (const auto group : {"a", "b", "c"}) {
    yard.arrive(limiter.asks.size(), group);
    yard.answer(turn(Scope::group, yard.now + 20 * kSecond), LaneKey(group));
  }
  yard.change({.max_concurrent = 4});
  EXPECT_THAT(limiter.asks,
              ElementsAre(Asked{"a", 1}, Asked{"b", 1}, Asked{"c", 1}, Asked{"a", 1}, Asked{"b", 1}, Asked{"c", 1}));
}

TEST(Change, who_waits_for_a_permit_asks_again_at_once) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive(1, "a");
  yard.answer(stopped(Stop::permit, Scope::upstream), "a");
  EXPECT_EQ(limiter.asks.size(), 1u);
  yard.change({.max_concurrent = 4});
  EXPECT_THAT(limiter.asks, ElementsAre(Asked{"a", 1}, Asked{"a", 1}));
}

TEST(Change, who_waits_for_a_permit_without_a_slot_asks_when_it_has_one) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  yard.arrive(1, "a");
  yard.answer({yard.now}, {}, "a");
  yard.arrive(2, "b");
  yard.change({.max_concurrent = 1});
  EXPECT_EQ(limiter.asks.size(), 1u);
  yard.land(1);
  EXPECT_THAT(limiter.asks.back(), (Asked{"b", 1}));
}

TEST(Change, a_limit_that_refused_is_asked_again) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive(1);
  yard.answer(stopped(Stop::refused, Scope::upstream, 0, yard.now + 3'600 * kSecond));
  yard.arrive(2);
  EXPECT_THAT(yard.refused, ElementsAre(1, 2));
  yard.change({.max_concurrent = 4}, std::vector<LimitIndex>{0});
  yard.arrive(3);
  EXPECT_EQ(limiter.asks.size(), 2u);
  EXPECT_THAT(yard.answer({yard.now}), ElementsAre(3));
}

TEST(Change, a_limit_that_refused_a_group_is_asked_again) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive(1, "a");
  yard.answer({yard.now}, {}, "a");
  yard.arrive(2, "a");
  yard.answer(stopped(Stop::refused, Scope::group, 0, yard.now + 3'600 * kSecond), "a");
  yard.change({.max_concurrent = 4}, std::vector<LimitIndex>{0});
  yard.arrive(3, "a");
  EXPECT_THAT(yard.answer({yard.now}, {}, "a"), ElementsAre(3));
}

TEST(Change, a_lane_with_departures_ahead_keeps_them_and_asks_when_they_are_near) {
  SlowLimiter limiter;
  limiter.its_lead = 5 * kMs;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive_all({1, 2, 3});
  yard.answer({yard.now + 40 * kMs}, yard.now + 45 * kMs);
  yard.change({.max_concurrent = 4});
  EXPECT_EQ(limiter.asks.size(), 1u);
  EXPECT_THAT(limiter.given_back, IsEmpty());
  yard.advance_to(yard.now + 35 * kMs);
  EXPECT_EQ(limiter.asks.size(), 2u);
  EXPECT_THAT(yard.advance_to(yard.now + 5 * kMs), ElementsAre(1));
}

TEST(Change, an_ask_under_way_is_answered_as_ever) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive(1);
  yard.change({.max_concurrent = 1});
  EXPECT_EQ(limiter.asks.size(), 1u) << "one at a time";
  EXPECT_THAT(yard.answer({yard.now}), ElementsAre(1));
  EXPECT_EQ(yard.upstream.slots_held(), 1u);
}

TEST(Change, whoever_has_left_meanwhile_gives_up_the_turn_that_was_told_before) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  yard.arrive(1, "a");
  yard.answer({yard.now}, {}, "a");
  yard.change({.max_concurrent = 2});
  yard.arrive(2, "b");
  yard.answer(turn(Scope::group, yard.now + kSecond), "b");
  yard.change({.max_concurrent = 1});
  EXPECT_EQ(limiter.asks.size(), 2u) << "no slot is free";
  yard.cancel(2);
  EXPECT_THAT(limiter.gave_up, ElementsAre(std::pair(Scope::group, "b")));
}

// ---- which limit it was ---------------------------------------------------------------------------------------------

TEST(Change, limits_are_named_by_their_new_numbers) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1, .max_wait = kSecond}, limiter);
  yard.arrive(1, "a");
  yard.answer(turn(Scope::upstream, yard.now + 5 * kMs, 0), "a");
  yard.arrive(2, "b");
  EXPECT_EQ(yard.upstream.limited_by(yard.now, yard.ticket(2)), 0);
  yard.change({.max_concurrent = 1, .max_wait = kSecond}, std::vector<LimitIndex>{2, kNoLimit});
  EXPECT_EQ(yard.upstream.limited_by(yard.now, yard.ticket(1)), 2);
  yard.answer({yard.now}, {}, "a");
  yard.advance_to(yard.now + 2 * kSecond);
  EXPECT_THAT(yard.refused, ElementsAre(2));
}

TEST(Change, a_limit_that_is_gone_made_nobody_wait) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  yard.arrive(1);
  yard.answer(turn(Scope::group, yard.now + 5 * kMs, 1));
  yard.change({.max_concurrent = 1}, std::vector<LimitIndex>{1, kNoLimit});
  EXPECT_EQ(yard.upstream.limited_by(yard.now, yard.ticket(1)), kNoLimit);
}

TEST(Change, what_is_no_limit_keeps_its_name) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  yard.arrive(1);
  yard.answer(turn(Scope::group, yard.now + 5 * kMs, kPause));
  yard.change({.max_concurrent = 1}, std::vector<LimitIndex>{kNoLimit});
  EXPECT_EQ(yard.upstream.limited_by(yard.now, yard.ticket(1)), kPause);
}

TEST(Change, a_departure_that_is_booked_names_its_limit_by_the_new_number) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  yard.arrive(1);
  yard.answer({.departures = {{.at = yard.now + 5 * kMs, .limited_by = 1}}});
  yard.change({.max_concurrent = 1}, std::vector<LimitIndex>{1, 0});
  EXPECT_THAT(yard.advance_to(yard.now + 5 * kMs), ElementsAre(1));
  EXPECT_EQ(yard.limited.at(1), 0);
}

// ---- what the limiter is told
// ----------------------------------------------------------------------------------------

TEST(Change, the_limiter_learns_what_is_granted_of_each_group_and_has_not_ended) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 9}, limiter);
  yard.arrive_all({1, 2}, "a");
  yard.answer({yard.now}, {}, "a");
  yard.answer({yard.now + 5 * kMs}, {}, "a");
  yard.arrive(3, "b");
  yard.arrive(4);
  yard.answer({yard.now});
  yard.change({.max_concurrent = 9});
  EXPECT_THAT(limiter.adopted, testing::UnorderedElementsAre(std::pair("a", 2u), std::pair("", 1u)))
      << "that of b is only asked for";
}

TEST(Change, who_waits_to_be_sent_once_more_has_given_its_departure_up) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 9}, limiter);
  yard.arrive(1);
  yard.answer({yard.now});
  yard.requeue(1);
  yard.change({.max_concurrent = 9});
  EXPECT_THAT(limiter.adopted, IsEmpty());
}

// ---- another limiter
// -------------------------------------------------------------------------------------------------

TEST(Change, another_limiter_is_asked_anew_for_whom_the_one_before_was_asked) {
  SlowLimiter first, second;
  SchedulerFixture yard({.max_concurrent = 4}, first);
  yard.arrive(1, "a");
  yard.upstream.replace(second);
  yard.change({.max_concurrent = 4});
  EXPECT_THAT(second.asks, ElementsAre(Asked{"a", 1}));
  EXPECT_THAT(yard.answer({yard.now}, {}, "a"), ElementsAre(1));
  EXPECT_EQ(first.asks.size(), 1u);
}

TEST(Change, what_the_one_before_has_booked_stays_and_is_nothing_to_the_other) {
  SlowLimiter first, second;
  SchedulerFixture yard({.max_concurrent = 4}, first);
  yard.arrive_all({1, 2});
  yard.answer({yard.now + 5 * kMs});
  yard.answer({yard.now + 6 * kMs});
  yard.upstream.replace(second);
  yard.change({.max_concurrent = 4});
  EXPECT_THAT(second.adopted, ElementsAre(std::pair("", 2u)));
  EXPECT_THAT(second.asks, IsEmpty());
  EXPECT_THAT(yard.advance_to(yard.now + 5 * kMs), ElementsAre(1));
  yard.cancel(2);
  EXPECT_THAT(second.given_back, ElementsAre(yard.now + kMs));
  EXPECT_EQ(second.era_given_back, kNoEpoch);
  EXPECT_THAT(first.given_back, IsEmpty());
}

TEST(Change, a_turn_of_the_one_before_is_not_given_up_with_the_other) {
  SlowLimiter first, second;
  SchedulerFixture yard({.max_concurrent = 4}, first);
  yard.arrive(1, "a");
  yard.answer(turn(Scope::group, yard.now + kSecond), "a");
  yard.upstream.replace(second);
  yard.change({.max_concurrent = 4});
  yard.answer({yard.now + 5 * kMs}, {}, "a");
  yard.cancel(1);
  EXPECT_THAT(second.gave_up, IsEmpty());
  EXPECT_TRUE(idle(yard.upstream));
}

}  // namespace
}  // namespace penstock::flow
