// SPDX-License-Identifier: Apache-2.0
// What an ask tells of those for whom it does not ask, and who could leave as well: other processes go by it.
#include "flow/scheduler_fixture.h"

namespace penstock::flow {
namespace {

using Scope = Booking::Scope;
using Beyond = SlowLimiter::Beyond;

TEST(Wants, of_the_same_lane_and_of_others_are_told_apart) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 6}, limiter);
  yard.arrive(1, "a");
  EXPECT_EQ(limiter.beyond.back(), (Beyond{0, 0}));
  yard.answer(turn(Scope::upstream, yard.now + kSecond), "a");
  yard.arrive_all({2, 3, 4}, "a");
  yard.arrive_all({5, 6}, "b");
  yard.advance_to(yard.now + kSecond);
  EXPECT_THAT(limiter.asks.back(), (SlowLimiter::Asked{"a", 3})) << "its part of the slots";
  EXPECT_EQ(limiter.beyond.back(), (Beyond{1, 2}));
}

TEST(Wants, are_counted_in_units) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 10}, limiter);
  yard.arrive({.id = 1, .weight = 2, .group = "a"});
  yard.arrive({.id = 2, .weight = 5, .group = "a"});
  yard.arrive({.id = 3, .group = "a"});
  yard.arrive({.id = 4, .group = "b"});
  EXPECT_EQ(limiter.beyond.back(), (Beyond{0, 6})) << "but for what is asked for already";
  yard.answer({.departures = {{.at = yard.now, .weight = 2}}}, "a");
  EXPECT_THAT(limiter.asks.back(), (SlowLimiter::Asked{"a", 1, 5}));
  EXPECT_EQ(limiter.beyond.back(), (Beyond{1, 0}));
}

TEST(Wants, are_no_more_than_there_are_slots_for) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 3}, limiter);
  yard.arrive_all({1, 2, 3, 4, 5}, "a");
  yard.arrive(6, "b");
  EXPECT_EQ(limiter.beyond.back(), (Beyond{0, 1})) << "two of three are held by those who ask";
}

TEST(Wants, of_a_group_that_waits_for_its_own_limits_or_for_a_permit_are_none) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 10}, limiter);
  yard.arrive_all({1, 2}, "a");
  yard.arrive_all({3, 4}, "b");
  yard.answer(turn(Scope::group, yard.now + kSecond), "a");
  yard.answer({.stop = Booking::Stop::permit, .scope = Scope::group}, "b");
  yard.arrive(5, "c");
  EXPECT_EQ(limiter.beyond.back(), (Beyond{0, 0}));
  yard.answer({}, yard.now + 2 * kSecond, "c");
  yard.advance_to(yard.now + kSecond);
  EXPECT_THAT(limiter.asks.back(), (SlowLimiter::Asked{"a", 2}));
  yard.arrive(6, "d");
  EXPECT_EQ(limiter.beyond.back(), (Beyond{0, 0})) << "they are asked for";
}

TEST(Wants, of_those_that_have_left_are_none) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 10}, limiter);
  yard.arrive_all({1, 2, 3}, "a");
  yard.cancel(2);
  yard.arrive(4, "b");
  EXPECT_EQ(limiter.beyond.back(), (Beyond{0, 1}));
}

}  // namespace
}  // namespace penstock::flow
