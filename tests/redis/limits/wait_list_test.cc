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

/// Of a lane of a group, beside limits of the whole upstream; or of a group within the route r.
LaneLines of_group(std::string_view group) { return {.line = {group, ""}, .own = {group, ""}}; }
LaneLines in_route(std::string_view group) { return {.line = {"", "@r"}, .own = {group, "@r"}}; }
LaneLines in_route_by_group(std::string_view group) { return {.line = {group, "@r"}, .own = {group, "@r"}}; }

class ToldTest : public testing::Test {
 protected:
  WaitList told_;
};

TEST_F(ToldTest, of_the_upstream_counts_for_every_group) {
  told_.answered("a", of_group("1"), turn(Scope::upstream, 70));
  EXPECT_EQ(told_.not_before(of_group("1")), 70);
  EXPECT_EQ(told_.not_before(of_group("2")), 70);
  EXPECT_FALSE(told_.waits("1")) << "it waits for no limit of its own";
}

TEST_F(ToldTest, of_a_group_counts_for_it_alone) {
  told_.answered("a", of_group("1"), turn(Scope::group, 90));
  told_.answered("b", of_group("2"), turn(Scope::upstream, 70));
  EXPECT_EQ(told_.not_before(of_group("1")), 90);
  EXPECT_EQ(told_.not_before(of_group("2")), 70);
  EXPECT_TRUE(told_.waits("1"));
  EXPECT_FALSE(told_.waits("2"));
}

TEST_F(ToldTest, has_the_scope_of_what_holds_the_lane_the_longest) {
  told_.answered("a", of_group("1"), turn(Scope::group, 90));
  told_.answered("b", of_group("2"), turn(Scope::upstream, 70));
  EXPECT_EQ(told_.told(of_group("1")).scope, Scope::group);
  EXPECT_EQ(told_.told(of_group("2")).scope, Scope::upstream);
  told_.answered(flow::LaneKey("", "r"), in_route(""), turn(Scope::route, 80));
  EXPECT_EQ(told_.told(in_route("2")).scope, Scope::route);
  EXPECT_EQ(told_.told(in_route("2")).not_before, 80);
}

TEST_F(ToldTest, is_over_when_a_lane_of_it_is_told_of_no_turn) {
  told_.answered("a", of_group("1"), turn(Scope::group, 90));
  told_.answered("b", of_group("2"), turn(Scope::upstream, 70));
  told_.answered("a", of_group("1"), {});
  EXPECT_EQ(told_.not_before(of_group("1")), 0);
  EXPECT_TRUE(told_.empty());
}

TEST_F(ToldTest, is_given_up_once) {
  told_.answered("a", of_group("1"), turn(Scope::group, 90));
  told_.answered("a", of_group("2"), turn(Scope::upstream, 70));
  EXPECT_FALSE(told_.give_up(Scope::group, of_group("2")));
  EXPECT_TRUE(told_.give_up(Scope::group, of_group("1")));
  EXPECT_FALSE(told_.give_up(Scope::group, of_group("1")));
  EXPECT_TRUE(told_.give_up(Scope::upstream, of_group("1")));
  EXPECT_FALSE(told_.give_up(Scope::upstream, of_group("1")));
  EXPECT_EQ(told_.not_before(of_group("1")), 70) << "the limit still allows none";
}

TEST_F(ToldTest, of_a_route_is_given_up_by_none_of_its_lanes_alone) {
  const flow::LaneKey a("a", "search"), b("b", "search");
  told_.answered(a, in_route("1"), turn(Scope::route, 90));
  told_.answered(b, in_route("2"), turn(Scope::route, 91));
  EXPECT_FALSE(told_.give_up(Scope::group, in_route("2")));
  EXPECT_EQ(told_.not_before(in_route("1")), 91);
  EXPECT_TRUE(told_.give_up(Scope::route, in_route("2")));
  EXPECT_FALSE(told_.give_up(Scope::route, in_route("1"))) << "they had one together";
  EXPECT_TRUE(told_.empty());
}

TEST_F(ToldTest, of_a_route_with_limits_of_groups_is_given_up_by_each_lane) {
  told_.answered(flow::LaneKey("a", "search"), in_route_by_group("1"), turn(Scope::route, 90));
  told_.answered(flow::LaneKey("b", "search"), in_route_by_group("2"), turn(Scope::group, 91));
  EXPECT_FALSE(told_.give_up(Scope::route, in_route_by_group("1"))) << "each lane tells of itself";
  EXPECT_TRUE(told_.give_up(Scope::group, in_route_by_group("1")));
  EXPECT_FALSE(told_.give_up(Scope::group, in_route_by_group("1")));
  EXPECT_TRUE(told_.give_up(Scope::group, in_route_by_group("2")));
  EXPECT_TRUE(told_.empty());
}

/// As of a pause of its group.
TEST_F(ToldTest, of_one_group_in_the_line_of_a_route_is_of_no_other) {
  const flow::LaneKey a("a", "search"), b("b", "search");
  told_.answered(b, in_route("2"), turn(Scope::route, 90));
  told_.answered(a, in_route("1"), turn(Scope::group, 300));
  EXPECT_EQ(told_.not_before(in_route("1")), 300);
  EXPECT_EQ(told_.not_before(in_route("2")), 90);
  EXPECT_FALSE(told_.give_up(Scope::group, in_route("1"))) << "it had no reservation";
  EXPECT_EQ(told_.not_before(in_route("1")), 90);
  EXPECT_TRUE(told_.give_up(Scope::route, in_route("1"))) << "which that did not end";
}

TEST_F(ToldTest, of_one_group_ends_when_the_lane_is_told_of_the_route) {
  const flow::LaneKey a("a", "search");
  told_.answered(a, in_route("1"), turn(Scope::group, 300));
  told_.answered(a, in_route("1"), turn(Scope::route, 90));
  EXPECT_EQ(told_.not_before(in_route("1")), 90);
  told_.answered(a, in_route("1"), {});
  EXPECT_TRUE(told_.empty());
}

TEST_F(ToldTest, leaves_lines_in_which_no_lane_stands_after_a_change) {
  const auto lines_after = [](flow::LaneKey lane) {
    if (lane.route.empty()) return of_group("1");
    return lane.group == "a" ? in_route_by_group("1") : in_route_by_group("2");
  };
  told_.answered("a", of_group("1"), turn(Scope::group, 80));
  told_.answered(flow::LaneKey("a", "search"), in_route("1"), turn(Scope::route, 90));
  EXPECT_THAT(told_.leave_former(lines_after), ElementsAre("@r"));
  told_.answered(flow::LaneKey("b", "search"), in_route_by_group("2"), turn(Scope::route, 90));
  EXPECT_THAT(told_.leave_former(lines_after), IsEmpty());
  const auto lines_before = [](flow::LaneKey lane) { return lane.route.empty() ? of_group("1") : in_route("2"); };
  EXPECT_THAT(told_.leave_former(lines_before), ElementsAre("2@r"));
  EXPECT_TRUE(told_.waits("1"));
}

TEST_F(ToldTest, is_in_use_while_a_lane_waits_and_for_four_seconds_after_an_ask) {
  EXPECT_FALSE(told_.in_use(0));
  told_.asked(1'000'000);
  EXPECT_TRUE(told_.in_use(4'999'999));
  EXPECT_FALSE(told_.in_use(5'000'000));
  told_.answered("a", of_group("1"), turn(Scope::upstream, 70));
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
  told_.answered("a", of_group("1"), turn(Scope::group, 90));
  told_.answered(flow::LaneKey("b", "search"), in_route("2"), turn(Scope::route, 90));
  told_.answered(flow::LaneKey("d", "search"), in_route("4"), turn(Scope::group, 95));
  told_.answered("c", of_group("3"), turn(Scope::upstream, 70));
  told_.wake(lanes);
  EXPECT_THAT(lanes.retried, UnorderedElementsAre("all", "a", "route search", "d"));
  EXPECT_EQ(told_.not_before(of_group("1")), 0);
  EXPECT_TRUE(told_.empty());
  EXPECT_TRUE(told_.in_use(2'000'000)) << "the ask is not forgotten";
}

TEST_F(ToldTest, tells_which_lanes_redis_calls) {
  RetriedLanes lanes;
  told_.answered("a", of_group("1"), turn(Scope::group, 90));
  told_.answered(flow::LaneKey("a", "search"), in_route("1"), turn(Scope::route, 90));
  told_.call("1", lanes);
  told_.call("2", lanes);
  told_.call("@r", lanes);
  told_.call("", lanes);
  EXPECT_THAT(lanes.retried, ElementsAre("a", "route search", "all")) << "the second waits for no limit of its own";
}

}  // namespace
}  // namespace penstock::redis
