// SPDX-License-Identifier: Apache-2.0
// A limit of a route for several daemons with a real Redis: its requests are held to it together, and hold no other
// requests of the upstream up. The origin judges.
#include <gmock/gmock.h>

#include "system/redis_stage.h"

namespace penstock::trial {
namespace {

/// The stage's limits and, of searches alone, 20 in any second.
Shared with_searches() {
  return {.limits = "pacer: { qps: 400 }",
          .timeout = "8s",
          .upstream =
              "routes:\n"
              "  - name: search\n"
              "    match: { path: /search }\n"
              "    limits: [ { slidingWindow: { max: 20, interval: 1s } } ]"};
}

TEST(SharedRoutes, hold_their_requests_to_their_limit_and_no_others_up) {
  Arrivals searches;  // outlives the origin, which notes them
  SharedStage stage(with_searches());
  stage.origin.on("/search", [&](Visit& visit) {
    searches.note();
    if (visit.read_body()) visit.answer(200, "found");
  });
  for (int i = 0; i < 3; ++i) searches.watch(stage.add().pid());
  Load searching(stage.ports(), stage.origin.url("/search"));
  ASSERT_TRUE(searches.await(20)) << "from now on searches wait";
  const auto before = stage.arrivals.count();
  Load others(stage.ports(), stage.origin.url("/"));
  ASSERT_TRUE(searches.await(100));
  const auto answered = others.stop();
  const auto passed = stage.arrivals.count() - before;
  expect_only_successes(searching.stop());
  expect_only_successes(answered);
  EXPECT_LE(fullest_in_time(searches, 1s), 20u);
  EXPECT_GT(passed, 400u) << "in the four seconds that eighty searches take";
  EXPECT_LT(answered.longest, 500ms) << "a search waits longer";
  for (const auto& daemon : stage.daemons) {
    const auto limits = daemon.status("api").at("limits");
    ASSERT_EQ(limits.size(), 2u);
    EXPECT_EQ(limits.at(1).at("name"), "search:slidingWindow");
    EXPECT_EQ(limits.at(1).at("route"), "search");
    EXPECT_GT(limits.at(1).at("units"), 10) << "each has its share";
    EXPECT_FALSE(limits.at(0).contains("route"));
  }
}

}  // namespace
}  // namespace penstock::trial
