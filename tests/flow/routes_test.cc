// SPDX-License-Identifier: Apache-2.0
// Limits of routes, in one process: they hold the lanes of their route alone, in turn, and beside all other limits.
#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "flow/routes_fixture.h"

namespace penstock::flow {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Le;
using testing::SizeIs;

TEST(Routes, what_waits_for_a_limit_of_one_holds_no_other_lane) {
  Routes all({{.kind = kWide}, of_route(at_most(1))});
  const auto searches = all.arrive(3, kSearch), others = all.arrive(50, kPlain);
  const auto writes = all.arrive(5, LaneKey("", "write"));
  all.run_to(100 * kMs);
  EXPECT_TRUE(all.left(searches[0]));
  EXPECT_FALSE(all.left(searches[1]));
  for (const RequestId id : others) EXPECT_TRUE(all.left(id));
  for (const RequestId id : writes) EXPECT_TRUE(all.left(id)) << "a route without limits is as none";
  all.run_to(3 * kSecond);
  EXPECT_EQ(all.at[searches[1]], kSecond + kMore);
  EXPECT_EQ(all.at[searches[2]], 2 * (kSecond + kMore));
  EXPECT_EQ(all.yard.limited[searches[2]], 1) << "the route's";
}

TEST(Routes, requests_of_one_count_in_the_limits_of_the_upstream_too) {
  Routes all({{.kind = at_most(4)}, of_route(at_most(3))});
  const auto searches = all.arrive(4, kSearch), others = all.arrive(2, kPlain);
  all.run_to(500 * kMs);
  EXPECT_TRUE(all.left(searches[2]));
  EXPECT_FALSE(all.left(searches[3]));
  EXPECT_TRUE(all.left(others[0]));
  EXPECT_FALSE(all.left(others[1])) << "three searches and one other are four";
  all.run_to(2 * kSecond);
  EXPECT_EQ(all.left(), 6u);
}

TEST(Routes, without_any_other_limit_hold_no_lane_without_a_limit) {
  Routes all({of_route(at_most(1))});
  const auto searches = all.arrive(2, kSearch);
  const auto others = all.arrive(5, kPlain);
  EXPECT_EQ(all.left(), 6u);
  EXPECT_FALSE(all.left(searches[1]));
  all.run_to(2 * kSecond);
  EXPECT_EQ(all.at[searches[1]], kSecond + kMore);
}

TEST(Routes, and_groups_compose) {
  Routes all({{.kind = kWide}, of_group(at_most(2)), of_route(at_most(3))});
  const LaneKey a_search("a", "search"), b_search("b", "search");
  const auto of_a = all.arrive(3, a_search), of_b = all.arrive(2, b_search);
  const auto plain_of_a = all.arrive(1, "a"), plain_of_b = all.arrive(1, "b");
  all.run_to(500 * kMs);
  EXPECT_TRUE(all.left(of_a[1]));
  EXPECT_FALSE(all.left(of_a[2])) << "the group's two";
  EXPECT_TRUE(all.left(of_b[0]));
  EXPECT_FALSE(all.left(of_b[1])) << "the route's three";
  EXPECT_FALSE(all.left(plain_of_a[0])) << "a group has one limit for all its routes";
  EXPECT_TRUE(all.left(plain_of_b[0])) << "of the group's two, one is left";
  EXPECT_EQ(all.yard.upstream.limited_by(all.yard.now, all.yard.ticket(of_a[2])), 1);
  EXPECT_EQ(all.yard.upstream.limited_by(all.yard.now, all.yard.ticket(of_b[1])), 2);
  all.run_to(3 * kSecond);
  EXPECT_EQ(all.left(), 7u);
}

TEST(Routes, may_have_a_limit_for_each_group) {
  Routes all({{.kind = kWide}, of_group(at_most(1), "search")});
  const auto of_a = all.arrive(2, LaneKey("a", "search")), of_b = all.arrive(2, LaneKey("b", "search"));
  const auto plain = all.arrive(4, "a");
  all.run_to(500 * kMs);
  EXPECT_TRUE(all.left(of_a[0]) && all.left(of_b[0]));
  EXPECT_FALSE(all.left(of_a[1]) || all.left(of_b[1]));
  EXPECT_TRUE(all.left(plain[3])) << "of the same group, and not of the route";
}

TEST(Routes, limits_of_one_name_are_each_routes_own) {
  Routes all({{.kind = kWide}, of_route(at_most(1), "search", "w"), of_route(at_most(2), "write", "w")});
  all.arrive(5, kSearch);
  all.arrive(5, LaneKey("", "write"));
  all.run_to(500 * kMs);
  EXPECT_EQ(all.left(), 3u);
}

TEST(Routes, lanes_of_one_leave_in_turn) {
  Routes all({{.kind = kWide}, of_route(PacerConfig{.qps = 10})});
  for (const char group : {'a', 'b', 'c', 'd'}) all.arrive(2, LaneName(LaneKey(std::string(1, group), "search")));
  all.run_to(2 * kSecond);
  EXPECT_THAT(all.order, ElementsAre(1, 2, 3, 5, 7, 4, 6, 8)) << "the second of a was there before all others";
  EXPECT_EQ(all.at[8], 700 * kMs) << "at the whole rate";
}

TEST(Routes, lanes_of_one_are_told_apart_by_the_time_since_which_they_wait) {
  Routes all({{.kind = kWide}, of_route(PacerConfig{.qps = 10})});
  const auto many = all.arrive(5, LaneKey("a", "search"));
  all.run_to(150 * kMs);
  const auto late = all.arrive(LaneKey("b", "search"));
  all.run_to(kSecond);
  EXPECT_LE(all.at[late], all.at[many[3]]) << "the other lane has had its turn";
  EXPECT_EQ(all.left(), 6u);
}

/// However many lanes wait, a departure makes one ask that gets it, and one that is told when to ask again.
TEST(Routes, a_departure_makes_few_of_a_thousand_lanes_ask) {
  constexpr int kLanes = 1'000;
  Routes all({{.kind = kWide}, of_route(PacerConfig{.qps = 100})});
  for (int i = 0; i < kLanes; ++i) {
    const LaneName lane(LaneKey("g" + std::to_string(i), "search"));
    all.arrive(3, lane);
  }
  all.run_to(100 * kMs);
  const int before = all.limiter.asks;
  const auto left_before = all.left();
  all.run_to(20 * kSecond);
  const auto left = static_cast<int>(all.left() - left_before);
  EXPECT_THAT(left, AllOf(Ge(1'985), Le(1'995))) << "a hundred a second";
  EXPECT_LE(all.limiter.asks - before, 3 * left);
  all.run_to(40 * kSecond);
  EXPECT_EQ(all.left(), 3u * kLanes);
  EXPECT_LE(all.limiter.asks, 4 * 3 * kLanes);
}

TEST(Routes, a_thousand_lanes_keep_no_slot_from_others) {
  Routes all({{.kind = kWide}, of_route(at_most(1))}, {.max_concurrent = 2, .max_pending = 5'000, .max_wait = kSecond});
  for (int i = 0; i < 1'000; ++i) all.arrive(LaneName(LaneKey("g" + std::to_string(i), "search")));
  EXPECT_EQ(all.left(), 1u);
  EXPECT_TRUE(all.left(all.arrive(kPlain))) << "the other slot";
}

TEST(Routes, a_departure_that_is_given_back_goes_to_the_next_lane) {
  Routes all({{.kind = kWide}, of_route(at_most(1, 10s))});
  all.arrive(LaneKey("a", "search"));
  const auto second = all.arrive(LaneKey("b", "search")), third = all.arrive(LaneKey("c", "search"));
  all.run_to(9'997 * kMs);  // it has asked, and is booked
  all.cancel(second);
  all.run_to(10'100 * kMs);
  EXPECT_EQ(all.at[third], 10 * kSecond + kMore);
}

TEST(Routes, a_departure_of_a_group_that_is_given_back_is_for_its_lane_of_another_route) {
  Routes all({of_group(WindowConfig{.reservoir = 1, .interval = 1h}), of_route(PacerConfig{.qps = 25})});
  all.arrive(LaneKey("b", "search"));
  const auto booked = all.arrive(LaneKey("a", "search"));  // 40 ms later
  all.limiter.pause(all.yard.now, "c", all.yard.now + kSecond);
  all.arrive(LaneKey("c"));  // waits on its own, too, and was told to before
  const auto waits = all.arrive(LaneKey("a"));
  ASSERT_EQ(all.left(), 1u);
  all.cancel(booked);
  EXPECT_TRUE(all.left(waits));
}

TEST(Routes, the_lane_that_asks_for_others_may_end) {
  Routes all({{.kind = kWide}, of_route(at_most(1))});
  all.arrive(LaneKey("a", "search"));
  const auto second = all.arrive(LaneKey("b", "search")), third = all.arrive(LaneKey("c", "search"));
  all.run_to(500 * kMs);
  all.cancel(second);
  all.run_to(2 * kSecond);
  EXPECT_EQ(all.at[third], kSecond + kMore);
}

/// The lane that asks for the route finds no slot until the returned request has gone.
TEST(Routes, a_returned_request_waits_for_no_lane_that_needs_its_slot) {
  Routes all({{.kind = kWide}, of_route(at_most(1))}, {.max_concurrent = 2, .max_pending = 10, .max_wait = kMinute});
  const auto plain = all.arrive(kPlain), first = all.arrive(LaneKey("a", "search"));
  all.land(plain);
  const auto second = all.arrive(LaneKey("b", "search"));
  all.arrive(kPlain);  // it has the last slot
  all.requeue(first);
  all.run_to(1'500 * kMs);
  EXPECT_EQ(all.at[first], kSecond + kMore) << "once more";
  EXPECT_FALSE(all.left(second));
}

TEST(Routes, a_heavy_request_is_not_overtaken_for_ever) {
  Routes all(
      {{.kind = kWide}, of_route(TokenBucketConfig{.capacity = 5, .refill_amount = 1, .refill_frequency = 100ms})});
  all.arrive(5, LaneKey("a", "search"));
  const auto heavy = all.arrive(LaneKey("b", "search"), 5);
  for (int i = 0; i < 20; ++i) all.arrive(LaneKey("a", "search"));
  all.run_to(kSecond);
  EXPECT_TRUE(all.left(heavy));
}

TEST(Routes, a_permit_that_comes_free_goes_to_one_lane_of_its_route) {
  Routes all({{.kind = kWide}, of_route(SemaphoreConfig{.capacity = 2})});
  const auto first = all.arrive(LaneKey("a", "search")), second = all.arrive(LaneKey("b", "search"));
  const auto third = all.arrive(LaneKey("c", "search")), fourth = all.arrive(LaneKey("d", "search"));
  const auto others = all.arrive(10, kPlain);
  all.run_to(kSecond);
  EXPECT_THAT(all.order, SizeIs(12)) << "two searches and all others";
  const int asks = all.limiter.asks;
  all.land(others[0]);
  EXPECT_FALSE(all.left(third)) << "that had no permit of the route";
  all.land(second);
  EXPECT_TRUE(all.left(third));
  EXPECT_FALSE(all.left(fourth));
  all.land(first);
  EXPECT_TRUE(all.left(fourth));
  EXPECT_LE(all.limiter.asks - asks, 4);
}

/// The permits of a group are those of its lanes of all routes.
TEST(Routes, a_permit_of_a_group_goes_to_its_lane_of_another_route) {
  Routes all({{.kind = kWide}, of_group(SemaphoreConfig{.capacity = 1}), of_route(at_most(100))});
  const auto search = all.arrive(LaneKey("a", "search")), plain = all.arrive("a");
  EXPECT_FALSE(all.left(plain));
  all.land(search);
  EXPECT_TRUE(all.left(plain));
}

TEST(Routes, permits_of_the_upstream_and_of_one_are_both_needed) {
  Routes all({{.kind = SemaphoreConfig{.capacity = 2}, .name = "all"}, of_route(SemaphoreConfig{.capacity = 1})});
  const auto first = all.arrive(kSearch), second = all.arrive(kSearch), plain = all.arrive(kPlain);
  const auto waits = all.arrive(kPlain);
  EXPECT_TRUE(all.left(first) && all.left(plain));
  EXPECT_FALSE(all.left(second) || all.left(waits));
  all.land(plain);
  EXPECT_TRUE(all.left(waits)) << "the search waits for the permit of its route";
  all.land(first);
  EXPECT_TRUE(all.left(second));
}

TEST(Routes, forbid_only_their_own_requests_a_weight) {
  LocalLimiter limiter({{.kind = kWide}, of_route(at_most(3))});
  EXPECT_EQ(limiter.forbids(5), kNoLimit);
  EXPECT_EQ(limiter.forbids(3, "search"), kNoLimit);
  EXPECT_EQ(limiter.forbids(5, "search"), 1);
}

TEST(Routes, are_expected_behind_all_lanes_of_the_same_route) {
  const LocalLimiter limiter({of_route(PacerConfig{.qps = 10}), {.kind = PacerConfig{.qps = 100}, .name = "wide"}});
  const OtherUnits others(50, 5, 0);
  EXPECT_EQ(limiter.expected(0, kSearch, 1, 2, others, {}), 700 * kMs) << "two of its lane, five of its route";
  EXPECT_EQ(limiter.expected(0, kPlain, 1, 2, others, {}), 520 * kMs) << "52 of all";
}

TEST(Routes, tell_when_the_last_of_their_lanes_leaves) {
  Routes all({{.kind = kWide}, of_route(PacerConfig{.qps = 10})});
  for (const char* group : {"a", "b", "c", "d"}) all.arrive(10, LaneKey(group, "search"));
  const auto last = all.yard.upstream.forecast().last_leaves(all.yard.now);
  ASSERT_TRUE(last);
  const Time told = *last - all.yard.now;
  all.run_to(5 * kSecond);
  EXPECT_EQ(all.left(), 40u);
  EXPECT_NEAR(static_cast<double>(told), static_cast<double>(all.at[all.order.back()]), 400'000.0);
}

TEST(Routes, a_refused_request_is_told_to_return_behind_those_of_its_route) {
  Routes all({{.kind = kWide}, of_route(PacerConfig{.qps = 1})});
  for (int i = 0; i < 11; ++i) all.arrive(LaneName(LaneKey("g" + std::to_string(i), "search")));
  EXPECT_GE(all.yard.upstream.retry_after(all.yard.now, LaneKey("new", "search")), 10 * kSecond);
  EXPECT_LE(all.yard.upstream.retry_after(all.yard.now, LaneKey("new")), kSecond);
}

TEST(Routes, that_a_reload_adds_hold_what_waits_in_their_lanes) {
  Routes all({{.kind = at_most(2), .name = "wide"}});
  const auto searches = all.arrive(6, kSearch);
  all.run_to(100 * kMs);
  EXPECT_EQ(all.left(), 2u);
  all.change({{.kind = at_most(100), .name = "wide"}, of_route(at_most(1))});
  all.run_to(200 * kMs);
  EXPECT_EQ(all.left(), 3u) << "one more: nothing has left that counts in the route's limit";
  all.run_to(10 * kSecond);
  EXPECT_EQ(all.at[searches[5]] - all.at[searches[2]], 3 * (kSecond + kMore));
}

TEST(Routes, that_a_reload_removes_let_all_go) {
  Routes all({{.kind = kWide}, of_route(at_most(1, 60s))});
  for (int i = 0; i < 50; ++i) all.arrive(2, LaneName(LaneKey("g" + std::to_string(i), "search")));
  all.run_to(100 * kMs);
  EXPECT_EQ(all.left(), 1u);
  all.change({{.kind = kWide}});
  all.run_to(300 * kMs);
  EXPECT_EQ(all.left(), 100u);
}

TEST(Routes, that_a_reload_keeps_go_on_from_what_they_have_counted) {
  Routes all({{.kind = kWide}, of_route(at_most(2), "search", "w"), of_route(at_most(2), "write", "w")});
  all.arrive(2, kSearch);
  const auto third = all.arrive(kSearch);
  all.run_to(500 * kMs);
  all.change({of_route(at_most(2), "search", "w"), {.kind = kWide}});
  all.run_to(900 * kMs);
  EXPECT_FALSE(all.left(third));
  EXPECT_EQ(all.yard.upstream.limited_by(all.yard.now, all.yard.ticket(third)), 0) << "its new place";
  all.run_to(2 * kSecond);
  EXPECT_EQ(all.at[third], kSecond + kMore);
}

TEST(Routes, pauses_of_a_group_hold_its_lanes_of_all_routes) {
  Routes all({{.kind = kWide}, of_route(at_most(100))});
  const auto busy = all.arrive("a");
  all.yard.pause(busy, 200 * kMs, "a");
  const auto search = all.arrive(LaneKey("a", "search")), other = all.arrive(LaneKey("b", "search"));
  all.run_to(100 * kMs);
  EXPECT_FALSE(all.left(search));
  EXPECT_TRUE(all.left(other));
  all.run_to(300 * kMs);
  all.may_probe("a");
  EXPECT_TRUE(all.left(search));
}

}  // namespace
}  // namespace penstock::flow
