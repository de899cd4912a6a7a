// SPDX-License-Identifier: Apache-2.0
// Pauses that other processes have announced.
#include "redis/limits/announced_pauses.h"

#include <gtest/gtest.h>

#include <string>

#include "redis/limits/pause_words.h"

namespace penstock::redis {
namespace {

constexpr flow::Time kAnnouncedLength = 1'000'000;

TEST(AnnouncedPauses, are_taken_once_and_the_latest_end_counts) {
  AnnouncedPauses announced;
  EXPECT_TRUE(announced.empty());
  announced.note(0, "a1", 300);
  announced.note(10, "a1", 200);
  EXPECT_EQ(announced.take("b2"), std::nullopt);
  EXPECT_EQ(announced.take("a1"), 300);
  EXPECT_EQ(announced.take("a1"), std::nullopt);
  EXPECT_TRUE(announced.empty());
}

TEST(AnnouncedPauses, are_kept_when_they_are_over_but_not_for_ever) {
  AnnouncedPauses announced;
  announced.note(0, "first", kAnnouncedLength);
  const auto announce_many = [&](flow::Time now) {
    for (int i = 0; i < 1'000; ++i) announced.note(now, std::to_string(now + i), now + kAnnouncedLength);
  };
  announce_many(AnnouncedPauses::kKept);
  EXPECT_EQ(announced.take("first"), kAnnouncedLength);
  announced.note(0, "first", kAnnouncedLength);
  for (flow::Time now = AnnouncedPauses::kKept; now < 3 * AnnouncedPauses::kKept; now += kAnnouncedLength)
    announce_many(now);
  EXPECT_EQ(announced.take("first"), std::nullopt);
}

TEST(AnnouncedPauses, are_shortened) {
  AnnouncedPauses announced;
  announced.note(0, "a1", 300);
  announced.shorten(100);
  EXPECT_EQ(announced.take("a1"), 100);
}

TEST(PauseWords, say_who_tells_of_which_pause) {
  const std::string words = pause_message("a1", 300, "me");
  const auto read = read_pause(words);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->target, "a1");
  EXPECT_EQ(read->length, 300);
  EXPECT_EQ(read->sender, "me");
  EXPECT_EQ(read_pause("a1 300")->sender, "");
  EXPECT_EQ(read_pause("a1 300 ")->sender, "");
  for (const char* wrong : {"", "a1", "a1 ", "a1 0 me", "a1 -5 me", "a1 x me"})
    EXPECT_FALSE(read_pause(wrong)) << wrong;
}

}  // namespace
}  // namespace penstock::redis
