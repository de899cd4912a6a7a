// SPDX-License-Identifier: Apache-2.0
// The judges, on runs written by hand in which some limits are of a route.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulation/hand_made.h"

namespace penstock::simulation {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(KeepsOfRoutes, only_requests_of_the_route_count) {
  HandMade run({window(100, kSecond), of_the_route(window(10, kSecond))});
  run.pass(300'000, 90);
  run.pass(300'000, 10, {.routed = true});
  EXPECT_THAT(run.broken("keeps"), IsEmpty());
  run.pass(400'000, 1, {.routed = true});
  EXPECT_THAT(run.broken("keeps"), SizeIs(2)) << "both";
}

TEST(KeepsOfRoutes, a_limit_of_the_route_is_of_all_groups_or_of_each) {
  for (const bool each : {false, true}) {
    const LimitConfig limit = of_the_route(window(10, kSecond));
    HandMade run({each ? each_group(limit) : limit});
    run.pass(300'000, 10, {.group = 1, .routed = true});
    run.pass(300'000, 10, {.group = 1});
    EXPECT_THAT(run.broken("keeps"), IsEmpty());
    run.pass(400'000, 1, {.group = 2, .routed = true});
    EXPECT_THAT(run.broken("keeps"), SizeIs(each ? 0 : 1));
    run.pass(400'000, 1, {.group = 1, .routed = true});
    EXPECT_THAT(run.broken("keeps"), ElementsAre(HasSubstr(each ? "of the route of group 1" : "of the route")));
  }
}

TEST(OrderOfRoutes, holds_in_the_lane_of_the_route_and_in_the_other) {
  HandMade run({});
  run.add({.arrived = 1, .departed = 20, .group = 3, .routed = true});
  run.add({.arrived = 2, .departed = 10, .group = 3});
  EXPECT_THAT(run.broken("order"), IsEmpty()) << "what waits for the route holds no other request up";
  run.add({.arrived = 3, .departed = 15, .group = 3, .routed = true});
  EXPECT_THAT(run.broken("order"), ElementsAre(HasSubstr("of the route")));
}

/// Ten requests come at once, of which the route passes one a second. A fair wait is as long as its queue; three times
/// that, and two grants of six units, are allowed.
TEST(WaitsOfRoutes, are_as_long_as_its_queue) {
  for (const Time late : {0, 60}) {
    HandMade run({pacer(1'000), of_the_route(pacer(1))});
    for (int n = 0; n < 10; ++n) run.add({.departed = (n < 9 ? n : n + late) * kSecond, .routed = true});
    EXPECT_THAT(run.broken("waits"), SizeIs(late > 0 ? 1 : 0));
  }
}

TEST(WaitsOfRoutes, are_no_excuse_for_other_requests) {
  for (const bool routed : {true, false}) {
    HandMade run({pacer(1'000), of_the_route(pacer(1))});
    for (int n = 0; n < 30; ++n) run.add({.departed = n * kSecond, .routed = true});
    run.add({.departed = 40 * kSecond, .routed = routed});
    EXPECT_THAT(run.broken("waits"), SizeIs(routed ? 0 : 1));
  }
}

}  // namespace
}  // namespace penstock::simulation
