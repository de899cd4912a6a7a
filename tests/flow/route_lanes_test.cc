// SPDX-License-Identifier: Apache-2.0
// The lanes of one route, when its limits stop them: which of them asks for the others, and what becomes of that when
// its request leaves, weighs more, has a slot already, or is refused.
#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "flow/routes_fixture.h"

namespace penstock::flow {
namespace {

using testing::Pair;
using testing::SizeIs;
using Scope = Booking::Scope;

// ---- requests that weigh more ---------------------------------------------------------------------------------------

TEST(RouteLanes, a_request_leaves_though_a_heavier_one_before_it_was_refused) {
  Routes all({{.kind = kWide}, of_route(at_most(10, 60s))},
             {.max_concurrent = 2, .max_pending = 10, .max_wait = 2 * kMinute});
  const auto first = all.arrive(kSearch);
  all.land(first);
  const auto plain = all.arrive(2, kPlain);  // they have both slots, so that the next three wait in one queue
  const auto heavy = all.arrive(kSearch, 10, 30 * kSecond);
  const auto light = all.arrive(2, kSearch);
  for (const RequestId id : plain) all.land(id);
  EXPECT_THAT(all.yard.refused, ElementsAre(heavy)) << "there is room for it in a minute";
  EXPECT_TRUE(all.left(light[0]) && all.left(light[1])) << "nine units are free";
}

TEST(RouteLanes, other_lanes_do_not_wait_for_what_a_heavier_request_was_told_and_has_left) {
  Routes all({{.kind = kWide}, of_route(at_most(10, 60s))});
  all.arrive(kSearch);
  const auto heavy = all.arrive(kSearchOfA, 10);
  const auto light = all.arrive(kSearchOfB);
  all.run_to(kSecond);
  EXPECT_FALSE(all.left(light)) << "it came after the heavy one, and its lane has its turn after that";
  all.cancel(heavy);
  EXPECT_TRUE(all.left(light));
}

TEST(RouteLanes, a_lighter_request_behind_a_heavier_one_that_has_left_asks_at_once) {
  Routes all({{.kind = kWide}, of_route(at_most(10, 60s))});
  all.arrive(kSearch);
  const auto heavy = all.arrive(kSearchOfA, 10);
  const auto light = all.arrive(kSearchOfA), other = all.arrive(kSearchOfB);
  all.run_to(kSecond);
  all.cancel(heavy);
  EXPECT_TRUE(all.left(light) && all.left(other));
}

TEST(RouteLanes, other_lanes_wait_on_while_the_heavier_request_that_was_told_waits) {
  Routes all({{.kind = kWide}, of_route(at_most(10, 60s))});
  all.arrive(kSearch);
  all.arrive(kSearchOfA, 10);
  const auto light = all.arrive(kSearchOfB), gone = all.arrive(kSearchOfC);
  all.run_to(kSecond);
  all.cancel(gone);
  EXPECT_FALSE(all.left(light));
}

// ---- requests that have returned ------------------------------------------------------------------------------------

TEST(RouteLanes, of_many_with_returned_requests_few_ask) {
  constexpr int kLanes = 64;
  Routes all({{.kind = kWide}, of_route(PacerConfig{.qps = 10, .max_burst = kLanes})},
             {.max_concurrent = kLanes, .max_pending = 10, .max_wait = kMinute});
  std::vector<RequestId> ids;
  for (int i = 0; i < kLanes; ++i) ids.push_back(all.arrive(LaneName(LaneKey("g" + std::to_string(i), "search"))));
  ASSERT_EQ(all.left(), 64u);
  for (const RequestId id : ids) all.requeue(id);
  all.run_to(500 * kMs);  // the burst is over
  const int asks = all.limiter.asks;
  const auto left = all.left();
  all.run_to(2'500 * kMs);
  EXPECT_EQ(all.left() - left, 20u) << "ten a second";
  EXPECT_LE(all.limiter.asks - asks, 3 * 20);
  all.run_to(8 * kSecond);
  EXPECT_EQ(all.left(), 2u * kLanes) << "each once more";
}

/// All slots are taken by requests that have returned: a lane that needs one comes after them.
TEST(RouteLanes, a_returned_request_is_not_behind_one_that_needs_its_slot) {
  Routes all({{.kind = kWide}, of_route(PacerConfig{.qps = 1, .max_burst = 1})},
             {.max_concurrent = 2, .max_pending = 10, .max_wait = kMinute});
  const auto first = all.arrive(kSearchOfA), second = all.arrive(kSearchOfB);
  ASSERT_EQ(all.left(), 2u);
  const auto third = all.arrive(kSearchOfC);
  all.requeue(first);
  all.requeue(second);
  all.run_to(5 * kSecond);
  EXPECT_EQ(all.left(), 4u);
  EXPECT_GT(all.at[second], all.at[first]);
  EXPECT_LE(all.at[second], 3 * kSecond);
  EXPECT_FALSE(all.left(third)) << "no slot is free";
  all.land(first);
  all.run_to(10 * kSecond);
  EXPECT_TRUE(all.left(third));
}

// ---- limits that refuse ---------------------------------------------------------------------------------------------

/// A request that has left before is never refused, so its lane waits for as long as the limit refuses it, an hour
/// here.
TEST(RouteLanes, a_limit_that_refuses_refuses_though_a_returned_request_waits_for_it) {
  LimitConfig refusing = of_route(at_most(4, 3600s), "search", "hourly");
  refusing.mode = LimitConfig::Mode::refuse;
  Routes all({{.kind = kWide}, of_route(PacerConfig{.qps = 10, .max_burst = 2}), refusing});
  all.arrive(kSearchOfB);
  const auto returns = all.arrive(kSearchOfA, 2);  // one unit is left for others
  ASSERT_EQ(all.left(), 2u);
  const auto third = all.arrive(kSearchOfB);
  all.requeue(returns);
  const auto early = all.arrive(kSearchOfC);
  all.run_to(kSecond);
  EXPECT_TRUE(all.left(third)) << "the last of the hour";
  EXPECT_EQ(all.left(), 3u);
  EXPECT_THAT(all.yard.refused, ElementsAre(early));
  const auto late = all.arrive(LaneKey("d", "search"));
  EXPECT_THAT(all.yard.refused, ElementsAre(early, late));
}

// ---- a limiter that answers later -----------------------------------------------------------------------------------

TEST(RouteLanesOfASlowLimiter, one_lane_asks_for_all_after_a_stop) {
  SlowLimiter limiter;
  limiter.its_patience = kSecond;
  SchedulerFixture yard(kRoomy, limiter);
  const auto key = [](int n) { return LaneName(LaneKey("g" + std::to_string(n), "search")); };
  for (RequestId id = 0; id < 10; ++id) {
    const LaneName lane = key(static_cast<int>(id));
    yard.arrive({.id = id, .group = lane.group, .route = lane.route});
  }
  ASSERT_THAT(limiter.asks, SizeIs(10)) << "nothing has stopped any";
  Booking stop{
      .scope = Scope::route, .limited_by = 0, .ask_again = yard.now + 100 * kMs, .not_before = yard.now + 150 * kMs};
  for (int n = 0; n < 10; ++n) yard.answer(stop, key(n));
  limiter.asks.clear();
  yard.advance_to(yard.now + 99 * kMs);
  EXPECT_THAT(limiter.asks, IsEmpty());
  yard.advance_to(yard.now + kMs);
  ASSERT_THAT(limiter.asks, SizeIs(1));
  EXPECT_EQ(limiter.asks[0], (SlowLimiter::Asked{"g0", 1, 1, "search"})) << "which was told first";
  yard.answer({.departures = {{.at = yard.now + 10 * kMs}}}, key(0));
  ASSERT_THAT(limiter.asks, SizeIs(2)) << "then the next";
  EXPECT_EQ(limiter.asks[1].group, "g1");
}

TEST(RouteLanesOfASlowLimiter, more_lanes_ask_at_a_time_while_departures_are_granted_at_once) {
  SlowLimiter limiter;
  limiter.its_patience = kSecond;
  SchedulerFixture yard(kRoomy, limiter);
  const auto key = [](int n) { return LaneName(LaneKey("g" + std::to_string(n), "search")); };
  for (RequestId id = 0; id < 20; ++id) {
    const LaneName lane = key(static_cast<int>(id));
    yard.arrive({.id = id, .group = lane.group, .route = lane.route});
  }
  Booking stop{
      .scope = Scope::route, .limited_by = 0, .ask_again = yard.now + 100 * kMs, .not_before = yard.now + 150 * kMs};
  for (int n = 0; n < 20; ++n) yard.answer(stop, key(n));
  limiter.asks.clear();
  yard.advance_to(yard.now + 100 * kMs);
  std::size_t answered = 0;
  for (const std::size_t asked : {1u, 3u, 11u}) {  // two, four and eight at a time
    ASSERT_THAT(limiter.asks, SizeIs(asked));
    for (; answered < asked; ++answered) {
      yard.answer({.departures = {{.at = yard.now}}}, LaneName(LaneKey(limiter.asks[answered].group, "search")));
    }
  }
}

/// Each lane tells of itself, and the last one of the route: the limiter knows which reservations it has.
TEST(RouteLanesOfASlowLimiter, reservations_are_given_up_by_each_lane_and_by_the_last_for_the_route) {
  SlowLimiter limiter;
  limiter.its_patience = kSecond;
  SchedulerFixture yard(kRoomy, limiter);
  yard.arrive({.id = 1, .group = "a", .route = "search"});
  yard.arrive({.id = 2, .group = "b", .route = "search"});
  const Booking stop{.scope = Scope::route, .ask_again = yard.now + kSecond, .not_before = yard.now + kSecond};
  yard.answer(stop, LaneKey("a", "search"));
  yard.answer(stop, LaneKey("b", "search"));
  yard.cancel(1);
  EXPECT_THAT(limiter.gave_up, ElementsAre(Pair(Scope::group, "a@search")));
  yard.cancel(2);
  EXPECT_THAT(limiter.gave_up, ElementsAre(Pair(Scope::group, "a@search"), Pair(Scope::group, "b@search"),
                                           Pair(Scope::route, "b@search")));
}

/// One lane's answer may be about something else, and leave the route's reservation as it was.
TEST(RouteLanesOfASlowLimiter, the_reservation_of_the_route_is_given_up_though_a_lane_has_asked_since) {
  SlowLimiter limiter;
  limiter.its_patience = kSecond;
  SchedulerFixture yard(kRoomy, limiter);
  yard.arrive({.id = 1, .group = "a", .route = "search"});
  yard.arrive({.id = 2, .group = "b", .route = "search"});
  yard.answer({.scope = Scope::route, .ask_again = yard.now + kSecond, .not_before = yard.now + kSecond}, kSearchOfA);
  yard.answer({.scope = Scope::group, .ask_again = yard.now + kMinute, .not_before = yard.now + kMinute}, kSearchOfB);
  yard.retry(Scope::group, kSearchOfB);
  yard.answer({.scope = Scope::group, .ask_again = yard.now + kMinute, .not_before = yard.now + kMinute}, kSearchOfB);
  yard.cancel(1), yard.cancel(2);
  EXPECT_THAT(limiter.gave_up, testing::Contains(Pair(Scope::route, "b@search")));
}

TEST(RouteLanesOfASlowLimiter, a_new_limiter_is_asked_by_all_and_has_no_reservation) {
  SlowLimiter first, second;
  first.its_patience = second.its_patience = kSecond;
  SchedulerFixture yard(kRoomy, first);
  yard.arrive({.id = 1, .group = "a", .route = "search"});
  yard.arrive({.id = 2, .group = "b", .route = "search"});
  yard.answer({.scope = Scope::route, .ask_again = yard.now + kSecond, .not_before = yard.now + kSecond}, kSearchOfA);
  yard.upstream.replace(second);
  yard.change(kRoomy);
  EXPECT_THAT(second.asks, testing::UnorderedElementsAre(SlowLimiter::Asked{"a", 1, 1, "search"},
                                                         SlowLimiter::Asked{"b", 1, 1, "search"}));
  for (const RequestId id : {1, 2}) yard.cancel(id);
  for (const LaneKey lane : {kSearchOfA, kSearchOfB}) yard.answer({.departures = {{.at = yard.now + kSecond}}}, lane);
  EXPECT_THAT(second.given_back, SizeIs(2));
  EXPECT_THAT(second.gave_up, IsEmpty());
}

TEST(RouteLanesOfASlowLimiter, lanes_of_a_route_may_be_told_to_ask_again) {
  SlowLimiter limiter;
  limiter.its_patience = kSecond;
  SchedulerFixture yard(kRoomy, limiter);
  yard.arrive({.id = 1, .group = "a", .route = "search"});
  yard.answer({.scope = Scope::route, .ask_again = yard.now + kSecond, .not_before = yard.now + kSecond},
              LaneKey("a", "search"));
  limiter.asks.clear();
  yard.retry(Scope::route, LaneKey("", "write"));
  EXPECT_THAT(limiter.asks, IsEmpty());
  yard.retry(Scope::route, LaneKey("", "search"));
  EXPECT_THAT(limiter.asks, SizeIs(1));
}

}  // namespace
}  // namespace penstock::flow
