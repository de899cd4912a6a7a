// SPDX-License-Identifier: Apache-2.0
// What is decided without any bytes: which requests are sent again, how many of them, and what of a body is kept.
#include "proxy/exchange/retry_policy.h"

#include <gtest/gtest.h>

#include "proxy/exchange/exchange.h"
#include "proxy/exchange/retry_budget.h"

namespace penstock::proxy {
namespace {

constexpr std::int64_t kSecond = 1'000'000;

class RetryPolicyTest : public testing::Test {
 protected:
  Again after(int status, const char* field = nullptr, const char* value = "") {
    http::ResponseHead answer;
    answer.status = status;
    if (field) answer.fields.add(field, value);
    return judge_answer(settings_, sent_, answer, 1'700'000'000 * kSecond);
  }
  Again after_break() { return judge_break(settings_, sent_); }

  RetryPolicyTest() { head_.method = "POST"; }

  UpstreamSettings settings_;
  http::RequestHead head_;
  SentRequest sent_{.head = head_, .now = 100 * kSecond, .deadline = 130 * kSecond};
};

TEST_F(RetryPolicyTest, a_refusal_is_a_reason_for_any_method) {
  EXPECT_EQ(after(429), Again::refused);
  EXPECT_EQ(after(429, "Retry-After", "7"), Again::refused);
  EXPECT_EQ(after(403, "Retry-After", "7"), Again::refused);
}

TEST_F(RetryPolicyTest, a_403_that_says_that_nothing_remains_is_one_where_the_file_names_its_status_alone) {
  EXPECT_EQ(after(403, "X-RateLimit-Remaining", "0"), Again::no) << "it may as well be forbidden";
  EXPECT_EQ(after(429, "X-RateLimit-Remaining", "0"), Again::refused);
  settings_.pause_on = {429, 403};
  EXPECT_EQ(after(403, "X-RateLimit-Remaining", "0"), Again::refused);
  EXPECT_EQ(after(403, "Retry-After", "7"), Again::refused);
  EXPECT_EQ(after(403), Again::no) << "it says nothing of limits";
}

TEST_F(RetryPolicyTest, other_answers_are_none) {
  for (const int status : {400, 401, 403, 404, 500, 501, 502, 503, 504, 529}) {
    EXPECT_EQ(after(status), Again::no) << status;
  }
}

TEST_F(RetryPolicyTest, nothing_is_sent_again_that_would_leave_after_the_deadline) {
  EXPECT_EQ(after(429, "Retry-After", "30"), Again::refused);
  EXPECT_EQ(after(429, "Retry-After", "31"), Again::no);
  settings_.max_pause = std::chrono::seconds(5);
  EXPECT_EQ(after(429, "Retry-After", "31"), Again::refused) << "no pause is longer than maxPause";
  sent_.now = sent_.deadline;
  EXPECT_EQ(after(429), Again::no);
}

TEST_F(RetryPolicyTest, nor_more_often_than_attempts_say_nor_without_the_body) {
  sent_.attempts = settings_.retry.attempts - 1;
  EXPECT_EQ(after(429), Again::refused);
  sent_.attempts = settings_.retry.attempts;
  EXPECT_EQ(after(429), Again::no);
  sent_.attempts = 1;
  sent_.has_its_body = false;
  EXPECT_EQ(after(429), Again::no);
}

TEST_F(RetryPolicyTest, nor_where_the_file_says_so) {
  settings_.retry.refusals = false;
  EXPECT_EQ(after(429), Again::no);
  settings_.retry.refusals = true;
  settings_.obey = Obey::off;
  EXPECT_EQ(after(429), Again::no) << "no pause would hold it back";
}

TEST_F(RetryPolicyTest, a_failure_is_a_reason_for_the_methods_of_the_file) {
  using Failures = RetryConfig::Failures;
  const auto again = [&](Failures failures, const char* method) {
    settings_.retry.failures = failures;
    head_.method = method;
    for (const int status : {502, 503, 504, 529}) EXPECT_EQ(after(status), after_break()) << status << method;
    return after_break() == Again::failed;
  };
  for (const char* method : {"GET", "HEAD", "OPTIONS", "TRACE"}) {
    EXPECT_FALSE(again(Failures::off, method)) << method;
    EXPECT_TRUE(again(Failures::safe, method)) << method;
  }
  for (const char* method : {"PUT", "DELETE"}) {
    EXPECT_FALSE(again(Failures::safe, method)) << method;
    EXPECT_TRUE(again(Failures::idempotent, method)) << method;
  }
  EXPECT_FALSE(again(Failures::idempotent, "POST"));
  head_.fields.add("Idempotency-Key", "k");
  EXPECT_TRUE(again(Failures::idempotent, "POST"));
  EXPECT_FALSE(again(Failures::safe, "POST"));
}

TEST(RetryBudget, has_ten_free_and_a_share_of_what_came_in_ten_seconds) {
  RetryBudget budget;
  const auto taken = [&](std::int64_t now) {
    int count = 0;
    while (count < 1'000 && budget.take(now, 20)) ++count;
    return count;
  };
  EXPECT_EQ(taken(0), 10);
  for (int i = 0; i < 100; ++i) budget.came(kSecond);
  EXPECT_EQ(taken(kSecond), 20);
  EXPECT_EQ(taken(9 * kSecond), 0);
  EXPECT_EQ(taken(10 * kSecond), 10) << "those of the first second are forgotten";
  EXPECT_EQ(taken(11 * kSecond), 0) << "with what came";
  EXPECT_EQ(taken(30 * kSecond), 10);
}

std::string all_of(BodyBuffer& body) {
  std::string all(body.size(), '?');
  EXPECT_EQ(body.take(all.data(), all.size()), all.size());
  return all;
}

TEST(KeptBody, is_given_again_from_the_start) {
  BodyBuffer body;
  body.keep(8);
  body.append("abc");
  EXPECT_EQ(all_of(body), "abc");
  body.append("defgh");
  EXPECT_EQ(all_of(body), "defgh");
  EXPECT_EQ(body.held(), 8u);
  ASSERT_TRUE(body.rewind());
  EXPECT_EQ(all_of(body), "abcdefgh");
}

TEST(KeptBody, is_kept_no_more_once_it_is_too_long_and_loses_no_byte) {
  BodyBuffer body;
  body.keep(4);
  body.append("abc");
  EXPECT_EQ(all_of(body), "abc");
  body.append("def");
  EXPECT_FALSE(body.rewind());
  EXPECT_EQ(all_of(body), "def");
  EXPECT_EQ(body.held(), 0u);
}

TEST(KeptBody, of_which_nothing_was_taken_can_be_given_from_the_start_however_long_it_is) {
  BodyBuffer body;
  body.append("abcdef");
  EXPECT_TRUE(body.rewind());
  EXPECT_EQ(all_of(body), "abcdef");
  EXPECT_FALSE(body.rewind());
}

TEST(KeptBody, is_let_go_when_it_is_not_needed) {
  BodyBuffer body;
  body.keep(8);
  body.append("abcd");
  char room[2];
  EXPECT_EQ(body.take(room, 2), 2u);
  body.keep(0);
  EXPECT_EQ(body.held(), 2u);
  EXPECT_FALSE(body.rewind());
  EXPECT_EQ(all_of(body), "cd");
}

}  // namespace
}  // namespace penstock::proxy
