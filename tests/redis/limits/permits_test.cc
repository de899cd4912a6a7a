// SPDX-License-Identifier: Apache-2.0
// What one process reckons of its permits, by itself.
#include "redis/limits/permits.h"

#include <gtest/gtest.h>

namespace penstock::redis {
namespace {

constexpr flow::Time kPermitLease = 6'000'000;

/// Granted so many, so many of them in use.
Permits with(std::int64_t granted, std::int64_t in_use) {
  Permits permits(kPermitLease);
  permits.granted(granted);
  permits.use(in_use);
  return permits;
}

TEST(Permits, that_nobody_uses_are_spare) {
  const Permits permits = with(5, 2);
  EXPECT_EQ(permits.spare(), 3);
  EXPECT_EQ(permits.in_use(), 2);
  EXPECT_EQ(permits.told({.besides = 4}), "0:5:0:4:0:0:0");
}

TEST(Permits, that_an_ask_has_claimed_are_not_offered_to_another) {
  Permits permits = with(5, 2);
  EXPECT_EQ(permits.claim(), 3);
  EXPECT_EQ(permits.spare(), 0);
  EXPECT_EQ(permits.claim(), 0);
  EXPECT_EQ(permits.told({.spare = 3}), "0:5:3:0:0:0:0");
}

TEST(Permits, are_told_with_how_far_redis_is_and_how_long_it_was_away) {
  EXPECT_EQ(with(5, 2).told({.spare = 3, .besides = 1, .round_trip = 700, .alone = 2, .away = 90'000}),
            "0:5:3:1:700:2:90000");
}

TEST(Permits, of_a_flight_that_ended_may_stay_at_hand) {
  Permits permits = with(2, 2);
  permits.ended(true);
  EXPECT_EQ(permits.spare(), 1);
  EXPECT_EQ(permits.held(), 2);
  permits.use(1);
  EXPECT_EQ(permits.told({}), "0:2:0:0:0:0:0");
}

TEST(Permits, that_nobody_uses_are_returned_down_to_so_many) {
  Permits permits = with(5, 1);
  EXPECT_EQ(permits.return_spare(3), 2);
  EXPECT_EQ(permits.held(), 3);
  EXPECT_EQ(permits.return_spare(), 2);
  EXPECT_EQ(permits.return_spare(), 0);
  EXPECT_EQ(permits.held(), 1) << "that is in use";
}

TEST(Permits, in_excess_leave_nothing_at_hand_when_their_flights_end) {
  Permits permits = with(3, 3);
  permits.renewed(1'000, 1'000, 2);
  permits.ended(true);
  permits.ended(true);
  EXPECT_EQ(permits.spare(), 0);
  permits.ended(true);
  EXPECT_EQ(permits.spare(), 1);
}

TEST(Permits, that_are_claimed_are_not_returned) {
  Permits permits = with(5, 2);
  permits.claim();
  permits.return_spare();
  EXPECT_EQ(permits.told({}), "0:5:0:0:0:0:0");
  permits.unclaim(3);
  permits.return_spare();
  EXPECT_EQ(permits.told({}), "3:2:0:0:0:0:0");
}

TEST(Permits, of_a_flight_that_ended_are_returned_once) {
  Permits permits = with(2, 2);
  permits.ended();
  EXPECT_EQ(permits.in_use(), 1);
  EXPECT_EQ(permits.spare(), 0);
  EXPECT_EQ(permits.told({}), "1:1:0:0:0:0:0");
}

TEST(Permits, that_are_told_of_late_or_twice_are_not_granted_twice) {
  Permits permits = with(3, 3);
  permits.granted(4);
  permits.granted(4);
  permits.granted(2);
  EXPECT_EQ(permits.spare(), 1);
}

TEST(Permits, that_are_lost_leave_as_many_flights_to_cut_and_no_more) {
  Permits permits = with(3, 3);
  EXPECT_EQ(permits.excess(), 0);
  permits.renewed(1'000, 1'000, 2);
  EXPECT_EQ(permits.excess(), 2);
  permits.ended();
  permits.ended();
  EXPECT_EQ(permits.excess(), 0) << "these were the flights without a permit";
  EXPECT_EQ(permits.told({}), "0:1:0:0:0:0:0") << "the third still has its own";
  permits.ended();
  EXPECT_EQ(permits.told({}), "1:0:0:0:0:0:0");
}

TEST(Permits, that_are_lost_come_out_of_the_spare_ones_first) {
  Permits permits = with(3, 1);
  permits.renewed(1'000, 1'000, 2);
  EXPECT_EQ(permits.excess(), 0);
  EXPECT_EQ(permits.spare(), 0);
}

TEST(Permits, hold_from_the_last_call_that_was_answered) {
  Permits permits(kPermitLease);
  permits.renewed(10'000'000, 10'000'000, 0);
  permits.renewed(9'000'000, 10'000'001, 0);
  EXPECT_EQ(permits.renew_at(), 11'000'000);
  EXPECT_EQ(permits.fence(), 13'000'000);
}

TEST(Permits, of_which_two_calls_under_way_together_tell_are_lost_once) {
  Permits permits = with(5, 4);
  permits.renewed(1'000, 3'000, 2);
  permits.renewed(2'000, 4'000, 2);
  EXPECT_EQ(permits.excess(), 1) << "three are held";
  permits.renewed(5'000, 6'000, 1);
  EXPECT_EQ(permits.excess(), 2) << "a later call tells of another";
}

TEST(Permits, may_be_forgotten_when_redis_has_forgotten_them_and_not_before) {
  Permits permits = with(2, 1);
  permits.renewed(1'000, 1'000, 0);
  EXPECT_FALSE(permits.forgettable(100 * kPermitLease)) << "one is in use";
  permits.ended();
  EXPECT_FALSE(permits.forgettable(100 * kPermitLease)) << "one is not returned";
  permits.return_spare();
  EXPECT_FALSE(permits.forgettable(1'000 + 2 * kPermitLease)) << "Redis still counts on from here";
  EXPECT_TRUE(permits.forgettable(1'001 + 2 * kPermitLease));
}

TEST(Permits, of_flights_that_began_without_redis_are_told_as_if_it_had_granted_them) {
  Permits permits = with(2, 1);
  permits.use_ungranted(3);
  EXPECT_EQ(permits.in_use(), 4);
  EXPECT_EQ(permits.told({}), "0:4:0:0:0:0:0");
  EXPECT_EQ(permits.excess(), 0);
}

TEST(Permits, of_a_shorter_lease_hold_for_the_shorter_of_both_from_the_change_on) {
  Permits permits = with(1, 1);
  permits.renewed(1'000'000, 1'000'000, 0);
  permits.change_lease(600'000, 3'000'000);
  EXPECT_EQ(permits.fence(), 3'300'000) << "and not 1.3 s";
  EXPECT_EQ(permits.renew_at(), 2'000'000);
  permits.renewed(3'000'000, 3'000'100, 0);
  EXPECT_EQ(permits.fence(), 3'300'000) << "it may have told of the old one";
  permits.renewed(3'100'000, 3'100'100, 0);
  EXPECT_EQ(permits.fence(), 3'400'000);
}

TEST(Permits, of_a_longer_lease_hold_no_longer_before_redis_has_heard_of_it) {
  Permits permits = with(1, 1);
  permits.renewed(1'000'000, 1'000'000, 0);
  permits.change_lease(60'000'000, 2'000'000);
  EXPECT_EQ(permits.fence(), 4'000'000);
  permits.renewed(2'000'001, 2'100'000, 0);
  EXPECT_EQ(permits.fence(), 32'000'001);
}

TEST(Permits, are_all_returned_at_the_end_whatever_has_claimed_them_and_those_on_their_way) {
  Permits permits = with(5, 2);
  permits.claim();
  permits.return_all(9);
  EXPECT_EQ(permits.told({}), "9:0:0:0:0:0:0");
  permits.return_all(8);
  EXPECT_EQ(permits.told({}), "9:0:0:0:0:0:0") << "totals only grow";
}

TEST(Permits, of_an_earlier_limiter_count_as_returned_where_the_totals_begin) {
  Permits permits(kPermitLease, 0, 1'000);
  permits.use_ungranted(2);
  EXPECT_EQ(permits.told({}), "1000:2:0:0:0:0:0");
  permits.granted(900);
  EXPECT_EQ(permits.spare(), 0);
}

TEST(Permits, of_a_semaphore_that_is_gone_are_all_spare_but_those_that_an_ask_has_claimed) {
  Permits permits = with(5, 2);
  EXPECT_EQ(permits.claim(), 3);
  permits.retire();
  EXPECT_EQ(permits.spare(), 2);
}

}  // namespace
}  // namespace penstock::redis
