// SPDX-License-Identifier: Apache-2.0
// Groups for which other processes probe.
#include "redis/limits/probed_elsewhere.h"

#include <gtest/gtest.h>

namespace penstock::redis {
namespace {

TEST(ProbedElsewhere, a_group_is_taken_once_by_its_hash) {
  ProbedElsewhere groups;
  groups.note(0, "a1", "search", 100);
  EXPECT_EQ(groups.take("b2"), std::nullopt);
  EXPECT_EQ(groups.take("a1"), "search");
  EXPECT_EQ(groups.take("a1"), std::nullopt);
}

TEST(ProbedElsewhere, groups_of_which_nothing_more_is_heard_are_forgotten) {
  ProbedElsewhere groups;
  for (flow::Time now = 0; now < 100'000; ++now) {
    groups.note(now, std::to_string(now), "of " + std::to_string(now), now + 10);
    ASSERT_LE(groups.size(), 64u);
  }
  EXPECT_EQ(groups.take("99999"), "of 99999");
}

TEST(ProbedElsewhere, groups_that_wait_all_stay) {
  ProbedElsewhere groups;
  for (int i = 0; i < 1'000; ++i) groups.note(i, std::to_string(i), "a", 10'000);
  EXPECT_EQ(groups.size(), 1'000u);
}

}  // namespace
}  // namespace penstock::redis
