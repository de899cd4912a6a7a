// SPDX-License-Identifier: Apache-2.0
// A permit of a semaphore in this process that comes free is somebody's as long as anybody waits for it, whatever else
// stops the one who was called for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flow/local_limiter.h"
#include "flow/scheduler_fixture.h"
#include "support/scenario.h"

namespace penstock::flow {
namespace {

using scenarios::limit;
using scenarios::pacer;
using scenarios::per_group;
using scenarios::refusing;
using scenarios::window;

LimitConfig permits(int count) { return limit(SemaphoreConfig{.capacity = count}); }

/// A yard whose limits are real.
struct Place {
  Place(int slots, std::vector<LimitConfig> limits)
      : limiter(std::move(limits)), yard({.max_concurrent = slots}, limiter) {
    yard.now += 300 * kMs;  // off the edges of windows
  }
  LocalLimiter limiter;
  SchedulerFixture yard;
};

TEST(FreePermit, goes_to_the_next_lane_if_the_one_that_was_called_is_paused) {
  Place place(4, {permits(1)});
  EXPECT_THAT(place.yard.arrive(1, "x"), ElementsAre(1));
  place.yard.arrive(2, "a");
  place.yard.arrive(3, "b");
  place.limiter.pause(place.yard.now, "a", place.yard.now + kSecond);
  EXPECT_THAT(place.yard.land(1), ElementsAre(3));
}

TEST(FreePermit, goes_to_the_next_lane_if_the_one_that_was_called_is_refused) {
  Place place(4, {permits(2), refusing(window(4, kSecond))});
  EXPECT_THAT(place.yard.arrive_all({1, 2}, "x"), ElementsAre(1, 2));
  place.yard.arrive(3, "a");
  place.yard.arrive({.id = 4, .weight = 2, .group = "b"});
  place.yard.arrive(5, "c");
  EXPECT_THAT(place.yard.land(1), ElementsAre(3));
  EXPECT_THAT(place.yard.land(2), ElementsAre(5));
  EXPECT_THAT(place.yard.refused, ElementsAre(4));
}

TEST(FreePermit, is_for_those_first_who_have_a_slot_already) {
  Place place(3, {permits(2)});
  EXPECT_THAT(place.yard.arrive_all({1, 2}, "a"), ElementsAre(1, 2));
  place.yard.arrive(3, "b");
  place.yard.arrive(4, "c");
  place.yard.arrive(5, "a");
  EXPECT_THAT(place.yard.requeue(1), ElementsAre(1)) << "with a slot in its hands it would keep the others waiting";
  EXPECT_THAT(place.yard.requeue(2), ElementsAre(2));
  EXPECT_THAT(place.yard.land(1), ElementsAre(3));
}

TEST(FreePermit, that_was_held_for_a_lighter_request_is_asked_for_anew) {
  Place place(2, {permits(1), pacer(25)});
  EXPECT_THAT(place.yard.arrive(1), ElementsAre(1));
  place.yard.land(1);
  place.yard.arrive(2);
  place.yard.arrive({.id = 3, .weight = 3});
  place.yard.cancel(2);
  Ids started = place.yard.advance_to(place.yard.now + 40 * kMs);
  if (started.empty()) started = place.yard.advance_to(place.yard.now + kSecond);
  EXPECT_THAT(started, ElementsAre(3));
}

TEST(FreePermit, that_comes_while_its_lane_wants_no_more_is_there_for_who_joins_it) {
  Place place(4, {permits(2), pacer(50)});
  EXPECT_THAT(place.yard.arrive(1, "b"), ElementsAre(1));
  place.yard.arrive_all({2, 3}, "a");
  place.yard.cancel(3);
  place.yard.land(1);
  place.yard.arrive(4, "a");
  EXPECT_EQ(place.yard.upstream.slots_held(), 2u);
}

TEST(FreePermit, that_is_given_back_is_for_those_who_await_one_though_others_may_have_its_time) {
  Place place(4, {permits(1), pacer(50)});
  EXPECT_THAT(place.yard.arrive(1, "g"), ElementsAre(1));
  place.yard.land(1);
  place.yard.arrive(2, "g");
  place.limiter.pause(place.yard.now, "t", place.yard.now + kSecond);
  place.yard.arrive(3, "t");
  place.yard.arrive(4, "w");
  place.yard.cancel(2);
  EXPECT_THAT(place.yard.advance_to(place.yard.now + 40 * kMs), ElementsAre(4));
}

TEST(FreePermit, that_was_held_for_one_who_came_too_late_is_for_whoever_has_just_been_told_that_there_is_none) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 4}, limiter);
  yard.arrive(1, "a", 100 * kMs);
  yard.answer({yard.now + 50 * kMs}, {}, "a");
  yard.arrive(2, "b");
  yard.now += kSecond;  // nobody was awake
  limiter.asks.clear();
  EXPECT_THAT(yard.answer(Booking{.stop = Booking::Stop::permit}, "b"), IsEmpty());
  EXPECT_THAT(yard.refused, ElementsAre(1));
  EXPECT_THAT(limiter.given_back, ElementsAre(yard.now - 950 * kMs));
  EXPECT_THAT(limiter.asks, ElementsAre(SlowLimiter::Asked{"b", 1}));
}

TEST(FreePermit, goes_to_the_next_lane_if_the_one_that_was_called_has_none_of_its_group) {
  Place place(4, {permits(2), per_group(permits(1))});
  EXPECT_THAT(place.yard.arrive(1, "x"), ElementsAre(1));
  EXPECT_THAT(place.yard.arrive(2, "y"), ElementsAre(2));
  place.yard.arrive(3, "x");
  place.yard.arrive(4, "w");
  EXPECT_THAT(place.yard.land(2), ElementsAre(4));
  EXPECT_THAT(place.yard.land(1), ElementsAre(3));
}

TEST(FreePermit, that_the_request_which_makes_room_for_an_arrival_had_is_for_the_arrival) {
  LocalLimiter limiter({permits(2), pacer(100)});
  SchedulerFixture yard({.max_concurrent = 4, .max_pending = 2}, limiter);
  EXPECT_THAT(yard.arrive(1, "b"), ElementsAre(1));
  yard.land(1);
  yard.arrive_all({2, 3}, "b");
  yard.arrive(4, "a");
  EXPECT_THAT(yard.refused, ElementsAre(3)) << "the newest of the longest lane";
  EXPECT_THAT(yard.advance_to(yard.now + 10 * kMs), ElementsAre(2));
  EXPECT_THAT(yard.advance_to(yard.now + 10 * kMs), ElementsAre(4));
}

TEST(FreePermits, of_several_lighter_requests_go_on_if_these_may_not_have_them_again_yet) {
  Place place(8, {permits(4), per_group(pacer(1000))});
  EXPECT_THAT(place.yard.arrive({.id = 1, .weight = 8, .group = "a"}), ElementsAre(1));
  place.yard.advance_to(place.yard.now + 5 * kMs);
  EXPECT_THAT(place.yard.arrive_all({2, 3, 4}, "a"), IsEmpty()) << "after 3, 4 and 5 ms";
  EXPECT_THAT(place.yard.arrive(5, "b"), IsEmpty());
  EXPECT_THAT(place.yard.arrive(6, "c"), IsEmpty());
  EXPECT_THAT(place.yard.arrive(7, "d"), IsEmpty());
  EXPECT_THAT(place.yard.requeue(1), ElementsAre(5));
  EXPECT_THAT(place.yard.advance_to(place.yard.now + 3 * kMs), ElementsAre(1, 6, 7));
}

/// A limiter kept a permit of the upstream for an ask of `x`, which Redis then puts off.
TEST(FreePermit, that_was_kept_for_an_ask_in_vain_is_for_the_first_lane_that_waits_for_its_semaphore) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 8}, limiter);
  yard.arrive('x', "x");
  for (const auto& [lane, semaphore] : {std::pair("a", 0), std::pair("b", 1), std::pair("c", 1)}) {
    yard.arrive(static_cast<RequestId>(lane[0]), lane);
    yard.answer(Booking{.stop = Booking::Stop::permit, .limited_by = semaphore}, LaneKey(lane));
  }
  const auto asked_for = [&](LimitIndex semaphore) {
    limiter.asks.clear();
    Booking later = turn(Booking::Scope::group, yard.now);
    later.freed = {semaphore};
    yard.answer(later, "x");
    const auto asks = limiter.asks;
    yard.advance_to(yard.now + kMs);  // and asks again
    return asks;
  };
  EXPECT_THAT(asked_for(1), ElementsAre(SlowLimiter::Asked{"b", 1}));
  EXPECT_THAT(asked_for(2), IsEmpty());
  EXPECT_THAT(asked_for(1), ElementsAre(SlowLimiter::Asked{"c", 1}));
  EXPECT_THAT(asked_for(1), IsEmpty());
  EXPECT_THAT(asked_for(0), ElementsAre(SlowLimiter::Asked{"a", 1}));
}

TEST(FreePermit, that_was_kept_for_an_ask_in_vain_does_not_shorten_what_the_upstream_makes_all_wait) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 8, .max_wait = 2'000 * kSecond}, limiter);
  yard.arrive(1, "a");
  yard.arrive(2, "b");
  yard.answer(Booking{.stop = Booking::Stop::permit, .limited_by = 0}, "b");
  Booking later = turn(Booking::Scope::upstream, yard.now + 1'000 * kSecond);
  later.freed = {0};
  limiter.asks.clear();
  EXPECT_THAT(yard.answer(later, "a"), IsEmpty());
  EXPECT_THAT(limiter.asks, IsEmpty());
  EXPECT_EQ(yard.upstream.wake_at(), later.ask_again);
}

TEST(FreePermit, that_was_given_back_as_too_light_while_its_lane_asked_goes_on_if_the_answer_is_all_it_wants) {
  SlowLimiter limiter;
  limiter.frees_permits = true;
  SchedulerFixture yard({.max_concurrent = 8}, limiter);
  const Time begin = yard.now;
  const Booking no_permit{.stop = Booking::Stop::permit};
  yard.arrive(1, "x");
  EXPECT_THAT(yard.answer({begin}, {}, "x"), ElementsAre(1));
  yard.arrive_all({2, 3}, "a");
  yard.arrive({.id = 4, .weight = 3, .group = "a"});
  yard.answer({begin + 20 * kMs}, {}, "a");
  yard.answer(no_permit, "a");
  yard.arrive(5, "b");
  yard.answer(no_permit, "b");
  yard.land(1);
  yard.cancel(2);
  yard.cancel(3);
  yard.advance_to(begin + 20 * kMs);
  EXPECT_THAT(limiter.given_back, ElementsAre(begin + 20 * kMs));
  limiter.asks.clear();
  yard.answer({begin + 30 * kMs}, {}, "a");
  EXPECT_THAT(limiter.asks, ElementsAre(SlowLimiter::Asked{"b", 1}));
}

TEST(FreePermit, that_was_given_back_as_too_light_is_for_a_lane_that_has_a_slot_if_its_own_finds_none) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 2}, limiter);
  const Booking no_permit{.stop = Booking::Stop::permit};
  yard.arrive(1, "b");
  EXPECT_THAT(yard.answer({yard.now}, {}, "b"), ElementsAre(1));
  yard.arrive(2, "a");
  yard.answer({yard.now + 20 * kMs}, {}, "a");
  yard.arrive({.id = 3, .weight = 3, .group = "a"});
  yard.requeue(1);
  yard.answer(no_permit, "b");
  yard.cancel(2);
  yard.change({.max_concurrent = 1});
  yard.answer(no_permit, "b");
  limiter.asks.clear();
  yard.advance_to(yard.now + 20 * kMs);
  EXPECT_THAT(limiter.given_back, ElementsAre(yard.now));
  EXPECT_THAT(limiter.asks, ElementsAre(SlowLimiter::Asked{"b", 1}));
}

TEST(Departures, that_are_due_are_taken_before_the_rest_is_refused) {
  Place place(4, {refusing(window(2, kSecond)), pacer(10)});
  EXPECT_THAT(place.yard.arrive_all({1, 2, 3}), ElementsAre(1));
  EXPECT_THAT(place.yard.advance_to(place.yard.now + 100 * kMs), ElementsAre(2));
  EXPECT_THAT(place.yard.refused, ElementsAre(3));
}

}  // namespace
}  // namespace penstock::flow
