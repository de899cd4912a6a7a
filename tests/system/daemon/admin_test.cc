// SPDX-License-Identifier: Apache-2.0
// The admin port as operators and Prometheus find it.
#include <gmock/gmock.h>

#include <deque>

#include "system/stage.h"

namespace penstock::trial {
namespace {

TEST(Metrics, answer_while_the_proxy_is_busy) {
  Stage stage;
  stage.origin.otherwise(scripts::held());
  std::deque<Client> clients;
  for (int i = 0; i < 500; ++i) clients.emplace_back(stage.daemon.port()).send(get(stage.url()));
  ASSERT_TRUE(stage.daemon.await_pending(stage.origin.host(), 500 - 64));
  const Reply metrics = stage.daemon.admin("/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_TRUE(metrics.field("content-type").starts_with("text/plain; version=0.0.4")) << metrics.head;
  EXPECT_EQ(stage.daemon.metric("penstock_pending_requests"), 500 - 64);
  stage.origin.release_all();
}

}  // namespace
}  // namespace penstock::trial
