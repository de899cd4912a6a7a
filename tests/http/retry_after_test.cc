// SPDX-License-Identifier: Apache-2.0
// Which pause an answer asks for: seconds, decimals, dates against the answer's own clock, and everything that is none.
#include "http/rate_limit_fields.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace penstock::http {
namespace {

using namespace std::chrono_literals;
using Pairs = std::initializer_list<std::pair<std::string_view, std::string_view>>;

constexpr std::int64_t kThenMicros = 784'111'777'000'000;  // Sun, 06 Nov 1994 08:49:37 GMT

ResponseHead answer(int status, Pairs pairs) {
  ResponseHead head;
  head.status = status;
  for (const auto& [name, value] : pairs) head.fields.add(name, value);
  return head;
}

/// Of `Retry-After` alone, where 429 and 503 refuse.
std::optional<Duration> wait_of(int status, Pairs pairs) {
  constexpr std::uint16_t kBusy[]{429, 503};
  return read_rate_limit(answer(status, pairs), kThenMicros, Obey::retry_after, kBusy).pause;
}
std::optional<Duration> asked_wait(Pairs pairs) { return wait_of(429, pairs); }
std::optional<Duration> asked_wait(std::string_view value) { return asked_wait({{"Retry-After", value}}); }

TEST(RetryAfter, counts_only_on_429_and_503) {
  for (const int status : {429, 503}) EXPECT_EQ(wait_of(status, {{"retry-after", "7"}}), 7s);
  for (const int status : {200, 202, 301, 403, 500, 504})
    EXPECT_EQ(wait_of(status, {{"Retry-After", "7"}}), std::nullopt) << status;
  EXPECT_EQ(asked_wait({}), std::nullopt);
}

TEST(RetryAfter, is_a_number_of_seconds_with_or_without_decimals) {
  EXPECT_EQ(asked_wait("0"), 0s);
  EXPECT_EQ(asked_wait("120"), 120s);
  EXPECT_EQ(asked_wait("007"), 7s);
  EXPECT_EQ(asked_wait("2.0"), 2s);
  EXPECT_EQ(asked_wait("0.337"), 337ms);
}

TEST(RetryAfter, is_never_shorter_than_asked_for) { EXPECT_EQ(asked_wait("0.0000001"), 1us); }

TEST(RetryAfter, is_a_date_in_any_format_measured_against_the_date_of_the_answer) {
  for (const char* date :
       {"Sun, 06 Nov 1994 09:00:00 GMT", "Sunday, 06-Nov-94 09:00:00 GMT", "Sun Nov  6 09:00:00 1994"}) {
    EXPECT_EQ(asked_wait({{"Date", "Sun, 06 Nov 1994 08:59:50 GMT"}, {"Retry-After", date}}), 10s) << date;
  }
}

TEST(RetryAfter, measures_a_date_against_our_clock_where_the_answer_has_none) {
  EXPECT_EQ(asked_wait("Sun, 06 Nov 1994 08:49:47 GMT"), 10s);
  EXPECT_EQ(asked_wait({{"Date", "yesterday"}, {"Retry-After", "Sun, 06 Nov 1994 08:49:47 GMT"}}), 10s);
}

TEST(RetryAfter, is_zero_where_the_moment_has_passed) {
  EXPECT_EQ(asked_wait("Sun, 06 Nov 1994 08:49:36 GMT"), 0s);
  EXPECT_EQ(asked_wait("Thu, 01 Jan 1970 00:00:00 GMT"), 0s);
}

TEST(RetryAfter, is_a_year_at_most) {
  constexpr Duration kYear = 365 * 24h;
  for (const char* value : {"99999999", "99999999999999999999999", "99999999999.5", "Fri, 31 Dec 9999 23:59:59 GMT"}) {
    EXPECT_EQ(asked_wait(value), kYear) << value;
  }
  EXPECT_EQ(asked_wait(std::string(5000, '9')), kYear);
  EXPECT_EQ(asked_wait(std::string(5000, '9') + ".0"), kYear);
}

TEST(RetryAfter, is_zero_where_it_is_too_small_for_a_double) {
  EXPECT_EQ(asked_wait("0." + std::string(400, '0') + "1"), 0s);
}

TEST(RetryAfter, may_be_what_vendors_write_elsewhere) {
  EXPECT_EQ(asked_wait("5s"), 5s);
  EXPECT_EQ(asked_wait("1994-11-06T09:00:00Z"), 623s);
}

TEST(RetryAfter, is_nothing_where_it_cannot_be_read) {
  for (const char* value : {"", "-5", "+5", "5 seconds", "1e3", ".5", "5.", "1.2.3", "0x10", "inf", "nan", "1,5",
                            "soon", "Sun, 31 Nov 1994 09:00:00 GMT"}) {
    EXPECT_EQ(asked_wait(value), std::nullopt) << value;
  }
}

TEST(RetryAfter, is_the_longest_of_several) {
  EXPECT_EQ(asked_wait({{"Retry-After", "3"}, {"Retry-After", "9"}, {"Retry-After", "5"}}), 9s);
  EXPECT_EQ(asked_wait({{"Retry-After", "soon"}, {"Retry-After", "Sun, 06 Nov 1994 08:49:47 GMT"}}), 10s);
}

}  // namespace
}  // namespace penstock::http
