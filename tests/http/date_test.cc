// SPDX-License-Identifier: Apache-2.0
// The three formats of RFC 9110 section 5.6.7, and what only looks like them.
#include "http/date.h"

#include <gtest/gtest.h>

namespace penstock::http {
namespace {

constexpr std::int64_t kThen = 784'111'777;      // of RFC 9110's own example
constexpr std::int64_t kIn2025 = 1'750'000'000;  // 15 June 2025

TEST(Date, is_read_in_all_three_formats) {
  EXPECT_EQ(parse_date("Sun, 06 Nov 1994 08:49:37 GMT", kIn2025), kThen);
  EXPECT_EQ(parse_date("Sunday, 06-Nov-94 08:49:37 GMT", kIn2025), kThen);
  EXPECT_EQ(parse_date("Sun Nov  6 08:49:37 1994", kIn2025), kThen);
  EXPECT_EQ(parse_date("Wed Nov 16 08:49:37 1994", kIn2025), kThen + 10 * 86'400);
}

TEST(Date, with_two_digits_for_the_year_is_at_most_50_years_ahead) {
  EXPECT_EQ(parse_date("Thursday, 01-Jan-26 00:00:00 GMT", kIn2025), parse_date("Thu, 01 Jan 2026 00:00:00 GMT", 0));
  EXPECT_EQ(parse_date("Tuesday, 01-Jan-75 00:00:00 GMT", kIn2025), parse_date("Tue, 01 Jan 2075 00:00:00 GMT", 0));
  EXPECT_EQ(parse_date("Thursday, 01-Jan-76 00:00:00 GMT", kIn2025), parse_date("Thu, 01 Jan 1976 00:00:00 GMT", 0));
}

TEST(Date, knows_leap_days_and_leap_seconds) {
  EXPECT_EQ(parse_date("Thu, 29 Feb 2024 00:00:00 GMT", 0), 1'709'164'800);
  EXPECT_EQ(parse_date("Sat, 29 Feb 2025 00:00:00 GMT", 0), std::nullopt);
  EXPECT_EQ(parse_date("Sat, 31 Dec 2016 23:59:60 GMT", 0), parse_date("Sun, 01 Jan 2017 00:00:00 GMT", 0));
}

TEST(Date, is_nothing_else) {
  for (const char* text :
       {"", "120", "Sun", "Sun, 06 Nov 1994", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 GMT ", "sun, 06 nov 1994 08:49:37 gmt",
        "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 06 Nov -994 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994", "1994-11-06T08:49:37Z"}) {
    EXPECT_EQ(parse_date(text, kIn2025), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace penstock::http
