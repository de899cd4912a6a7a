// SPDX-License-Identifier: Apache-2.0
// Pauses that one daemon learns and all keep.
#include <gmock/gmock.h>

#include "system/redis_stage.h"

namespace penstock::trial {
namespace {

TEST(LearnedPause, of_one_daemon_delays_the_other) {
  SharedStage stage({.timeout = "8s"});
  const Daemon &told = stage.add(), &other = stage.add();
  stage.origin.on("/busy", scripts::answers(429, "later", "Retry-After: 1\r\n"));
  EXPECT_EQ(stage.fetch(other).status, 200);
  const auto since = Clock::now();
  const Reply busy = stage.fetch(told, "/busy", "Authorization: Bearer of-mine\r\n");
  EXPECT_EQ(busy.status, 429);
  EXPECT_EQ(busy.field("retry-after"), "1") << "passed on untouched";
  ASSERT_TRUE(eventually([&] { return !stage.value("pause").empty(); }));
  EXPECT_EQ(stage.fetch(other).status, 200);
  EXPECT_GE(Clock::now() - since, 1s);
  EXPECT_TRUE(within(1s + kLate, since));
  const auto dispatched = other.await_events(2, "dispatch");
  ASSERT_EQ(dispatched.size(), 2u);
  EXPECT_EQ(dispatched[1].at("limitedBy"), "pause");
}

TEST(LearnedPause, of_a_group_delays_that_group_alone) {
  SharedStage stage({.timeout = "8s", .upstream = "group: \"path:/{team}\""});
  const Daemon &told = stage.add(), &other = stage.add();
  stage.origin.on("/reds/busy", scripts::answers(503, "later", "Retry-After: 2\r\n"));
  const auto since = Clock::now();
  EXPECT_EQ(stage.fetch(told, "/reds/busy", "Authorization: Bearer of-mine\r\n").status, 503);
  ASSERT_TRUE(eventually([&] { return stage.redis.run({"KEYS", stage.key("pause:*")}).items.size() == 1; }));
  EXPECT_EQ(stage.fetch(other, "/blues").status, 200);
  EXPECT_LT(Clock::now() - since, 2s) << "another group need not wait";
  EXPECT_EQ(stage.fetch(other, "/reds").status, 200);
  EXPECT_GE(Clock::now() - since, 2s);
}

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
