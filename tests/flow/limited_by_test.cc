// SPDX-License-Identifier: Apache-2.0
// Which name a request gets that waited for slots and for limits: that of what was missing for half of its wait, or of
// the limit that held it last.
#include "flow/local_limiter.h"
#include "flow/scheduler_fixture.h"
#include "support/scenario.h"

namespace penstock::flow {
namespace {

using scenarios::limit;
using scenarios::per_group;

/// One departure in 40 ms.
LimitConfig every_40_ms() { return limit(PacerConfig{.qps = 25}); }

TEST(Slots, are_named_by_whoever_waited_for_nothing_else_however_it_ends) {
  LocalLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1, .max_wait = kSecond}, limiter);
  yard.arrive_all({1, 2, 3, 4});
  yard.advance_to(yard.now + 400 * kMs);
  EXPECT_EQ(yard.upstream.limited_by(yard.now, yard.ticket(2)), kSlots);
  EXPECT_THAT(yard.land(1), ElementsAre(2));
  EXPECT_EQ(yard.limited.at(2), kSlots);
  yard.advance_to(yard.now + 2 * kSecond);
  EXPECT_THAT(yard.refused, ElementsAre(3, 4));
  EXPECT_EQ(yard.refusals.at(3).limited_by, kSlots);
}

TEST(Slots, are_named_by_whom_the_pacer_held_for_a_moment_at_the_end) {
  LocalLimiter limiter({every_40_ms()});
  SchedulerFixture yard({.max_concurrent = 2}, limiter);
  EXPECT_THAT(yard.arrive(1), ElementsAre(1));
  yard.advance_to(yard.now + kSecond);
  EXPECT_THAT(yard.arrive(2), ElementsAre(2));
  yard.arrive_all({3, 4});
  yard.now += 20 * kSecond;
  EXPECT_THAT(yard.land(1), ElementsAre(3));
  EXPECT_THAT(yard.land(2), IsEmpty()) << "the pacer's turn";
  EXPECT_THAT(yard.advance_to(yard.now + 40 * kMs), ElementsAre(4));
  EXPECT_EQ(yard.limited.at(4), kSlots) << "it held this one for 40 ms of 20 s";
}

TEST(Slots, are_named_by_whom_the_pacer_held_for_a_moment_at_the_beginning) {
  LocalLimiter limiter({every_40_ms()});
  SchedulerFixture yard({.max_concurrent = 2, .max_wait = 29 * kSecond}, limiter);
  EXPECT_THAT(yard.arrive(1), ElementsAre(1));
  yard.arrive_all({2, 3});
  EXPECT_THAT(yard.advance_to(yard.now + 40 * kMs), ElementsAre(2)) << "its departure was booked for then";
  EXPECT_EQ(yard.limited.at(2), 0);
  yard.advance_to(yard.now + 30 * kSecond);
  EXPECT_THAT(yard.refused, ElementsAre(3));
  EXPECT_EQ(yard.refusals.at(3).limited_by, kSlots);
}

TEST(Slots, are_not_named_where_a_limit_held_for_longer) {
  LocalLimiter limiter({limit(PacerConfig{.qps = 1})});
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  EXPECT_THAT(yard.arrive(1), ElementsAre(1));
  yard.arrive(2);
  yard.now += 100 * kMs;
  EXPECT_THAT(yard.land(1), IsEmpty());
  EXPECT_THAT(yard.advance_to(yard.now + 850 * kMs), IsEmpty());
  EXPECT_THAT(yard.advance_to(yard.now + 50 * kMs), ElementsAre(2));
  EXPECT_EQ(yard.limited.at(2), 0) << "a slot was missing for a tenth of the second";
}

// Its slot is kept for it: nothing else could start in it, but it is free.
TEST(Slots, that_wait_for_a_departure_are_not_taken) {
  LocalLimiter limiter({every_40_ms()});
  SchedulerFixture yard({.max_concurrent = 1}, limiter);
  EXPECT_THAT(yard.arrive(1), ElementsAre(1));
  EXPECT_THAT(yard.land(1), IsEmpty());
  yard.arrive_all({2, 3});
  yard.now += 39 * kMs;
  EXPECT_EQ(yard.upstream.limited_by(yard.now, yard.ticket(2)), 0);
  yard.arrive({.id = 4, .max_wait = 0});
  EXPECT_EQ(yard.refusals.at(4).limited_by, 0);
}

TEST(Slots, are_not_named_by_a_group_that_waits_for_its_own_limit) {
  LocalLimiter limiter({per_group(limit(PacerConfig{.qps = 0.1}))});
  SchedulerFixture yard({.max_concurrent = 2}, limiter);
  EXPECT_THAT(yard.arrive(1, "slow"), ElementsAre(1));
  yard.land(1);
  yard.arrive(2, "slow");
  EXPECT_THAT(yard.arrive(3, "a"), ElementsAre(3));
  EXPECT_THAT(yard.arrive(4, "b"), ElementsAre(4));
  yard.arrive(5, "c");
  yard.now += 5 * kSecond;
  EXPECT_EQ(yard.upstream.limited_by(yard.now, yard.ticket(2)), 0);
  EXPECT_EQ(yard.upstream.limited_by(yard.now, yard.ticket(5)), kSlots);
}

TEST(Slots, are_named_by_a_newcomer_that_finds_the_queue_full_or_cannot_wait) {
  LocalLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 1, .max_pending = 1}, limiter);
  yard.arrive({.id = 1});
  yard.arrive({.id = 2, .max_wait = 0});
  EXPECT_EQ(yard.refusals.at(2).limited_by, kSlots);
  yard.arrive_all({3, 4});
  EXPECT_EQ(yard.refusals.at(4).why, Refused::queue_full);
  EXPECT_EQ(yard.refusals.at(4).limited_by, kSlots);
}

TEST(Slots, are_named_by_nobody_who_starts_at_once_or_waits_for_an_answer) {
  SlowLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 2}, limiter);
  yard.arrive_all({1, 2});
  yard.now += 3 * kMs;
  EXPECT_THAT(yard.answer({yard.now}), ElementsAre(1));
  EXPECT_EQ(yard.limited.at(1), kNoLimit);
  yard.now += 3 * kMs;
  EXPECT_THAT(yard.answer({yard.now}), ElementsAre(2));
  EXPECT_EQ(yard.limited.at(2), kNoLimit);
}

TEST(Slots, are_too_few_from_a_change_on) {
  LocalLimiter limiter;
  SchedulerFixture yard({.max_concurrent = 3}, limiter);
  EXPECT_THAT(yard.arrive_all({1, 2}), ElementsAre(1, 2));
  yard.now += 10 * kSecond;
  yard.change({.max_concurrent = 2});
  yard.arrive(3);
  yard.now += kMs;
  EXPECT_EQ(yard.upstream.limited_by(yard.now, yard.ticket(3)), kSlots);
}

}  // namespace
}  // namespace penstock::flow
