// SPDX-License-Identifier: Apache-2.0
// What requests see in each mode of `whenDown`, and what operators are told.
#include <gmock/gmock.h>

#include "system/redis_stage.h"

namespace penstock::trial {
namespace {

/// One line each way, and the metric while it lasts.
void expect_told_of_both_ways(SharedStage& stage, const Daemon& daemon) {
  EXPECT_TRUE(is_degraded(daemon));
  EXPECT_FALSE(is_up(daemon));
  stage.redis.start();
  EXPECT_TRUE(eventually([&] { return is_up(daemon) && !is_degraded(daemon); }));
  EXPECT_EQ(lines_with(daemon.diagnostics(), " is down: "), 1u) << daemon.diagnostics();
  EXPECT_TRUE(eventually([&] { return lines_with(daemon.diagnostics(), " is up again") == 1; }))
      << daemon.diagnostics();
}

/// Daemons that have worked together for long enough to know of each other, and then lose their Redis.
void lose_redis(SharedStage& stage, std::size_t daemons) {
  for (std::size_t i = 0; i < daemons; ++i) stage.add();
  {
    const Load load(stage.ports(), stage.origin.url(), 1);
    stage.expect_acquainted();
  }
  stage.redis.stop(SIGKILL);
  for (const auto& daemon : stage.daemons) EXPECT_TRUE(eventually([&] { return is_degraded(daemon); }));
}

TEST(WhenDown, refuse_answers_503_at_once_and_says_why) {
  SharedStage stage({.when_down = "refuse"});
  lose_redis(stage, 1);
  const auto before = stage.arrivals.count();
  const Daemon& daemon = stage.daemons[0];
  const Reply refused = stage.fetch(daemon);
  expect_own_answer(refused, {503}, "destination_unavailable");
  EXPECT_EQ(refused.field("retry-after"), "1");
  EXPECT_THAT(refused.field("proxy-status"), testing::HasSubstr("redis"));
  EXPECT_THAT(refused.reason, testing::HasSubstr("redis"));
  const Json event = daemon.await_event("refused");
  EXPECT_EQ(event.at("limitedBy"), "redis");
  EXPECT_EQ(event.at("status"), 503);
  EXPECT_EQ(daemon.metric("penstock_refusals_total", "kind=\"limiter_down\""), 1);
  EXPECT_EQ(stage.arrivals.count(), before);
  expect_told_of_both_ways(stage, daemon);
  EXPECT_TRUE(eventually([&] { return stage.fetch(daemon).status == 200; })) << "not before it knows what is lost";
}

}  // namespace
}  // namespace penstock::trial
