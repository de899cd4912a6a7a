// SPDX-License-Identifier: Apache-2.0
// One lane, no limits: first come first served, never over max_concurrent, nobody idle while a slot is free.
#include "flow/scheduler_fixture.h"

namespace penstock::flow {
namespace {

TEST(Queue, starts_a_request_at_once_while_a_slot_is_free) {
  SchedulerFixture yard({.max_concurrent = 2});
  EXPECT_THAT(yard.arrive(1), ElementsAre(1));
  EXPECT_THAT(yard.arrive(2), ElementsAre(2));
  EXPECT_EQ(yard.upstream.in_flight(), 2u);
  EXPECT_EQ(yard.upstream.pending(), 0u);
  EXPECT_EQ(yard.waited.at(2), 0);
}

TEST(Queue, never_flies_more_than_max_concurrent) {
  SchedulerFixture yard({.max_concurrent = 2});
  EXPECT_THAT(yard.arrive_all({1, 2, 3, 4}), ElementsAre(1, 2));
  EXPECT_EQ(yard.upstream.in_flight(), 2u);
  EXPECT_EQ(yard.upstream.pending(), 2u);
}

TEST(Queue, serves_first_come_first) {
  SchedulerFixture yard({.max_concurrent = 1});
  yard.arrive_all({1, 2, 3, 4});
  EXPECT_THAT(yard.land(1), ElementsAre(2));
  EXPECT_THAT(yard.land(2), ElementsAre(3));
  EXPECT_THAT(yard.land(3), ElementsAre(4));
  EXPECT_THAT(yard.land(4), IsEmpty());
}

TEST(Queue, a_landing_starts_the_next_in_the_same_call_and_says_how_long_it_waited) {
  SchedulerFixture yard({.max_concurrent = 1});
  yard.arrive_all({1, 2});
  yard.now += 250 * kMs;
  EXPECT_THAT(yard.land(1), ElementsAre(2));
  EXPECT_EQ(yard.waited.at(2), 250 * kMs);
}

TEST(Queue, an_arrival_does_not_overtake_one_that_waits) {
  SchedulerFixture yard({.max_concurrent = 1});
  yard.arrive_all({1, 2});
  EXPECT_THAT(yard.arrive(3), IsEmpty());
  EXPECT_THAT(yard.land(1), ElementsAre(2));
}

TEST(Queue, a_full_queue_refuses_the_next) {
  SchedulerFixture yard({.max_concurrent = 1, .max_pending = 2});
  yard.arrive_all({1, 2, 3, 4});
  EXPECT_THAT(yard.refused, ElementsAre(4));
  EXPECT_EQ(yard.refusals.at(4).why, Refused::queue_full);
  EXPECT_EQ(yard.refusals.at(4).waited, 0);
  EXPECT_EQ(yard.upstream.pending(), 2u);
}

TEST(Queue, a_full_queue_has_room_again_when_one_leaves_or_takes_off) {
  SchedulerFixture yard({.max_concurrent = 1, .max_pending = 1});
  yard.arrive_all({1, 2});
  yard.cancel(2);
  yard.arrive(3);
  yard.land(1);
  yard.arrive(4);
  EXPECT_THAT(yard.refused, IsEmpty());
  EXPECT_EQ(yard.upstream.pending(), 1u);
}

TEST(Queue, counts_all_lanes_against_max_pending) {
  SchedulerFixture yard({.max_concurrent = 1, .max_pending = 2});
  yard.arrive(1, "a");
  yard.arrive(2, "b");
  yard.arrive(3, "c");
  yard.arrive(4, "d");
  EXPECT_THAT(yard.refused, ElementsAre(4));
}

TEST(Queue, without_pending_places_it_still_starts_whoever_finds_a_slot) {
  SchedulerFixture yard({.max_concurrent = 1, .max_pending = 0});
  EXPECT_THAT(yard.arrive(1), ElementsAre(1));
  EXPECT_THAT(yard.arrive(2), IsEmpty());
  EXPECT_THAT(yard.refused, ElementsAre(2));
  yard.land(1);
  EXPECT_THAT(yard.arrive(3), ElementsAre(3));
}

TEST(Queue, a_request_that_leaves_while_pending_costs_the_others_nothing) {
  SchedulerFixture yard({.max_concurrent = 1});
  yard.arrive_all({1, 2, 3, 4});
  EXPECT_THAT(yard.cancel(3), IsEmpty());
  EXPECT_THAT(yard.cancel(2), IsEmpty());
  EXPECT_EQ(yard.upstream.pending(), 1u);
  EXPECT_THAT(yard.land(1), ElementsAre(4));
}

TEST(Queue, the_last_in_line_may_leave_and_others_come_after_it) {
  SchedulerFixture yard({.max_concurrent = 1});
  yard.arrive_all({1, 2, 3});
  yard.cancel(3);
  yard.arrive(4);
  EXPECT_THAT(yard.land(1), ElementsAre(2));
  EXPECT_THAT(yard.land(2), ElementsAre(4));
}

TEST(Queue, a_dead_ticket_changes_nothing) {
  SchedulerFixture yard({.max_concurrent = 1});
  yard.arrive_all({1, 2, 3});
  yard.cancel(2);
  EXPECT_THAT(yard.cancel(2), IsEmpty());
  EXPECT_THAT(yard.land(2), IsEmpty());
  EXPECT_THAT(yard.requeue(2), IsEmpty());
  EXPECT_THAT(yard.land(1), ElementsAre(3));
  EXPECT_THAT(yard.land(1), IsEmpty());
  EXPECT_EQ(yard.upstream.in_flight(), 1u);
  EXPECT_EQ(yard.upstream.pending(), 0u);
}

TEST(Queue, a_dead_ticket_does_not_reach_the_request_that_took_its_place) {
  SchedulerFixture yard({.max_concurrent = 1});
  yard.arrive_all({1, 2});
  yard.cancel(2);
  yard.arrive(3);
  ASSERT_EQ(yard.ticket(3).index, yard.ticket(2).index);
  yard.cancel(2);
  EXPECT_EQ(yard.upstream.pending(), 1u);
  EXPECT_THAT(yard.land(1), ElementsAre(3));
}

TEST(Queue, the_ticket_of_a_refused_request_is_dead) {
  SchedulerFixture yard({.max_concurrent = 1, .max_pending = 0});
  yard.arrive_all({1, 2});
  EXPECT_EQ(yard.ticket(2), Ticket{});
  EXPECT_THAT(yard.land(2), IsEmpty());
  EXPECT_EQ(yard.upstream.in_flight(), 1u);
}

TEST(Queue, one_who_leaves_before_its_start_is_carried_out_frees_its_slot) {
  SchedulerFixture yard({.max_concurrent = 1});
  yard.arrive_all({1, 2});
  EXPECT_THAT(yard.cancel(1), ElementsAre(2));
  EXPECT_EQ(yard.upstream.in_flight(), 1u);
}

TEST(Queue, a_landing_ends_a_request_that_waits_too) {
  SchedulerFixture yard({.max_concurrent = 1});
  yard.arrive_all({1, 2, 3});
  EXPECT_THAT(yard.land(2), IsEmpty());
  EXPECT_EQ(yard.upstream.pending(), 1u);
  EXPECT_THAT(yard.land(1), ElementsAre(3));
}

TEST(Queue, a_pending_request_cannot_be_sent_once_more) {
  SchedulerFixture yard({.max_concurrent = 1});
  yard.arrive_all({1, 2});
  EXPECT_THAT(yard.requeue(2), IsEmpty());
  EXPECT_EQ(yard.upstream.in_flight(), 1u);
  EXPECT_EQ(yard.upstream.pending(), 1u);
}

TEST(Queue, is_idle_when_nothing_is_pending_or_in_flight) {
  SchedulerFixture yard({.max_concurrent = 1});
  EXPECT_TRUE(idle(yard.upstream));
  yard.arrive_all({1, 2});
  yard.land(1);
  EXPECT_FALSE(idle(yard.upstream));
  yard.land(2);
  EXPECT_TRUE(idle(yard.upstream));
  EXPECT_EQ(yard.upstream.wake_at(), std::nullopt);
}

TEST(Queue, knows_the_oldest_wait_over_all_lanes) {
  SchedulerFixture yard({.max_concurrent = 1});
  EXPECT_EQ(yard.upstream.forecast().oldest_wait(yard.now), 0);
  yard.arrive(1);
  EXPECT_EQ(yard.upstream.forecast().oldest_wait(yard.now + kSecond), 0);
  const Time first = yard.now += 10 * kMs;
  yard.arrive(2, "a");
  yard.now += 10 * kMs;
  yard.arrive(3);
  yard.arrive(4, "a");
  EXPECT_EQ(yard.upstream.forecast().oldest_wait(yard.now), yard.now - first);
  yard.cancel(2);
  EXPECT_EQ(yard.upstream.forecast().oldest_wait(yard.now + kMs), kMs);
}

}  // namespace
}  // namespace penstock::flow
