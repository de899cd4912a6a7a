// SPDX-License-Identifier: Apache-2.0
// What stays, and what goes.
#include "base/lru_map.h"

#include <gtest/gtest.h>

namespace penstock::base {
namespace {

TEST(LruMap, keeps_what_was_used_most_recently) {
  LruMap<int> map(2);
  map.use("a") = 1, map.use("b") = 2;
  EXPECT_EQ(map.use("a"), 1);
  map.use("c") = 3;
  EXPECT_EQ(map.size(), 2u);
  ASSERT_TRUE(map.find("a"));
  EXPECT_EQ(*map.find("a"), 1);
  EXPECT_FALSE(map.find("b"));
  EXPECT_TRUE(map.find("c"));
}

TEST(LruMap, does_not_count_a_look_as_a_use) {
  LruMap<int> map(2);
  map.use("a"), map.use("b");
  EXPECT_TRUE(map.find("a"));
  map.use("c");
  EXPECT_FALSE(map.find("a"));
}

TEST(LruMap, begins_anew_with_what_was_erased) {
  LruMap<int> map(2);
  map.use("a") = 1;
  map.erase("a"), map.erase("b");
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.use("a"), 0);
  map.clear();
  EXPECT_FALSE(map.find("a"));
  EXPECT_EQ(map.size(), 0u);
}

}  // namespace
}  // namespace penstock::base
