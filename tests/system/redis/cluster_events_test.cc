// SPDX-License-Identifier: Apache-2.0
// What happens to one node of a Redis Cluster disturbs the upstreams of that node alone, and those no longer than the
// cluster itself takes to have a master for their keys again.
#include <gmock/gmock.h>

#include <ostream>
#include <string_view>

#include "system/cluster_stage.h"

namespace penstock::trial {
namespace {

using Reached = ClusterNodes::Reached;

struct ClusterEvent {
  std::string_view name;
  Reached how;
  bool of_one_slot;  ///< the first upstream's
  bool refuses;      ///< it takes so long that requests of the first upstream are refused meanwhile
  /// Happens to the first node. Ends when the cluster has a master for the keys of the first upstream again: that one.
  ClusterNode& (*happens)(EventfulCluster&);
};
void PrintTo(const ClusterEvent& event, std::ostream* out) { *out << event.name; }

ClusterNode& promoted(EventfulCluster& stage) {
  EXPECT_TRUE(eventually([&] { return stage.nodes[3].is_master(); }));
  return stage.nodes[3];
}

const ClusterEvent kEvents[] = {
    {"slot_moved", Reached::directly, true, false,
     [](EventfulCluster& stage) -> ClusterNode& {
       stage.move_slot(stage.slot(0), stage.nodes[0], stage.nodes[1]);
       return stage.nodes[1];
     }},
    {"master_killed", Reached::directly, false, true,
     [](EventfulCluster& stage) -> ClusterNode& {
       stage.nodes[0].server.stop(SIGKILL);
       return promoted(stage);
     }},
    {"replica_promoted", Reached::directly, false, false,
     [](EventfulCluster& stage) -> ClusterNode& {
       EXPECT_FALSE(stage.nodes[3].server.run({"CLUSTER", "FAILOVER", "TAKEOVER"}).is_error());
       return promoted(stage);
     }},
    {"cut_off_from_the_others", Reached::through_relays, false, true,
     [](EventfulCluster& stage) -> ClusterNode& {
       stage.nodes.cut_off(0, false);
       return promoted(stage);
     }},
    {"cut_off_from_us_too", Reached::through_relays, false, true,
     [](EventfulCluster& stage) -> ClusterNode& {
       stage.nodes.cut_off(0, true);
       return promoted(stage);
     }},
};

class ClusterEvents : public testing::TestWithParam<ClusterEvent> {};

constexpr std::string_view kWithoutRedis = "limits cannot be asked (redis)";  // by whenDown: refuse

TEST_P(ClusterEvents, disturb_the_upstreams_of_one_node_alone_and_end_with_the_cluster_s_own) {
  // A silent node is noticed before the cluster has another master, which takes it two seconds.
  EventfulCluster stage("refuse", GetParam().how, "1s");
  const ClusterNode& master = GetParam().happens(stage);
  const auto since = Clock::now();
  EXPECT_TRUE(stage.is_shared_again(master)) << stage.daemons[0].diagnostics();
  EXPECT_TRUE(within(kRecovered, since)) << "soon after the cluster itself";
  for (std::size_t i = 0; i < stage.loads.size(); ++i) {
    const auto had = stage.loads[i].stop();
    if (i == 0 && GetParam().refuses) {
      EXPECT_THAT(had.by_words, testing::Contains(testing::Key(testing::HasSubstr(kWithoutRedis))));
    }
    if (GetParam().of_one_slot ? i == 0 : i % 3 == 0) continue;  // of the first node
    for (const auto& [words, count] : had.by_words) {
      EXPECT_THAT(words, testing::Not(testing::HasSubstr(kWithoutRedis))) << count << " of " << stage.names[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Each, ClusterEvents, testing::ValuesIn(kEvents),
                         [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace penstock::trial
