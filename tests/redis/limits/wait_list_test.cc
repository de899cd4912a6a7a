// SPDX-License-Identifier: Apache-2.0
// What lanes were told to wait for, by itself.
#include "redis/limits/wait_list.h"

#include <gmock/gmock.h>

namespace penstock::redis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

using Scope = flow::Booking::Scope;

flow::Booking turn(Scope scope, flow::Time not_before) { return {.scope = scope, .not_before = not_before}; }

class ToldTest : public testing::Test {
 protected:
  WaitList told_;
};

TEST_F(ToldTest, of_the_upstream_counts_for_every_group) {
  told_.answered("a", "1", turn(Scope::upstream, 70));
  EXPECT_EQ(told_.not_before("1"), 70);
  EXPECT_EQ(told_.not_before("2"), 70);
  EXPECT_FALSE(told_.waits("1")) << "it waits for no limit of its own";
}

TEST_F(ToldTest, of_a_group_counts_for_it_alone) {
  told_.answered("a", "1", turn(Scope::group, 90));
  told_.answered("b", "2", turn(Scope::upstream, 70));
  EXPECT_EQ(told_.not_before("1"), 90);
  EXPECT_EQ(told_.not_before("2"), 70);
  EXPECT_TRUE(told_.waits("1"));
  EXPECT_FALSE(told_.waits("2"));
}

TEST_F(ToldTest, is_over_when_a_lane_of_it_is_told_of_no_turn) {
  told_.answered("a", "1", turn(Scope::group, 90));
  told_.answered("b", "2", turn(Scope::upstream, 70));
  told_.answered("a", "1", {});
  EXPECT_EQ(told_.not_before("1"), 0);
  EXPECT_TRUE(told_.empty());
}

TEST_F(ToldTest, is_given_up_once) {
  told_.answered("a", "1", turn(Scope::group, 90));
  told_.answered("a", "2", turn(Scope::upstream, 70));
  EXPECT_FALSE(told_.give_up(Scope::group, "2"));
  EXPECT_TRUE(told_.give_up(Scope::group, "1"));
  EXPECT_FALSE(told_.give_up(Scope::group, "1"));
  EXPECT_TRUE(told_.give_up(Scope::upstream, "1"));
  EXPECT_FALSE(told_.give_up(Scope::upstream, "1"));
  EXPECT_EQ(told_.not_before("1"), 70) << "the limit still allows none";
}

TEST_F(ToldTest, is_given_up_for_all_lanes_of_a_route_that_wait_for_its_limits) {
  told_.answered(flow::LaneKey("a", "search"), "1@r", turn(Scope::route, 90));
  told_.answered(flow::LaneKey("b", "search"), "2@r", turn(Scope::route, 91));
  told_.answered(flow::LaneKey("c", "search"), "3@r", turn(Scope::group, 92));
  told_.answered(flow::LaneKey("a", "write"), "1@w", turn(Scope::route, 93));
  EXPECT_THAT(told_.give_up_route("search"), UnorderedElementsAre(flow::LaneName(flow::LaneKey("a", "search")),
                                                                  flow::LaneName(flow::LaneKey("b", "search"))));
  EXPECT_THAT(told_.give_up_route("search"), IsEmpty());
  EXPECT_TRUE(told_.waits("3@r")) << "for a limit of its group";
  EXPECT_TRUE(told_.waits("1@w"));
}

TEST_F(ToldTest, is_in_use_while_a_lane_waits_and_for_four_seconds_after_an_ask) {
  EXPECT_FALSE(told_.in_use(0));
  told_.asked(1'000'000);
  EXPECT_TRUE(told_.in_use(4'999'999));
  EXPECT_FALSE(told_.in_use(5'000'000));
  told_.answered("a", "1", turn(Scope::upstream, 70));
  EXPECT_TRUE(told_.in_use(9'000'000));
}

class RetriedLanes final : public flow::LimiterEvents {
 public:
  void answer(flow::LaneKey, const flow::Booking&) override {}
  void retry(Scope scope, flow::LaneKey lane) override {
    retried.push_back(scope == Scope::upstream ? "all"
                      : scope == Scope::route  ? "route " + std::string(lane.route)
                                               : std::string(lane.group));
  }
  void cut(Scope, flow::LaneKey, std::size_t) override {}
  std::vector<std::string> retried;
};

TEST_F(ToldTest, is_forgotten_when_all_lanes_are_woken) {
  RetriedLanes lanes;
  told_.asked(1'000'000);
  told_.answered("a", "1", turn(Scope::group, 90));
  told_.answered(flow::LaneKey("b", "search"), "@r", turn(Scope::route, 90));
  told_.answered("c", "3", turn(Scope::upstream, 70));
  told_.wake(lanes);
  EXPECT_THAT(lanes.retried, UnorderedElementsAre("all", "a", "route search"));
  EXPECT_EQ(told_.not_before("1"), 0);
  EXPECT_TRUE(told_.empty());
  EXPECT_TRUE(told_.in_use(2'000'000)) << "the ask is not forgotten";
}

TEST_F(ToldTest, tells_which_lanes_redis_calls) {
  RetriedLanes lanes;
  told_.answered("a", "1", turn(Scope::group, 90));
  told_.answered(flow::LaneKey("a", "search"), "@r", turn(Scope::route, 90));
  told_.call("1", lanes);
  told_.call("2", lanes);
  told_.call("@r", lanes);
  told_.call("", lanes);
  EXPECT_THAT(lanes.retried, ElementsAre("a", "route search", "all")) << "the second waits for no limit of its own";
}

}  // namespace
}  // namespace penstock::redis
