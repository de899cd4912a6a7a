// SPDX-License-Identifier: Apache-2.0
// What a limiter may say instead of a departure: wait for a turn, for a permit, be refused; and how lanes go on from
// there.
#include "flow/local_limiter.h"
#include "flow/scheduler_fixture.h"
#include "support/scenario.h"

namespace penstock::flow {
namespace {

using scenarios::limit;
using scenarios::per_group;
using Asked = SlowLimiter::Asked;
using Scope = Booking::Scope;
using Stop = Booking::Stop;

TEST(Turn, of_the_upstream_holds_every_lane_and_the_one_that_asked_in_vain_comes_first_again) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive(1, "a");
  yard.answer(turn(Scope::upstream, yard.now + kSecond), "a");
  yard.arrive(2, "b");
  EXPECT_EQ(limiter.asks.size(), 1u) << "nobody asks while all are held";
  EXPECT_EQ(yard.upstream.wake_at(), yard.now + kSecond);
  yard.advance_to(yard.now + kSecond);
  yard.answer({yard.now}, {}, "a");
  EXPECT_THAT(limiter.asks, ElementsAre(Asked{"a", 1}, Asked{"a", 1}, Asked{"b", 1}));
}

TEST(Turn, of_a_group_holds_its_lane_alone) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive(1, "a");
  yard.answer(turn(Scope::group, yard.now + kSecond), "a");
  yard.arrive(2, "b");
  EXPECT_THAT(limiter.asks.back(), (Asked{"b", 1}));
}

TEST(Turn, of_one_that_is_heavy_and_refused_for_it_keeps_no_lighter_one_waiting) {
  LocalLimiter limiter({limit(WindowConfig{10, std::chrono::hours(1)})});
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  EXPECT_THAT(yard.arrive({.id = 1, .weight = 2, .group = "x"}), ElementsAre(1));
  yard.arrive({.id = 2, .weight = 9, .group = "a"});
  yard.arrive(3, "b");
  EXPECT_THAT(yard.land(1), ElementsAre(3));
  EXPECT_THAT(yard.refused, ElementsAre(2));
}

TEST(Turn, of_one_that_is_heavy_and_overtaken_or_leaves_keeps_no_lighter_one_waiting) {
  for (const LimitConfig& window : {limit(WindowConfig{10, std::chrono::seconds(20)}),
                                    per_group(limit(WindowConfig{10, std::chrono::seconds(20)}))}) {
    LocalLimiter limiter({window});
    SchedulerFixture yard({.max_concurrent = 4}, limiter);
    yard.now += 300 * kMs;  // off the edge of the window
    EXPECT_THAT(yard.arrive({.id = 1, .weight = 2}), ElementsAre(1));
    yard.arrive({.id = 2, .weight = 9});
    EXPECT_THAT(yard.arrive(3), IsEmpty()) << "first come, first served";
    EXPECT_THAT(yard.requeue(1), ElementsAre(1)) << "it was served before";
    EXPECT_THAT(yard.cancel(2), ElementsAre(3));
  }
}

TEST(Turn, is_given_up_when_nobody_is_left_to_take_it) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive(1, "a");
  yard.arrive(2, "b");
  yard.answer(turn(Scope::group, yard.now + kSecond), "a");
  yard.answer(turn(Scope::upstream, yard.now + kSecond), "b");
  yard.cancel(1);
  EXPECT_THAT(limiter.gave_up, ElementsAre(std::pair(Scope::group, "a")));
  yard.cancel(2);
  EXPECT_THAT(limiter.gave_up, ElementsAre(std::pair(Scope::group, "a"), std::pair(Scope::upstream, "b")));
  yard.arrive(3, "c");
  EXPECT_THAT(limiter.asks.back(), (Asked{"c", 1})) << "whoever comes now asks anew";
}

TEST(Turn, whose_time_came_without_a_slot_is_given_up_too_when_nobody_is_left) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  yard.arrive(1, "a");
  yard.answer(turn(Scope::group, yard.now + kSecond), "a");
  yard.arrive(2, "b");
  yard.answer({yard.now}, {}, "b");
  yard.advance_to(yard.now + 2 * kSecond);
  EXPECT_EQ(limiter.asks.size(), 2u) << "no slot is free";
  yard.cancel(1);
  EXPECT_THAT(limiter.gave_up, ElementsAre(std::pair(Scope::group, "a")));
}

TEST(Turn, of_the_upstream_is_kept_while_an_ask_is_under_way) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive(1, "a");
  yard.arrive(2, "b");
  yard.answer(turn(Scope::upstream, yard.now + kSecond), "a");
  yard.cancel(1);
  EXPECT_THAT(limiter.gave_up, IsEmpty()) << "b may have taken it over";
  yard.answer({yard.now}, {}, "b");
  EXPECT_THAT(limiter.gave_up, ElementsAre(std::pair(Scope::upstream, "b")));
}

TEST(Turn, of_the_upstream_is_kept_when_a_lane_that_waits_for_a_permit_of_it_has_nobody_left) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive(1, "a");
  yard.answer(Booking{.stop = Booking::Stop::permit}, "a");
  yard.arrive(2, "b");
  yard.answer(turn(Scope::upstream, yard.now + kSecond), "b");
  yard.cancel(1);
  EXPECT_THAT(limiter.gave_up, ElementsAre(std::pair(Scope::group, "a"))) << "b still waits for the upstream's turn";
  yard.cancel(2);
  EXPECT_THAT(limiter.gave_up, ElementsAre(std::pair(Scope::group, "a"), std::pair(Scope::upstream, "b")));
}

TEST(Turn, of_the_upstream_lets_lanes_ask_one_by_one_until_a_departure_is_granted_at_once) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 8}, limiter);
  yard.arrive(1, "a");
  yard.answer(turn(Scope::upstream, yard.now + kSecond), "a");
  yard.arrive(2, "b");
  yard.arrive(3, "c");
  yard.advance_to(yard.now + kSecond);
  EXPECT_EQ(limiter.asks.size(), 2u);
  EXPECT_GT(yard.upstream.wake_at(), yard.now) << "nothing is to be done before the answer";
  yard.answer({yard.now + 10 * kMs}, {}, "a");
  EXPECT_THAT(limiter.asks.back(), (Asked{"b", 1})) << "the next, not all";
  EXPECT_EQ(limiter.asks.size(), 3u);
  yard.answer({yard.now}, {}, "b");
  yard.arrive(4, "d");
  EXPECT_EQ(limiter.asks.size(), 5u) << "c and d together";
}

TEST(Turn, that_is_over_lets_twice_as_many_lanes_ask_with_each_departure_that_is_granted_at_once) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 20}, limiter);
  yard.arrive(1, "a");
  yard.answer(turn(Scope::upstream, yard.now + kSecond), "a");
  RequestId id = 1;
  for (const char* group : {"b", "c", "d", "e", "f", "g", "h"}) yard.arrive(++id, group);
  yard.advance_to(yard.now + kSecond);
  EXPECT_EQ(limiter.asks.size(), 2u);
  yard.answer({yard.now}, {}, "a");
  EXPECT_EQ(limiter.asks.size(), 4u) << "b and c";
  yard.answer({yard.now}, {}, "b");
  EXPECT_EQ(limiter.asks.size(), 7u) << "four under way";
  yard.answer(turn(Scope::upstream, yard.now + kSecond), "c");
  for (const char* group : {"d", "e", "f"}) yard.answer({yard.now + 10 * kMs}, {}, group);
  yard.advance_to(yard.now + kSecond);
  EXPECT_EQ(limiter.asks.size(), 8u) << "one after the next wait";
}

TEST(Turn, may_come_sooner_than_was_said) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive(1, "a");
  yard.answer(turn(Scope::upstream, yard.now + kSecond), "a");
  yard.retry(Scope::upstream);
  EXPECT_EQ(limiter.asks.size(), 2u);
  yard.answer(turn(Scope::group, yard.now + kSecond), "a");
  yard.retry(Scope::group, "b");
  EXPECT_EQ(limiter.asks.size(), 2u) << "that was said to another lane";
  yard.retry(Scope::group, "a");
  EXPECT_EQ(limiter.asks.size(), 3u);
}

// An answer that comes late lets one go and says at once what stops the next: that made the first wait for nothing.
TEST(Turn, names_the_limit_that_one_waited_for_and_not_what_stops_the_next) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive_all({1, 2});
  yard.answer(turn(Scope::group, yard.now + 10 * kMs, 0));
  yard.advance_to(yard.now + 10 * kMs);
  Booking next = turn(Scope::group, yard.now + 20 * kMs, 1);
  next.departures = {{.at = yard.now}};
  EXPECT_THAT(yard.answer(next), ElementsAre(1));
  EXPECT_EQ(yard.limited.at(1), 0);
  yard.advance_to(yard.now + 20 * kMs);
  EXPECT_THAT(yard.answer({yard.now}), ElementsAre(2));
  EXPECT_EQ(yard.limited.at(2), 1);
}

TEST(Turn, names_no_limit_of_one_that_waited_for_the_answer_alone) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive_all({1, 2, 3});
  yard.answer({yard.now});
  yard.now += 3 * kMs;
  Booking next = turn(Scope::group, yard.now + 20 * kMs, 1);
  next.departures = {{.at = yard.now}};
  EXPECT_THAT(yard.answer(next), ElementsAre(2));
  EXPECT_EQ(yard.limited.at(2), kNoLimit);
}

TEST(Permit, is_awaited_without_a_slot_and_taken_in_the_order_of_asking) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive(1, "a");
  yard.answer({yard.now}, {}, "a");
  const Booking none{.stop = Stop::permit, .scope = Scope::upstream, .limited_by = 3};
  for (const auto& [id, group] : {std::pair(2, "b"), std::pair(3, "c")}) {
    yard.arrive(id, group);
    if (limiter.asks.back().group == group) yard.answer(none, LaneKey(group));
  }
  EXPECT_EQ(yard.upstream.slots_held(), 1u);
  limiter.frees_permits = true;
  yard.land(1);
  EXPECT_THAT(limiter.asks.back(), (Asked{"b", 1}));
  EXPECT_THAT(yard.answer({yard.now}, {}, "b"), ElementsAre(2));
  EXPECT_EQ(yard.limited.at(2), kNoLimit) << "it has not waited: the clock stands still";
}

TEST(Permit, of_a_group_is_awaited_by_its_lane_alone) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive(1, "a");
  yard.answer({yard.now}, {}, "a");
  yard.arrive(2, "a");
  yard.answer({.stop = Stop::permit, .scope = Scope::group}, "a");
  yard.arrive(3, "b");
  EXPECT_THAT(limiter.asks.back(), (Asked{"b", 1}));
  limiter.frees_permits = true;
  yard.land(1);
  EXPECT_THAT(limiter.asks.back(), (Asked{"a", 1}));
}

TEST(Permit, of_all_processes_is_waited_for_by_each_newcomer_from_its_arrival_on) {
  SlowLimiter limiter;
  limiter.its_patience = 50 * kMs;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive(1);
  yard.answer({.stop = Stop::permit, .scope = Scope::upstream});
  EXPECT_EQ(limiter.asks.size(), 1u);
  yard.arrive(2);
  EXPECT_THAT(limiter.asks.back(), (Asked{"", 2}));
  yard.arrive(3);
  EXPECT_EQ(limiter.asks.size(), 2u) << "one ask at a time";
  yard.answer({.stop = Stop::permit, .scope = Scope::upstream});
  yard.arrive(4);
  EXPECT_THAT(limiter.asks.back(), (Asked{"", 4}));
}

TEST(Permit, of_all_processes_is_waited_for_by_those_that_came_while_the_first_one_asked) {
  SlowLimiter limiter;
  limiter.its_patience = 50 * kMs;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  const Booking no_permit{.stop = Stop::permit, .scope = Scope::upstream};
  yard.arrive(1);
  yard.arrive(2);
  yard.answer(no_permit);
  EXPECT_THAT(limiter.asks.back(), (Asked{"", 2}));
  yard.arrive(3);
  yard.answer(no_permit);
  EXPECT_EQ(limiter.asks.size(), 2u) << "half as many again are told of with the next that comes";
  yard.arrive(4);
  EXPECT_THAT(limiter.asks.back(), (Asked{"", 4}));
}

TEST(Permit, that_is_not_there_refuses_at_once_who_was_let_in_beyond_a_full_queue_to_ask) {
  SlowLimiter limiter;
  limiter.its_patience = 50 * kMs;
  SchedulerFixture yard({.max_concurrent = 4, .max_pending = 0}, limiter);
  yard.arrive(1);
  yard.arrive(2);
  yard.answer({.stop = Stop::permit, .scope = Scope::upstream});
  EXPECT_EQ(limiter.asks.size(), 1u);
  EXPECT_EQ(yard.refusals.at(1).why, Refused::queue_full);
  EXPECT_EQ(yard.refusals.at(2).why, Refused::queue_full);
}

TEST(RefuseMode, turns_away_who_is_at_the_head_and_names_the_limit) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive(1);
  const Booking refused{.stop = Stop::refused, .limited_by = 2, .ask_again = yard.now + kSecond};
  yard.answer(refused);
  EXPECT_EQ(yard.refusals.at(1).why, Refused::limited);
  EXPECT_EQ(yard.refusals.at(1).limited_by, 2);
  EXPECT_EQ(yard.upstream.slots_held(), 0u);
}

TEST(RefuseMode, need_not_be_asked_again_before_the_limit_allows_anything) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive({.id = 1, .weight = 2, .group = "a"});
  yard.answer({.stop = Stop::refused, .limited_by = 2, .ask_again = yard.now + kSecond}, "a");
  yard.arrive({.id = 2, .weight = 2, .group = "a"});
  EXPECT_EQ(yard.refusals.at(2).why, Refused::limited);
  EXPECT_EQ(limiter.asks.size(), 1u);
  yard.arrive({.id = 3, .weight = 1, .group = "a"});
  EXPECT_EQ(limiter.asks.size(), 2u) << "a lighter one may still fit";
  yard.cancel(3);
  yard.answer(std::vector<Time>{}, yard.now + 1, "a");
  yard.now += kSecond;
  yard.arrive({.id = 4, .weight = 2, .group = "a"});
  EXPECT_EQ(limiter.asks.size(), 3u);
}

TEST(RefuseMode, lets_pass_what_was_granted_before_it_refused) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive(1);
  yard.arrive_all({2, 3, 4});
  yard.answer({yard.now});
  EXPECT_THAT(limiter.asks.back(), (Asked{"", 3}));
  Booking one{.stop = Stop::refused, .limited_by = 0, .ask_again = yard.now + kSecond};
  one.departures.push_back({.at = yard.now});
  EXPECT_THAT(yard.answer(one), ElementsAre(2));
  EXPECT_THAT(yard.refused, ElementsAre(3, 4));
}

TEST(Unavailable, limits_refuse_whoever_asks) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive(1);
  yard.answer({.stop = Stop::unavailable, .limited_by = kRedis});
  EXPECT_EQ(yard.refusals.at(1).why, Refused::unavailable);
  yard.arrive(2);
  EXPECT_EQ(limiter.asks.size(), 2u);
}

TEST(Weight, is_asked_for_in_runs_of_equal_ones) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 8}, limiter);
  yard.arrive(1);
  for (const int weight : {1, 1, 3, 3, 1}) {
    yard.arrive({.id = static_cast<RequestId>(10 + yard.upstream.pending()), .weight = weight});
  }
  yard.answer({yard.now});
  EXPECT_THAT(limiter.asks.back(), (Asked{"", 2, 1}));
  yard.answer({yard.now, yard.now});
  EXPECT_THAT(limiter.asks.back(), (Asked{"", 2, 3}));
}

TEST(Weight, that_no_limit_can_ever_admit_is_refused_at_once) {
  SlowLimiter limiter;
  limiter.heaviest = 5;
  SchedulerFixture yard({.max_concurrent = 8}, limiter);
  yard.arrive({.id = 1, .weight = 6});
  EXPECT_EQ(yard.refusals.at(1).why, Refused::too_heavy);
  EXPECT_EQ(yard.refusals.at(1).limited_by, 7);
  EXPECT_THAT(limiter.asks, IsEmpty());
}

TEST(Weight, of_a_departure_for_one_who_left_does_not_pay_for_a_heavier_one) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 8}, limiter);
  yard.arrive(1);
  yard.arrive({.id = 2, .weight = 3});
  const Time at = yard.now + kMs;
  yard.answer({at});
  Booking three;
  three.departures.push_back({.at = at + kMs, .weight = 3});
  yard.answer(three);
  yard.cancel(1);
  EXPECT_THAT(yard.advance_to(at + kMs), IsEmpty());
  EXPECT_THAT(limiter.given_back, ElementsAre(at + kMs, at));
  EXPECT_THAT(limiter.asks.back(), (Asked{"", 1, 3}));
}

TEST(Patience, lets_one_that_may_not_wait_hear_the_answer) {
  SlowLimiter limiter;
  limiter.its_patience = 50 * kMs;
  SchedulerFixture yard({.max_concurrent = 2, .max_pending = 0, .max_wait = 0}, limiter);
  yard.arrive(1);
  yard.now += kMs;
  EXPECT_THAT(yard.answer({yard.now}), ElementsAre(1));
  yard.arrive(2);
  yard.answer(turn(Scope::upstream, yard.now + kSecond));
  EXPECT_THAT(yard.refused, ElementsAre(2)) << "it would have to wait";
}

TEST(Patience, lets_nobody_stay_in_a_full_queue_who_has_heard_the_answer) {
  SlowLimiter limiter;
  limiter.its_patience = 50 * kMs;
  SchedulerFixture yard({.max_concurrent = 3, .max_pending = 1}, limiter);
  yard.arrive_all({1, 2, 3});
  EXPECT_THAT(yard.refused, IsEmpty());
  EXPECT_THAT(yard.answer({yard.now}), ElementsAre(1));
  EXPECT_EQ(limiter.asks.size(), 2u) << "for the two others, who may start too";
  yard.answer(turn(Scope::upstream, yard.now + kSecond));
  EXPECT_THAT(yard.refused, ElementsAre(3));
  EXPECT_EQ(yard.refusals.at(3).why, Refused::queue_full);
}

TEST(Patience, lets_no_more_into_a_full_queue_than_could_start) {
  SlowLimiter limiter;
  limiter.its_patience = 50 * kMs;
  SchedulerFixture yard({.max_concurrent = 3, .max_pending = 1}, limiter);
  for (RequestId id = 1; id <= 100; ++id) yard.arrive(id);
  EXPECT_EQ(yard.upstream.pending(), 3u);
  EXPECT_EQ(yard.refused.size(), 97u);
}

TEST(Lead, is_how_near_the_last_departure_must_be_before_a_lane_asks_for_more) {
  SlowLimiter limiter;
  limiter.its_lead = 2 * kMs;
  SchedulerFixture yard({.max_concurrent = 8}, limiter);
  yard.arrive_all({1, 2, 3});
  const Time last = yard.now + 10 * kMs;
  yard.answer({last});
  EXPECT_EQ(limiter.asks.size(), 1u);
  yard.advance_to(last - 2 * kMs - 1);
  EXPECT_EQ(limiter.asks.size(), 1u);
  yard.advance_to(last - 2 * kMs);
  EXPECT_THAT(limiter.asks.back(), (Asked{"", 2}));
}

TEST(LimitedBy, is_the_limit_that_made_a_request_wait) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  yard.arrive_all({1, 2});
  yard.answer(turn(Scope::upstream, yard.now + kSecond, 4));
  EXPECT_EQ(yard.upstream.limited_by(yard.now, yard.ticket(2)), 4);
  yard.advance_to(yard.now + kSecond);
  yard.answer({yard.now});
  EXPECT_EQ(yard.limited.at(1), 4);
  yard.arrive(3);
  yard.now += kSecond;
  yard.land(1);
  yard.answer({yard.now});
  yard.now += kSecond;
  yard.land(2);
  yard.answer({yard.now});
  EXPECT_EQ(yard.limited.at(3), kSlots) << "it waited for a slot only";
}

TEST(LimitedBy, of_a_departure_that_is_not_now_is_its_own) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  yard.arrive(1);
  Booking later;
  later.departures.push_back({.at = yard.now + kMs, .limited_by = 2});
  yard.answer(later);
  yard.advance_to(yard.now + kMs);
  EXPECT_EQ(yard.limited.at(1), 2);
}

TEST(Estimate, takes_the_limits_into_account) {
  SlowLimiter limiter;
  limiter.pace = 3 * kSecond;
  SchedulerFixture yard({.max_concurrent = 1, .max_wait = 10 * kSecond}, limiter);
  yard.arrive_all({1, 2, 3});
  yard.answer(turn(Scope::upstream, yard.now + kSecond));
  EXPECT_EQ(yard.upstream.retry_after(yard.now), 9 * kSecond) << "three wait, three seconds each";
  yard.arrive(4);
  EXPECT_THAT(yard.refused, IsEmpty()) << "9 s ahead, and 10 s of patience";
  yard.arrive(5);
  EXPECT_EQ(yard.refusals.at(5).why, Refused::wait_over) << "12 s ahead";
}

}  // namespace
}  // namespace penstock::flow
