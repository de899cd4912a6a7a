// SPDX-License-Identifier: Apache-2.0
// For how long a lease had no answer because Redis was away.
#include "redis/limits/redis_absence.h"

#include <gtest/gtest.h>

namespace penstock::redis {
namespace {

constexpr flow::Time kAwaySecond = 1'000'000;

TEST(RedisAbsence, is_nothing_to_a_process_that_never_had_an_answer) {
  RedisAbsence absence;
  absence.begin(10 * kAwaySecond);
  EXPECT_EQ(absence.of_lease(0, 20 * kAwaySecond), 0);
  absence.end(20 * kAwaySecond);
  EXPECT_EQ(absence.of_lease(0, 20 * kAwaySecond), 0);
}

TEST(RedisAbsence, counts_from_the_last_renewal_or_from_its_beginning_whichever_was_earlier) {
  RedisAbsence absence;
  absence.answered();
  absence.begin(10 * kAwaySecond);
  absence.begin(12 * kAwaySecond);  // it lasts already
  EXPECT_TRUE(absence.lasts());
  EXPECT_EQ(absence.of_lease(9 * kAwaySecond, 15 * kAwaySecond), 6 * kAwaySecond);
  EXPECT_EQ(absence.of_lease(11 * kAwaySecond, 15 * kAwaySecond), 5 * kAwaySecond);
}

TEST(RedisAbsence, counts_for_three_seconds_after_its_end_or_until_the_lease_is_renewed) {
  RedisAbsence absence;
  absence.answered();
  absence.begin(10 * kAwaySecond);
  absence.end(20 * kAwaySecond);
  EXPECT_EQ(absence.of_lease(21 * kAwaySecond, 22 * kAwaySecond), 12 * kAwaySecond) << "others may still be away";
  EXPECT_EQ(absence.of_lease(21 * kAwaySecond, 23 * kAwaySecond), 0);
  EXPECT_EQ(absence.of_lease(9 * kAwaySecond, 30 * kAwaySecond), 21 * kAwaySecond) << "this one was not renewed since";
}

}  // namespace
}  // namespace penstock::redis
