// SPDX-License-Identifier: Apache-2.0
// Numbers and places of semaphores while limits change.
#include "redis/limits/semaphore_table.h"

#include <gmock/gmock.h>

namespace penstock::redis {
namespace {

using testing::ElementsAre;

LimitConfig semaphore_named(std::string name, LimitConfig::Per per = LimitConfig::Per::upstream) {
  return {.kind = SemaphoreConfig{.capacity = 4, .lease = 30s}, .name = std::move(name), .per = per};
}
LimitConfig a_pacer() { return {.kind = PacerConfig{.qps = 1}, .name = "pacer"}; }

const auto kAllHeld = [](flow::LimitIndex) { return true; };
const auto kNoneHeld = [](flow::LimitIndex) { return false; };

std::vector<flow::LimitIndex> numbers(const SemaphoreTable& table, flow::LaneKey lane) {
  std::vector<flow::LimitIndex> found;
  table.each_of(lane, [&](const SemaphoreTable::Row& row) { found.push_back(row.number); });
  return found;
}

TEST(SemaphoreTable, has_those_of_the_group_for_lanes_of_a_group_alone) {
  const SemaphoreTable table({a_pacer(), semaphore_named("whole"), semaphore_named("each", LimitConfig::Per::group)});
  EXPECT_THAT(numbers(table, ""), ElementsAre(1));
  EXPECT_THAT(numbers(table, "reds"), ElementsAre(1, 2));
  EXPECT_FALSE(table.permits_only());
  EXPECT_EQ(table.shortest_lease(), 30'000'000);
}

TEST(SemaphoreTable, has_those_of_a_route_for_its_lanes_alone) {
  auto of_route = semaphore_named("one"), of_each = semaphore_named("one", LimitConfig::Per::group);
  of_route.route = of_each.route = "search";
  const SemaphoreTable table({semaphore_named("one"), of_route, of_each});
  EXPECT_THAT(numbers(table, ""), ElementsAre(0));
  EXPECT_THAT(numbers(table, flow::LaneKey("", "search")), ElementsAre(0, 1));
  EXPECT_THAT(numbers(table, flow::LaneKey("reds", "search")), ElementsAre(0, 1, 2));
  EXPECT_THAT(numbers(table, flow::LaneKey("reds", "write")), ElementsAre(0));
  using Scope = flow::Booking::Scope;
  EXPECT_EQ(table.row(0).scope(), Scope::upstream);
  EXPECT_EQ(table.row(1).scope(), Scope::route);
  EXPECT_EQ(table.row(2).scope(), Scope::group);
}

TEST(SemaphoreTable, keeps_numbers_when_places_change_and_reuses_none) {
  SemaphoreTable table({semaphore_named("a"), semaphore_named("b")});
  table.change({semaphore_named("b"), semaphore_named("c"), semaphore_named("a")}, kAllHeld);
  EXPECT_EQ(table.row(0).place, 2);
  EXPECT_EQ(table.row(1).place, 0);
  EXPECT_EQ(table.at(1), 2) << "the new one";
  EXPECT_TRUE(table.row(2).is_new);
  EXPECT_FALSE(table.row(0).is_new);
  EXPECT_FALSE(table.row(0).changed) << "its place alone did";
  table.change({semaphore_named("d")}, kNoneHeld);
  EXPECT_EQ(table.at(0), 3);
}

TEST(SemaphoreTable, remembers_one_that_is_gone_while_its_permits_are_held) {
  SemaphoreTable table({semaphore_named("a")});
  table.change({a_pacer()}, kAllHeld);
  EXPECT_TRUE(table.row(0).gone());
  EXPECT_FALSE(table.any());
  table.change({semaphore_named("a")}, kAllHeld);
  EXPECT_EQ(table.at(0), 0) << "it is back under its number";
  EXPECT_TRUE(table.row(0).is_new);
}

}  // namespace
}  // namespace penstock::redis
