// SPDX-License-Identifier: Apache-2.0
// A started request that must be sent once more: first in line, with the slot it has, but with a new departure.
#include "flow/local_limiter.h"
#include "flow/scheduler_fixture.h"

namespace penstock::flow {
namespace {

TEST(Again, a_request_starts_again_at_once_without_limits) {
  SchedulerFixture yard({.max_concurrent = 1});
  yard.arrive_all({1, 2});
  EXPECT_THAT(yard.requeue(1), ElementsAre(1));
  EXPECT_EQ(yard.upstream.in_flight(), 1u);
  EXPECT_EQ(yard.upstream.pending(), 1u);
  EXPECT_THAT(yard.land(1), ElementsAre(2));
}

TEST(Again, it_takes_a_new_departure) {
  SchedulerFixture yard({.max_concurrent = 1}, limits(Spacing(10 * kMs)));
  const Time start = yard.now;
  yard.arrive(1);
  EXPECT_THAT(yard.requeue(1), IsEmpty());
  EXPECT_EQ(yard.upstream.wake_at(), start + 10 * kMs);
  EXPECT_THAT(yard.advance_to(start + 10 * kMs), ElementsAre(1));
}

TEST(Again, it_goes_before_all_that_have_not_flown) {
  SchedulerFixture yard({.max_concurrent = 2}, limits(Spacing(10 * kMs)));
  const Time start = yard.now;
  yard.arrive_all({1, 2, 3});  // 2 is booked for 10 ms
  yard.requeue(1);
  EXPECT_THAT(yard.advance_to(start + 10 * kMs), ElementsAre(1));
  EXPECT_THAT(yard.advance_to(start + 20 * kMs), ElementsAre(2));
}

TEST(Again, those_that_came_back_go_in_the_order_in_which_they_did) {
  SchedulerFixture yard({.max_concurrent = 3}, limits(Spacing(kMs)));
  yard.arrive_all({1, 2, 3});
  yard.advance_to(yard.now + 2 * kMs);
  ASSERT_EQ(yard.upstream.in_flight(), 3u);
  yard.requeue(2);
  yard.requeue(1);
  EXPECT_THAT(yard.advance_to(yard.now + 10 * kMs), ElementsAre(2, 1));
}

TEST(Again, it_keeps_its_slot_while_it_waits) {
  SchedulerFixture yard({.max_concurrent = 1}, limits(Spacing(10 * kSecond)));
  yard.arrive_all({1, 2});
  yard.requeue(1);
  EXPECT_EQ(yard.upstream.in_flight(), 1u);
  EXPECT_EQ(yard.upstream.slots_held(), 1u);
  EXPECT_EQ(yard.upstream.pending(), 1u) << "it is in flight, not pending";
}

TEST(Again, it_cannot_be_refused_for_waiting) {
  SchedulerFixture yard({.max_concurrent = 1, .max_wait = kSecond}, limits(Spacing(20 * kSecond)));
  const Time start = yard.now;
  yard.arrive(1);
  yard.requeue(1);
  yard.advance_to(start + 5 * kSecond);
  EXPECT_THAT(yard.refused, IsEmpty());
  yard.advance_to(*yard.upstream.wake_at());
  EXPECT_THAT(yard.advance_to(start + 20 * kSecond), ElementsAre(1));
}

TEST(Again, a_full_queue_does_not_keep_it_out) {
  SchedulerFixture yard({.max_concurrent = 1, .max_pending = 1}, limits(Spacing(10 * kMs)));
  yard.arrive_all({1, 2});
  yard.requeue(1);
  EXPECT_THAT(yard.refused, IsEmpty());
  EXPECT_THAT(yard.advance_to(yard.now + 10 * kMs), ElementsAre(1));
}

TEST(Again, one_who_leaves_then_frees_its_slot_and_gives_its_departure_to_the_next) {
  SchedulerFixture yard({.max_concurrent = 1}, limits(Spacing(10 * kMs)));
  const Time start = yard.now;
  yard.arrive_all({1, 2});
  yard.requeue(1);
  EXPECT_THAT(yard.cancel(1), IsEmpty());
  EXPECT_EQ(yard.upstream.in_flight(), 0u);
  EXPECT_EQ(yard.upstream.slots_held(), 1u);
  EXPECT_THAT(yard.advance_to(start + 10 * kMs), ElementsAre(2));
}

TEST(Again, one_who_leaves_alone_leaves_nothing_behind) {
  SchedulerFixture yard({.max_concurrent = 1}, limits(Spacing(10 * kMs)));
  yard.arrive(1);
  yard.requeue(1);
  yard.cancel(1);
  EXPECT_TRUE(idle(yard.upstream));
  EXPECT_EQ(yard.upstream.wake_at(), std::nullopt);
}

TEST(Again, it_asks_even_while_no_slot_is_free) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  yard.arrive_all({1, 2});
  yard.answer({yard.now});
  yard.requeue(1);
  EXPECT_THAT(limiter.asks, ElementsAre(SlowLimiter::Asked{"", 1}, SlowLimiter::Asked{"", 1}));
  EXPECT_EQ(yard.upstream.slots_held(), 1u);
  EXPECT_THAT(yard.answer({yard.now}), ElementsAre(1));
}

TEST(Again, it_takes_the_answer_that_is_under_way_for_its_lane) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 2}, limiter);
  yard.arrive_all({1, 2});
  yard.answer({yard.now});
  ASSERT_EQ(limiter.asks.size(), 2u);  // for 2
  yard.requeue(1);
  EXPECT_THAT(yard.answer({yard.now}), ElementsAre(1));
  EXPECT_EQ(limiter.asks.size(), 3u) << "for 2, once more";
  EXPECT_EQ(yard.upstream.slots_held(), 2u);
  EXPECT_THAT(yard.answer({yard.now}), ElementsAre(2));
}

TEST(Again, the_slot_of_a_departure_that_it_takes_is_another_lanes_in_the_meantime) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 2}, limiter);
  const Time start = yard.now;
  yard.arrive(1, "a");
  yard.answer({start}, {}, "a");
  yard.arrive(2, "a");
  yard.answer({start + 10 * kMs}, {}, "a");
  yard.arrive(3, "b");
  ASSERT_EQ(limiter.asks.size(), 2u) << "both slots are held";
  yard.requeue(1);  // takes the departure of 2, with a slot of its own
  EXPECT_THAT(limiter.asks.back(), (SlowLimiter::Asked{"b", 1}));
  EXPECT_EQ(yard.upstream.slots_held(), 2u);
}

TEST(Again, a_flight_counts_from_its_first_take_off) {
  SchedulerFixture yard({.max_concurrent = 1});
  yard.arrive_all({1, 2, 3});
  yard.now += 10 * kSecond;
  yard.requeue(1);
  yard.now += 10 * kSecond;
  yard.land(1);
  EXPECT_EQ(yard.upstream.retry_after(yard.now), 20 * kSecond) << "one waits, for the mean of one flight of 20 s";
}

// A start that is not carried out.

TEST(TurnBack, the_next_has_the_departure_and_the_slot) {
  SchedulerFixture yard({.max_concurrent = 1}, limits(FixedWindow(1, kMinute)));
  EXPECT_THAT(yard.arrive_all({1, 2, 3}), ElementsAre(1));
  EXPECT_THAT(yard.turn_back(1), ElementsAre(2)) << "of the same window";
  EXPECT_EQ(yard.upstream.in_flight(), 1u);
  EXPECT_EQ(yard.upstream.pending(), 1u);
  EXPECT_THAT(yard.land(1), IsEmpty()) << "its ticket is dead";
  EXPECT_THAT(yard.land(2), IsEmpty()) << "the window is used up";
}

TEST(TurnBack, those_that_wait_may_be_turned_back_one_after_the_other) {
  SchedulerFixture yard({.max_concurrent = 4}, limits(FixedWindow(1, kMinute)));
  yard.arrive_all({1, 2, 3, 4});
  EXPECT_THAT(yard.turn_back(1), ElementsAre(2));
  EXPECT_THAT(yard.turn_back(2), ElementsAre(3));
  EXPECT_THAT(yard.turn_back(3), ElementsAre(4));
  EXPECT_THAT(yard.turn_back(4), IsEmpty());
  EXPECT_TRUE(idle(yard.upstream));
}

TEST(TurnBack, gives_the_permit_of_a_semaphore_back_once) {
  LocalLimiter limiter({{.kind = SemaphoreConfig{.capacity = 2}}}, 0);
  SchedulerFixture yard({.max_concurrent = 8}, limiter);
  EXPECT_THAT(yard.arrive_all({1, 2, 3, 4}), ElementsAre(1, 2));
  EXPECT_THAT(yard.turn_back(1), ElementsAre(3)) << "and not 4 too";
  EXPECT_THAT(yard.land(2), ElementsAre(4));
}

TEST(TurnBack, a_probe_that_is_turned_back_lets_the_next_one_try) {
  SchedulerFixture yard({.max_concurrent = 4});
  yard.arrive(1);
  yard.pause_alone(1);
  yard.land(1);
  yard.arrive_all({2, 3});
  EXPECT_THAT(yard.advance_to(yard.now + kSecond), ElementsAre(2));
  EXPECT_THAT(yard.turn_back(2), ElementsAre(3));
}

}  // namespace
}  // namespace penstock::flow
