// SPDX-License-Identifier: Apache-2.0
// A move of the keys to another node is seen although neither node tells an id.
#include "redis/limits/known_memory.h"

#include <gmock/gmock.h>

#include "redis/client/scripts.h"
#include "redis/cluster_fixture.h"

namespace penstock::redis {
namespace {

using KnownMemoryInCluster = ClusterFixture;

TEST_F(KnownMemoryInCluster, tells_nodes_without_ids_apart_by_their_places) {
  SharedRedis shared(
      run_.loop, resolver_, config_, static_cast<RedisEvents&>(*this), {}, [](const Notice&) {}, sockets(), "me");
  const Slot slot = slot_of(kLow);
  KnownMemory memory(shared, slot);
  const auto is_up = [&](Slot of) {
    return run_.run_until([&] {
      const Redis* const redis = shared.servers().server_for(of);
      return redis && redis->up();
    });
  };
  ASSERT_TRUE(is_up(slot));
  ASSERT_TRUE(is_up(slot_of(kHigh)));
  memory.meet_anew();
  EXPECT_EQ(memory.server_now(), "");
  EXPECT_FALSE(memory.is_elsewhere());
  says(0, to_the_other("MOVED"));
  const std::string_view keys[] = {kLow};
  ASSERT_TRUE(shared.call(Script::present, keys, {}, [](const Outcome&, std::int64_t) {}));
  ASSERT_TRUE(run_.run_until(
      [&] { return shared.servers().find_server(slot) == shared.servers().find_server(slot_of(kHigh)); }));
  EXPECT_TRUE(memory.is_elsewhere());
  memory.meet_anew();
  EXPECT_FALSE(memory.is_elsewhere());
}

}  // namespace
}  // namespace penstock::redis
