// SPDX-License-Identifier: Apache-2.0
// Pauses by group: the longest counts, and those that are over are forgotten in time.
#include "flow/pauses.h"

#include <gtest/gtest.h>

#include <string>

#include "support/scenario.h"

namespace penstock::flow {
namespace {

using scenarios::ms;
using scenarios::sec;

TEST(Pauses, a_group_rests_until_the_latest_of_its_ends) {
  Pauses pauses;
  EXPECT_TRUE(pauses.empty());
  pauses.extend(0, "a", sec(2));
  pauses.extend(ms(1), "a", sec(1));
  pauses.extend(ms(1), "b", sec(3));
  EXPECT_EQ(pauses.until("a"), sec(2));
  EXPECT_EQ(pauses.until("b"), sec(3));
  EXPECT_EQ(pauses.until("c"), 0);
  pauses.extend(ms(2), "a", sec(4));
  EXPECT_EQ(pauses.until("a"), sec(4));
  EXPECT_FALSE(pauses.empty());
}

TEST(Pauses, those_that_are_over_do_not_count) {
  Pauses pauses;
  for (int n = 1; n <= 3; ++n) pauses.extend(0, std::to_string(n), sec(n));
  EXPECT_EQ(pauses.count(sec(1) - 1), 3u);
  EXPECT_EQ(pauses.count(sec(1)), 2u);
  EXPECT_EQ(pauses.count(sec(3)), 0u);
}

TEST(Pauses, what_is_over_is_never_most_of_what_is_remembered) {
  Pauses pauses;
  for (int n = 0; n < 100'000; ++n) {
    pauses.extend(n * ms(1), std::to_string(n), (n + 1'000) * ms(1));  // 1 000 are not over
    ASSERT_LE(pauses.remembered(), 2'001u) << n;
  }
}

TEST(Pauses, what_is_not_over_is_never_forgotten) {
  Pauses pauses;
  for (int n = 0; n < 10'000; ++n) pauses.extend(n, std::to_string(n), n % 2 ? sec(1) : n + 1);
  for (int n = 1; n < 10'000; n += 2) ASSERT_EQ(pauses.until(std::to_string(n)), sec(1)) << n;
}

TEST(Pauses, that_are_shortened_end_then_and_no_shorter_one_is_prolonged) {
  Pauses pauses;
  pauses.extend(0, "short", 10);
  pauses.extend(0, "long", 30);
  EXPECT_TRUE(pauses.shorten(20));
  EXPECT_EQ(pauses.until("short"), 10);
  EXPECT_EQ(pauses.until("long"), 20);
  EXPECT_FALSE(pauses.shorten(20));
}

TEST(Pauses, are_told_as_long_as_they_are_not_over) {
  Pauses pauses;
  pauses.extend(0, "over", 10);
  pauses.extend(0, "lasting", 20);
  std::string told;
  pauses.each(10, [&](const std::string& group, Time until) { told += group + std::to_string(until); });
  EXPECT_EQ(told, "lasting20");
}

}  // namespace
}  // namespace penstock::flow
