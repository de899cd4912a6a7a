// SPDX-License-Identifier: Apache-2.0
// What is over is forgotten, and what is not is kept.
#include "base/expiring_map.h"

#include <gtest/gtest.h>

namespace penstock::base {
namespace {

struct Word {
  int what = 0;
  std::int64_t until = 0;
};

TEST(ExpiringMap, keeps_what_is_not_over_however_much_is) {
  ExpiringMap<Word> map;
  map.of(0, "kept") = {7, 1'000'000};
  for (int n = 1; n < 10'000; ++n) {
    map.of(n, std::to_string(n)).until = n + 10;
    ASSERT_LE(map.size(), 65u) << n;
  }
  ASSERT_TRUE(map.find("kept"));
  EXPECT_EQ(map.find("kept")->what, 7);
}

TEST(ExpiringMap, holds_at_most_twice_as_many_as_are_needed) {
  ExpiringMap<Word> map;
  for (int n = 0; n < 100'000; ++n) {
    map.of(n, std::to_string(n)).until = n + 1'000;
    ASSERT_LE(map.size(), 2'001u) << n;
  }
}

TEST(ExpiringMap, gives_away_what_is_taken) {
  ExpiringMap<Word> map;
  map.of(0, "a") = {7, 10};
  EXPECT_EQ(map.of(0, "a").what, 7);
  EXPECT_EQ(map.take("a")->what, 7);
  EXPECT_FALSE(map.take("a"));
  EXPECT_TRUE(map.empty());
}

}  // namespace
}  // namespace penstock::base
