// SPDX-License-Identifier: Apache-2.0
// Pauses of which other processes told.
#include "redis/limits/told_pauses.h"

#include <gtest/gtest.h>

#include <string>

#include "redis/limits/pause_words.h"

namespace penstock::redis {
namespace {

constexpr flow::Time kToldLength = 1'000'000;

TEST(ToldPauses, are_taken_once_and_the_latest_end_counts) {
  ToldPauses told;
  EXPECT_TRUE(told.empty());
  told.note(0, "a1", 300);
  told.note(10, "a1", 200);
  EXPECT_EQ(told.take("b2"), std::nullopt);
  EXPECT_EQ(told.take("a1"), 300);
  EXPECT_EQ(told.take("a1"), std::nullopt);
  EXPECT_TRUE(told.empty());
}

TEST(ToldPauses, are_kept_when_they_are_over_but_not_for_ever) {
  ToldPauses told;
  told.note(0, "first", kToldLength);
  const auto tell_many = [&](flow::Time now) {
    for (int i = 0; i < 1'000; ++i) told.note(now, std::to_string(now + i), now + kToldLength);
  };
  tell_many(ToldPauses::kKept);
  EXPECT_EQ(told.take("first"), kToldLength);
  told.note(0, "first", kToldLength);
  for (flow::Time now = ToldPauses::kKept; now < 3 * ToldPauses::kKept; now += kToldLength) tell_many(now);
  EXPECT_EQ(told.take("first"), std::nullopt);
}

TEST(ToldPauses, are_shortened) {
  ToldPauses told;
  told.note(0, "a1", 300);
  told.shorten(100);
  EXPECT_EQ(told.take("a1"), 100);
}

TEST(PauseWords, say_who_tells_of_which_pause) {
  const std::string words = told_pause("a1", 300, "me");
  const auto told = read_told_pause(words);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->whom, "a1");
  EXPECT_EQ(told->length, 300);
  EXPECT_EQ(told->by, "me");
  EXPECT_EQ(read_told_pause("a1 300")->by, "");
  EXPECT_EQ(read_told_pause("a1 300 ")->by, "");
  for (const char* wrong : {"", "a1", "a1 ", "a1 0 me", "a1 -5 me", "a1 x me"})
    EXPECT_FALSE(read_told_pause(wrong)) << wrong;
}

}  // namespace
}  // namespace penstock::redis
