// SPDX-License-Identifier: Apache-2.0
// Tunnels that rest: their slots and permits are others', and when they go on they come first, and pay no limit anew.
#include "flow/local_limiter.h"
#include "flow/scheduler_fixture.h"

namespace penstock::flow {
namespace {

Arrival tunnel(RequestId id, std::string_view group = {}) { return {.id = id, .group = group, .tunnel = true}; }

/// Tunnels that started and rest, in this order.
void let_rest(SchedulerFixture& yard, std::initializer_list<RequestId> ids, std::string_view group = {}) {
  for (const RequestId id : ids) {
    ASSERT_THAT(yard.arrive(tunnel(id, group)), ElementsAre(id));
    yard.park(id);
  }
}

/// A tunnel starts by an asynchronous answer, rests, and asks to go on.
void resume_one(SchedulerFixture& yard) {
  yard.arrive(tunnel(1));
  yard.answer({yard.now});
  yard.park(1);
  yard.resume(1);
}

LimitConfig two_permits(LimitConfig::Per per = LimitConfig::Per::upstream) {
  return {.kind = SemaphoreConfig{.capacity = 2}, .per = per};
}

TEST(Rest, gives_the_slot_to_whoever_waits) {
  SchedulerFixture yard({.max_concurrent = 1});
  yard.arrive(tunnel(1));
  EXPECT_THAT(yard.arrive(2), IsEmpty());
  EXPECT_THAT(yard.park(1), ElementsAre(2));
  EXPECT_EQ(yard.upstream.in_flight(), 1u);
  EXPECT_EQ(yard.upstream.tunnels().resting, 1u);
}

TEST(Rest, costs_nothing_where_nobody_waits) {
  SchedulerFixture yard({.max_concurrent = 1});
  let_rest(yard, {1});
  EXPECT_EQ(yard.upstream.slots_held(), 0u);
  EXPECT_FALSE(idle(yard.upstream)) << "it is open";
  yard.resume(1);
  EXPECT_THAT(yard.resumed, ElementsAre(1));
  EXPECT_EQ(yard.upstream.in_flight(), 1u);
  yard.land(1);
  EXPECT_TRUE(idle(yard.upstream));
}

TEST(Rest, is_for_tunnels_alone) {
  SchedulerFixture yard({.max_concurrent = 1});
  yard.arrive(1);
  yard.park(1);
  EXPECT_EQ(yard.upstream.in_flight(), 1u);
}

TEST(Rest, who_goes_on_waits_for_a_slot_and_comes_before_all_that_have_not_flown) {
  SchedulerFixture yard({.max_concurrent = 1});
  let_rest(yard, {1});
  yard.arrive_all({2, 3});
  yard.resume(1);
  EXPECT_THAT(yard.resumed, IsEmpty());
  EXPECT_EQ(yard.upstream.slots_held(), 1u);
  EXPECT_THAT(yard.land(2), IsEmpty());
  EXPECT_THAT(yard.resumed, ElementsAre(1));
  EXPECT_THAT(yard.land(1), ElementsAre(3));
}

TEST(Rest, those_that_go_on_do_so_in_the_order_in_which_they_wanted_to) {
  SchedulerFixture yard({.max_concurrent = 1});
  let_rest(yard, {1, 2, 3});
  yard.arrive(4);
  yard.resume(3);
  yard.resume(1);
  yard.land(4);
  yard.land(3);
  EXPECT_THAT(yard.resumed, ElementsAre(3, 1));
}

TEST(Rest, who_wants_to_go_on_is_never_refused) {
  SchedulerFixture yard({.max_concurrent = 1, .max_pending = 0, .max_wait = kSecond});
  let_rest(yard, {1});
  yard.arrive(2);
  yard.resume(1);
  yard.advance_to(yard.now + 3'600 * kSecond);
  EXPECT_THAT(yard.refused, IsEmpty());
  EXPECT_EQ(yard.upstream.pending(), 0u);
  yard.land(2);
  EXPECT_THAT(yard.resumed, ElementsAre(1));
}

TEST(Rest, lanes_take_turns_with_those_that_go_on) {
  SchedulerFixture yard({.max_concurrent = 1});
  let_rest(yard, {1, 2, 3}, "a");
  yard.arrive(4, "c");
  yard.arrive(5, "b");
  for (const RequestId id : {1, 2, 3}) yard.resume(id);
  yard.land(4);
  EXPECT_THAT(yard.resumed, ElementsAre(1)) << "b has come into being after a was served";
  EXPECT_THAT(yard.land(1), ElementsAre(5)) << "now a was served later than b";
  yard.land(5);
  EXPECT_THAT(yard.resumed, ElementsAre(1, 2));
}

TEST(Rest, who_goes_on_pays_no_limit_anew_and_waits_for_none) {
  SchedulerFixture yard({.max_concurrent = 2}, limits(Spacing(10 * kSecond)));
  yard.arrive(tunnel(1));
  yard.park(1);
  yard.arrive(2);
  yard.resume(1);
  EXPECT_THAT(yard.resumed, ElementsAre(1)) << "though 2 waits for the limit, and all lanes with it";
  EXPECT_THAT(yard.advance_to(yard.now + 10 * kSecond), ElementsAre(2)) << "no later than without it";
}

TEST(Rest, a_pause_holds_departures_and_not_those_that_have_departed) {
  LocalLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 2}, limiter);
  let_rest(yard, {1});
  limiter.pause(yard.now, {}, yard.now + 300 * kSecond);
  EXPECT_THAT(yard.arrive(2), IsEmpty());
  yard.resume(1);
  EXPECT_THAT(yard.resumed, ElementsAre(1));
}

TEST(Rest, gives_its_permit_back_and_takes_one_to_go_on) {
  LocalLimiter limiter({two_permits()});
  SchedulerFixture yard({.max_concurrent = 64}, limiter);
  let_rest(yard, {1});
  yard.arrive_all({2, 3});
  EXPECT_EQ(yard.upstream.in_flight(), 2u);
  yard.resume(1);
  EXPECT_THAT(yard.resumed, IsEmpty()) << "both permits are taken";
  EXPECT_THAT(yard.arrive(4), IsEmpty());
  EXPECT_THAT(yard.land(2), IsEmpty());
  EXPECT_THAT(yard.resumed, ElementsAre(1));
  EXPECT_THAT(yard.land(1), ElementsAre(4)) << "its permit is given back once";
  EXPECT_THAT(yard.arrive(5), IsEmpty());
}

TEST(Rest, a_group_without_permits_does_not_hold_up_those_of_others) {
  LocalLimiter limiter({two_permits(LimitConfig::Per::group)});
  SchedulerFixture yard({.max_concurrent = 64}, limiter);
  let_rest(yard, {1}, "a");
  let_rest(yard, {2}, "b");
  yard.arrive_all({3, 4}, "a");
  yard.resume(1);
  yard.resume(2);
  EXPECT_THAT(yard.resumed, ElementsAre(2));
  yard.land(3);
  EXPECT_THAT(yard.resumed, ElementsAre(2, 1));
}

TEST(Rest, an_asynchronous_limiter_is_asked_for_permits_alone_with_a_slot_in_hand) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  resume_one(yard);
  EXPECT_EQ(limiter.asks.back(), (SlowLimiter::Asked{"", 1, 0}));
  EXPECT_EQ(yard.upstream.slots_held(), 1u);
  yard.answer(Booking{.stop = Booking::Stop::permit});
  EXPECT_THAT(yard.resumed, IsEmpty());
  EXPECT_EQ(limiter.asks.size(), 2u);
  yard.retry(Booking::Scope::upstream);
  EXPECT_EQ(limiter.asks.back(), (SlowLimiter::Asked{"", 1, 0}));
  EXPECT_THAT(yard.arrive(2), IsEmpty()) << "the slot is held meanwhile";
  yard.answer(Booking{.departures = {{.at = yard.now, .weight = 0}}});
  EXPECT_THAT(yard.resumed, ElementsAre(1));
}

TEST(Rest, a_permit_that_nobody_goes_on_with_is_given_back) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  resume_one(yard);
  yard.cancel(1);
  yard.answer(Booking{.departures = {{.at = yard.now, .weight = 0}}});
  EXPECT_THAT(yard.resumed, IsEmpty());
  EXPECT_TRUE(idle(yard.upstream));
}

TEST(Rest, who_stands_in_line_for_a_permit_and_leaves_says_so) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  resume_one(yard);
  yard.answer(Booking{.stop = Booking::Stop::permit});
  yard.cancel(1);
  EXPECT_THAT(limiter.gave_up, ElementsAre(std::pair(Booking::Scope::group, std::string())));
}

/// Two tunnels rest and ask to go on, one of lane `a` and one of `second_group`; the first is told to wait for a
/// permit.
void have_one_stand_in_line(SchedulerFixture& yard, const char* second_group) {
  yard.arrive(tunnel(1, "a"));
  yard.answer({yard.now}, {}, "a");
  yard.arrive(tunnel(2, second_group));
  yard.answer({yard.now}, {}, second_group);
  for (const RequestId id : {1, 2}) yard.park(id);
  yard.resume(1);
  yard.answer(Booking{.stop = Booking::Stop::permit}, "a");
  yard.resume(2);
}

TEST(Rest, who_stands_in_line_for_all_and_leaves_has_another_lane_ask) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 2}, limiter);
  have_one_stand_in_line(yard, "b");
  const std::size_t asked = limiter.asks.size();
  yard.cancel(1);
  ASSERT_EQ(limiter.asks.size(), asked + 1) << "nobody stands in line any more";
  yard.answer({yard.now}, {}, "b");
  EXPECT_THAT(yard.resumed, ElementsAre(2));
}

TEST(Rest, asks_anew_where_a_request_of_its_lane_took_its_place_in_line) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 2}, limiter);
  have_one_stand_in_line(yard, "a");
  yard.arrive({.id = 3, .group = "a"});
  const std::size_t asked = limiter.asks.size();
  yard.answer(turn(Booking::Scope::group, yard.now + kSecond), "a");
  EXPECT_EQ(limiter.asks.size(), asked + 1) << "a turn is no place in the line for permits";
  EXPECT_EQ(limiter.asks.back().weight, 0);
}

TEST(Rest, where_a_shared_limit_refuses_permits_it_asks_again_soon) {
  SlowLimiter limiter;
  limiter.its_patience = kSecond;
  SchedulerFixture yard({.max_concurrent = 2}, limiter);
  resume_one(yard);
  yard.answer(Booking{.stop = Booking::Stop::refused});
  EXPECT_EQ(yard.upstream.wake_at(), yard.now + kHorizon) << "such a limit has no line to wait in";
}

TEST(Rest, where_a_shared_limit_refused_a_permit_it_asks_at_once_when_one_lands) {
  SlowLimiter limiter;
  limiter.its_patience = kSecond;
  limiter.frees_permits = true;
  SchedulerFixture yard({.max_concurrent = 3}, limiter);
  yard.arrive(7);
  yard.answer({yard.now});
  resume_one(yard);
  yard.answer(Booking{.stop = Booking::Stop::refused});
  const std::size_t asked = limiter.asks.size();
  yard.land(7);
  ASSERT_EQ(limiter.asks.size(), asked + 1);
  EXPECT_EQ(limiter.asks.back().weight, 0);
}

TEST(Rest, where_a_shared_limit_refused_a_permit_it_asks_at_once_when_one_is_given_back) {
  SlowLimiter limiter;
  limiter.its_patience = kSecond;
  SchedulerFixture yard({.max_concurrent = 3}, limiter);
  yard.arrive(tunnel(1));
  yard.answer({yard.now});
  yard.park(1);
  yard.arrive(7);
  yard.answer({yard.now + kMs});  // which has the permit until 7 leaves
  yard.resume(1);
  yard.answer(Booking{.stop = Booking::Stop::refused});
  const std::size_t asked = limiter.asks.size();
  yard.cancel(7);
  ASSERT_EQ(limiter.asks.size(), asked + 1);
  EXPECT_EQ(limiter.asks.back().weight, 0);
}

TEST(Rest, where_a_shared_limit_refuses_the_permits_of_a_group_tunnels_of_others_ask_at_once) {
  SlowLimiter limiter;
  limiter.its_patience = kSecond;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  const Time begin = yard.now;
  for (const auto& [id, group] : {std::pair(1, "a"), std::pair(2, "b"), std::pair(3, "c")}) {
    yard.arrive(tunnel(id, group));
    yard.answer({yard.now}, {}, group);
    yard.park(id);
  }
  const Booking refused{.stop = Booking::Stop::refused, .scope = Booking::Scope::group};
  yard.resume(1);
  yard.answer(refused, "a");
  yard.advance_to(begin + kHorizon / 2);
  yard.resume(2);
  EXPECT_EQ(limiter.asks.back(), (SlowLimiter::Asked{"b", 1, 0}));
  yard.answer(refused, "b");
  yard.resume(3);
  EXPECT_EQ(limiter.asks.back(), (SlowLimiter::Asked{"c", 1, 0}));
  yard.answer({yard.now}, {}, "c");
  EXPECT_THAT(yard.resumed, ElementsAre(3));

  limiter.asks.clear();
  EXPECT_EQ(yard.upstream.wake_at(), begin + kHorizon);
  yard.advance_to(begin + kHorizon);
  EXPECT_THAT(limiter.asks, ElementsAre(SlowLimiter::Asked{"a", 1, 0}));
  EXPECT_EQ(yard.upstream.wake_at(), begin + kHorizon + kHorizon / 2);
  yard.advance_to(begin + kHorizon + kHorizon / 2);
  EXPECT_THAT(limiter.asks, ElementsAre(SlowLimiter::Asked{"a", 1, 0}, SlowLimiter::Asked{"b", 1, 0}));
}

TEST(Rest, while_a_tunnel_asks_for_permits_its_lane_may_be_told_that_it_waits_no_longer) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 2}, limiter);
  resume_one(yard);
  yard.answer(Booking{.stop = Booking::Stop::permit});
  yard.arrive(2);
  yard.answer(turn(Booking::Scope::group, yard.now + kSecond));
  ASSERT_EQ(limiter.asks.back(), (SlowLimiter::Asked{"", 1, 0})) << "a turn is no place in the line for permits";
  yard.shorten(yard.now);
  yard.answer({yard.now});
  EXPECT_THAT(yard.resumed, ElementsAre(1));
  EXPECT_EQ(limiter.asks.back(), (SlowLimiter::Asked{"", 1, 1}));
}

TEST(Rest, where_the_limiter_cannot_be_asked_it_is_asked_again_soon) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  resume_one(yard);
  yard.answer(Booking{.stop = Booking::Stop::unavailable});
  EXPECT_EQ(yard.upstream.wake_at(), yard.now + kHorizon);
  yard.advance_to(yard.now + kHorizon);
  EXPECT_EQ(limiter.asks.size(), 3u);
  EXPECT_THAT(yard.refused, IsEmpty());
}

TEST(Rest, may_end_while_resting_or_waiting_to_go_on) {
  SchedulerFixture yard({.max_concurrent = 1});
  let_rest(yard, {1, 2});
  yard.arrive(3);
  yard.resume(2);
  yard.land(1);
  yard.cancel(2);
  yard.land(3);
  EXPECT_TRUE(idle(yard.upstream));
  EXPECT_THAT(yard.resumed, IsEmpty());
}

TEST(Rest, fewer_slots_hold_those_that_go_on_too) {
  SchedulerFixture yard({.max_concurrent = 2});
  let_rest(yard, {1});
  yard.arrive_all({2, 3});
  yard.change({.max_concurrent = 1});
  yard.resume(1);
  yard.land(2);
  EXPECT_THAT(yard.resumed, IsEmpty());
  yard.land(3);
  EXPECT_THAT(yard.resumed, ElementsAre(1));
}

TEST(Rest, counts_in_the_mean_flight_as_if_it_had_landed) {
  SchedulerFixture yard({.max_concurrent = 1});
  yard.arrive(tunnel(1));
  yard.now += 8 * kSecond;
  yard.park(1);
  yard.now += 30 * kSecond;
  yard.arrive_all({2, 3, 4});
  EXPECT_EQ(yard.upstream.retry_after(yard.now), 16 * kSecond) << "two wait, and a slot was held for 8 s";
}

TEST(Rest, an_estimate_counts_flights_that_have_not_landed) {
  SchedulerFixture yard({.max_concurrent = 2, .max_wait = 100 * kSecond});
  yard.arrive(tunnel(1));
  yard.arrive_all({2, 3});
  EXPECT_EQ(yard.upstream.retry_after(yard.now), 1 * kSecond);
  yard.now += 50 * kSecond;
  EXPECT_EQ(yard.upstream.retry_after(yard.now), 25 * kSecond)
      << "nothing has landed: as long again as those in flight";
  yard.land(2);  // 3 starts, and nobody waits
  EXPECT_EQ(yard.upstream.retry_after(yard.now), 50 * kSecond)
      << "(50 s + 50 s) ÷ 1 that landed ÷ 2 slots, all of them taken";
}

TEST(MaxTunnels, bounds_what_is_open_and_one_more_waits) {
  SchedulerFixture yard({.max_concurrent = 1, .max_tunnels = 2});
  let_rest(yard, {1, 2});
  EXPECT_THAT(yard.arrive(tunnel(3)), IsEmpty());
  EXPECT_EQ(yard.upstream.pending(), 1u);
  EXPECT_THAT(yard.arrive(4), ElementsAre(4)) << "what is no tunnel does not wait for one";
  yard.land(4);
  EXPECT_THAT(yard.land(1), ElementsAre(3));
  EXPECT_THAT(yard.closed, IsEmpty());
}

TEST(MaxTunnels, closes_the_one_that_has_rested_longest_after_30_seconds) {
  SchedulerFixture yard({.max_concurrent = 1, .max_wait = 60 * kSecond, .max_tunnels = 2});
  const Time start = yard.now;
  let_rest(yard, {1});
  yard.now += 10 * kSecond;
  let_rest(yard, {2});
  yard.arrive(tunnel(3));
  EXPECT_EQ(yard.upstream.wake_at(), start + 30 * kSecond);
  EXPECT_THAT(yard.advance_to(start + 30 * kSecond), ElementsAre(3));
  EXPECT_THAT(yard.closed, ElementsAre(1));
  yard.land(1);  // a dead ticket
  EXPECT_EQ(yard.upstream.tunnels().resting, 1u);
}

TEST(MaxTunnels, closes_those_first_and_at_once_of_which_nobody_will_ask_anything) {
  SchedulerFixture yard({.max_concurrent = 2, .max_tunnels = 3});
  let_rest(yard, {1, 2});
  yard.arrive(tunnel(3));
  yard.mark_spare(2);
  yard.mark_spare(3);
  EXPECT_THAT(yard.arrive(tunnel(4)), ElementsAre(4));
  EXPECT_THAT(yard.closed, ElementsAre(2));
  EXPECT_THAT(yard.arrive(tunnel(5)), IsEmpty()) << "3 does not rest yet";
  EXPECT_THAT(yard.park(3), ElementsAre(5));
  EXPECT_THAT(yard.closed, ElementsAre(2, 3));
}

TEST(MaxTunnels, closes_nobody_for_one_that_has_no_slot_either) {
  SchedulerFixture yard({.max_concurrent = 1, .max_wait = 60 * kSecond, .max_tunnels = 2});
  let_rest(yard, {1});
  yard.arrive(tunnel(2));
  yard.arrive(tunnel(3));
  yard.advance_to(yard.now + 40 * kSecond);
  EXPECT_THAT(yard.closed, IsEmpty());
  EXPECT_THAT(yard.park(2), ElementsAre(3));
  EXPECT_THAT(yard.closed, ElementsAre(1));
}

TEST(MaxTunnels, closes_nobody_for_one_that_a_limit_holds) {
  LocalLimiter limiter({{.kind = PacerConfig{.qps = 0.02}}}, 0);  // one each 50 s
  SchedulerFixture yard({.max_concurrent = 4, .max_wait = 100 * kSecond, .max_tunnels = 1}, limiter);
  let_rest(yard, {1});
  yard.arrive(2);  // waits for the pacer
  yard.now += 40 * kSecond;
  yard.arrive(tunnel(3));
  EXPECT_THAT(yard.closed, IsEmpty()) << "it could not leave anyway";
}

TEST(MaxTunnels, are_named_where_most_of_the_wait_was_for_one_to_end) {
  SchedulerFixture yard({.max_concurrent = 4, .max_wait = 60 * kSecond, .max_tunnels = 1});
  yard.arrive(tunnel(1));
  yard.arrive(tunnel(2));
  yard.now += 20 * kSecond;
  EXPECT_THAT(yard.land(1), ElementsAre(2));
  EXPECT_EQ(yard.waited[2], 20 * kSecond);
  EXPECT_EQ(yard.limited[2], kTunnels);
}

TEST(MaxTunnels, refuses_at_the_deadline_and_says_why) {
  SchedulerFixture yard({.max_concurrent = 1, .max_wait = 5 * kSecond, .max_tunnels = 1});
  let_rest(yard, {1});
  yard.arrive(tunnel(2));
  yard.advance_to(yard.now + 5 * kSecond + 1);
  ASSERT_THAT(yard.refused, ElementsAre(2));
  EXPECT_EQ(yard.refusals[2].why, Refused::wait_over);
  EXPECT_EQ(yard.refusals[2].limited_by, kTunnels);
  EXPECT_TRUE(yard.upstream.tunnels().resting == 1 && yard.upstream.pending() == 0);
}

TEST(MaxTunnels, may_be_raised) {
  SchedulerFixture yard({.max_concurrent = 2, .max_tunnels = 1});
  let_rest(yard, {1});
  yard.arrive(tunnel(2));
  EXPECT_THAT(yard.change({.max_concurrent = 2, .max_tunnels = 2}), ElementsAre(2));
}

}  // namespace
}  // namespace penstock::flow
