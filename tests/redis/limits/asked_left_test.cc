// SPDX-License-Identifier: Apache-2.0
// Which asks bring all that is left of the limits of a route.
#include "redis/limits/asked_left.h"

#include <gtest/gtest.h>

namespace penstock::redis {
namespace {

TEST(AskedLeft, is_due_for_each_route_twice_a_second) {
  AskedLeft asked;
  EXPECT_TRUE(asked.due(0, "search", false));
  EXPECT_FALSE(asked.due(499'999, "search", false));
  EXPECT_TRUE(asked.due(499'999, "write", false)) << "another route";
  EXPECT_TRUE(asked.due(500'000, "search", false));
  EXPECT_FALSE(asked.due(500'001, "search", false));
}

TEST(AskedLeft, counts_asks_that_bring_it_anyway) {
  AskedLeft asked;
  EXPECT_TRUE(asked.due(0, "search", true));
  EXPECT_TRUE(asked.due(300'000, "search", true));
  EXPECT_FALSE(asked.due(799'999, "search", false));
  asked.clear();
  EXPECT_TRUE(asked.due(799'999, "search", false)) << "the limits have changed";
}

}  // namespace
}  // namespace penstock::redis
