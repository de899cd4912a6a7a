// SPDX-License-Identifier: Apache-2.0
// Learned pauses: a 429 or 503 with Retry-After stops its upstream, or its group, for as long as it says. The answer
// itself passes as it came.
#include <gmock/gmock.h>

#include "system/limited.h"

namespace penstock::trial {
namespace {

using testing::ElementsAre;

TEST(Pauses, are_obeyed_by_upstreams_that_no_entry_names) {
  Stage stage;
  Origin another;
  stage.origin.on("/busy", scripts::answers(503, "", "Retry-After: 1\r\n"));
  const auto start = Clock::now();
  EXPECT_EQ(stage.fetch("/busy").status, 503);
  EXPECT_EQ(stage.ask(get(another.url(), "Penstock-Max-Wait: 0s\r\n")).status, 200) << "each by itself";
  EXPECT_EQ(stage.fetch("/next").status, 200);
  EXPECT_GE(stage.origin.seen()[1].at - start, 1s);
  EXPECT_TRUE(within(1s + kLate, start, stage.origin.seen()[1].at));
}

TEST(Pauses, that_last_too_long_for_a_request_refuse_it_at_once_and_truly_say_until_when) {
  Limited stage("maxConcurrent: 5");
  stage.origin.on("/busy", scripts::answers(429, "", "Retry-After: 2\r\n"));
  EXPECT_EQ(stage.fetch("/busy").status, 429);
  const Reply reply = stage.fetch("/hurried", "Penstock-Max-Wait: 300ms\r\n");
  const auto refused_at = Clock::now();
  expect_limited(reply, 503, "pause");
  EXPECT_LE(retry_after(reply), 2);
  EXPECT_THAT(stage.limited_by(1, "refused"), ElementsAre("pause"));
  ASSERT_TRUE(eventually([&] { return Clock::now() >= refused_at + std::chrono::seconds(retry_after(reply)); }));
  EXPECT_EQ(stage.fetch("/then", "Penstock-Max-Wait: 0s\r\n").status, 200);
}

// One that says nothing of itself, and is refused, must not stop everybody for as long as the answer likes.
TEST(Pauses, that_a_request_without_credentials_drew_hold_such_requests_alone) {
  Limited stage("maxConcurrent: 1");
  const std::string mine = "Authorization: Bearer of-mine\r\nPenstock-Max-Wait: 0s\r\n";
  stage.origin.on("/busy", scripts::answers(429, "later", "Retry-After: 2\r\n"));
  stage.begin();
  EXPECT_EQ(stage.fetch("/busy").status, 429);
  stage.send_one("/anonymous/1");
  stage.send_one("/anonymous/2");
  EXPECT_EQ(stage.fetch("/mine", mine).status, 200) << "nobody waits behind those that are paused";
  const Reply hasty = stage.fetch("/anonymous/hasty", "Penstock-Max-Wait: 500ms\r\n");
  expect_limited(hasty, 503, "pause");
  EXPECT_LE(retry_after(hasty), 2);
  EXPECT_EQ(stage.fetch("/mine", mine).status, 200);
  EXPECT_TRUE(within(2s, stage.start)) << "the pause is not over yet";
  stage.expect_all_served();
  stage.expect_arrivals(
      2, [](int) { return 2s; }, "/anonymous");
  EXPECT_THAT(stage.limited_by(5, "dispatch"), ElementsAre("", "", "", "pause", "pause"));
}

}  // namespace
}  // namespace penstock::trial
