// SPDX-License-Identifier: Apache-2.0
// A slot of a Redis Cluster moves to a master that is new: how soon its limits are shared there.
#include <gmock/gmock.h>

#include "system/cluster_stage.h"

namespace penstock::trial {
namespace {

/// The new master has no slot at all before. What needs keys that are not there yet goes by whenDown meanwhile.
TEST(RedisCluster, keeps_limits_while_a_slot_moves_to_a_new_master_under_load) {
  EventfulCluster stage("share");
  ClusterNode fresh;
  fresh.server.run({"CLUSTER", "SET-CONFIG-EPOCH", "7"});
  stage.nodes[0].server.run({"CLUSTER", "MEET", "127.0.0.1", fresh.port(), fresh.bus_port()});
  for (auto& node : stage.nodes) ASSERT_TRUE(eventually([&] { return node.agrees(7); }));
  ASSERT_TRUE(eventually([&] { return fresh.agrees(7); }));
  stage.move_slot(stage.slot(0), stage.nodes[0], fresh, [&] {
    for (const auto& daemon : stage.daemons)
      EXPECT_TRUE(eventually([&] { return speaks_to(daemon, fresh.at()) && is_up(daemon); })) << daemon.diagnostics();
  });
  const auto since = Clock::now();
  EXPECT_TRUE(stage.is_shared_again(fresh)) << stage.daemons[0].diagnostics();
  EXPECT_TRUE(within(kRecovered, since));
  const auto served = stage.origins[0].count();
  EXPECT_TRUE(stage.origins[0].await(served + 25)) << "the others have not used it up";
  EXPECT_TRUE(fresh.has(stage.key(0, "head")));
  for (const auto& daemon : stage.daemons)
    EXPECT_EQ(lines_with(daemon.diagnostics(), "Redis at " + fresh.at()), 0u) << daemon.diagnostics();
  stage.expect_kept(kHorizonLost);
}

}  // namespace
}  // namespace penstock::trial
