// SPDX-License-Identifier: Apache-2.0
// SIGHUP where limits are shared: they change for those who wait, and may become shared or cease to be while requests
// wait, fly and hold permits.
#include <gmock/gmock.h>

#include <deque>

#include "system/redis_stage.h"

namespace penstock::trial {
namespace {

constexpr const char* kPatient = "queue: { maxWait: 24h }";

Shared with_limits(std::string limits) { return {.limits = std::move(limits), .timeout = "8s", .upstream = kPatient}; }

TEST(ReloadedSharedLimit, may_come_and_go_and_be_shared_or_not_while_clients_hurry) {
  SharedStage stage(with_limits("pacer: { qps: 5000 }"));
  stage.add();
  stage.add();
  Load load(stage.ports(), stage.origin.url());
  const int rounds = is_sanitized() ? 2 : 6;
  for (int round = 0; round < rounds; ++round) {
    for (const char* limits :
         {"semaphore: { capacity: 3, lease: 6s }", "pacer: { qps: 5000, maxBurst: 10, shared: false }",
          "window: { reservoir: 2000, interval: 1s }\n- semaphore: { capacity: 2, lease: 6s }",
          "semaphore: { capacity: 4, shared: false }", "counter: { max: 100000, period: 1m }"}) {
      SCOPED_TRACE(limits);
      const auto before = stage.arrivals.count();
      for (const auto& daemon : stage.daemons) {
        ASSERT_TRUE(daemon.reloads(yaml_of(with_limits(limits), stage.redis.port()))) << daemon.diagnostics();
      }
      ASSERT_TRUE(stage.arrivals.await(before + 20)) << "they go on";
    }
  }
  expect_only_successes(load.stop());
  for (const auto& daemon : stage.daemons) {
    EXPECT_TRUE(daemon.await_pending("api", 0));
    EXPECT_TRUE(daemon.await_in_flight("api", 0));
  }
}

}  // namespace
}  // namespace penstock::trial
