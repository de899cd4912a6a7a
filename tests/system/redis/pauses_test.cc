// SPDX-License-Identifier: Apache-2.0
// Pauses that one daemon learns and all keep.
#include <gmock/gmock.h>

#include "system/redis_stage.h"

namespace penstock::trial {
namespace {

TEST(LearnedPause, that_a_request_without_credentials_drew_holds_such_requests_alone_everywhere) {
  SharedStage stage({.timeout = "8s"});
  const Daemon &told = stage.add(), &other = stage.add();
  stage.origin.on("/busy", scripts::answers(429, "later", "Retry-After: 3\r\n"));
  EXPECT_EQ(stage.fetch(other).status, 200);
  const auto since = Clock::now();
  EXPECT_EQ(stage.fetch(told, "/busy").status, 429);
  const auto held = [&] { return stage.fetch(other, "/", "Penstock-Max-Wait: 0s\r\n").status == 503; };
  ASSERT_TRUE(eventually(held)) << "the other process has heard of it";
  EXPECT_EQ(stage.fetch(other, "/", "Authorization: Bearer of-mine\r\n").status, 200);
  EXPECT_TRUE(within(3s, since)) << "the pause is not over yet";
  EXPECT_EQ(stage.fetch(other).status, 200);
  EXPECT_GE(Clock::now() - since, 3s);
}

}  // namespace
}  // namespace penstock::trial
