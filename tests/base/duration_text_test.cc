// SPDX-License-Identifier: Apache-2.0
// Durations in few characters.
#include "base/duration_text.h"

#include <gtest/gtest.h>

#include <chrono>

#include "penstock/duration.h"

namespace penstock::base {
namespace {

using namespace std::chrono_literals;

TEST(DurationText, has_the_largest_unit_that_takes_a_whole_number) {
  EXPECT_EQ(duration_text(0s), "0s");
  EXPECT_EQ(duration_text(1us), "1us");
  EXPECT_EQ(duration_text(1500ms), "1500ms");
  EXPECT_EQ(duration_text(90s), "90s");
  EXPECT_EQ(duration_text(60s), "1m");
  EXPECT_EQ(duration_text(1h), "1h");
  EXPECT_EQ(duration_text(24h), "1d");
}

TEST(DurationText, has_as_many_of_the_long_units_as_is_wanted_or_smaller_ones) {
  EXPECT_EQ(duration_text(0s, 2), "0s");
  EXPECT_EQ(duration_text(1s, 2), "1s");
  EXPECT_EQ(duration_text(60s, 2), "60s");
  EXPECT_EQ(duration_text(2min, 2), "2m");
  EXPECT_EQ(duration_text(24h, 2), "24h");
  EXPECT_EQ(duration_text(48h, 2), "2d");
}

TEST(DurationText, is_read_back) {
  for (const Duration one : {Duration{0}, Duration{1}, Duration{61s}, Duration{36h}, Duration{7h}})
    EXPECT_EQ(parse_duration(duration_text(one)), one);
}

}  // namespace
}  // namespace penstock::base
