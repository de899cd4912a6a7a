// SPDX-License-Identifier: Apache-2.0
// Which slip of the pen means which word.
#include "config/suggestion.h"

#include <gtest/gtest.h>

#include <array>

namespace penstock::config {
namespace {

constexpr std::array<std::string_view, 5> kWords{"maxConcurrent", "queue", "timeouts", "match", "via"};

TEST(Suggestion, finds_the_word_that_was_meant) {
  EXPECT_EQ(nearest("maxConcurent", kWords), "maxConcurrent");
  EXPECT_EQ(nearest("maxconcurrent", kWords), "maxConcurrent");
  EXPECT_EQ(nearest("timeout", kWords), "timeouts");
  EXPECT_EQ(nearest("mathc", kWords), "match");
  EXPECT_EQ(nearest("vai", kWords), "via");
}

TEST(Suggestion, is_silent_about_words_that_are_not_near) {
  EXPECT_EQ(nearest("redis", kWords), std::nullopt);
  EXPECT_EQ(nearest("", kWords), std::nullopt);
  EXPECT_EQ(nearest("x", kWords), std::nullopt);
  EXPECT_EQ(nearest(std::string(10'000, 'm'), kWords), std::nullopt);
}

}  // namespace
}  // namespace penstock::config
