// SPDX-License-Identifier: Apache-2.0
// Learned pauses: a 429 or 503 with Retry-After stops others for as long as it says.
#include <gmock/gmock.h>

#include "system/limited.h"

namespace penstock::trial {
namespace {

using testing::ElementsAre;

// One that says nothing of itself, and is refused, must not stop everybody for as long as the answer likes.
TEST(Pauses, that_a_request_without_credentials_drew_hold_such_requests_alone) {
  Limited stage("maxConcurrent: 1, pauseScope: credentials, retry: off");
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
