// SPDX-License-Identifier: Apache-2.0
// Limits of routes, in one process: they hold the lanes of their route alone, in turn, and beside all other limits.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "flow/limit_remap.h"
#include "flow/local_limiter.h"
#include "flow/scheduler_fixture.h"

namespace penstock::flow {
namespace {

using testing::AllOf;
using testing::Ge;
using testing::Le;
using testing::Pair;
using testing::SizeIs;
using Scope = Booking::Scope;

constexpr Time kMinute = 60 * kSecond;
constexpr Settings kRoomy{.max_concurrent = 5'000, .max_pending = 100'000, .max_wait = 3'600 * kSecond};

LimitConfig of_route(LimitConfig::Kind kind, std::string route = "search", std::string name = {}) {
  return {.kind = kind, .name = std::move(name), .route = std::move(route)};
}
LimitConfig of_group(LimitConfig::Kind kind, std::string route = {}) {
  return {.kind = kind, .name = "each", .per = LimitConfig::Per::group, .route = std::move(route)};
}
SlidingWindowConfig at_most(int max, Duration interval = 1s) { return {.max = max, .interval = interval}; }
constexpr PacerConfig kWide{.qps = 10'000, .max_burst = 1'000};  // of the upstream; holds nothing up here

/// A LocalLimiter that counts the asks.
class CountedLimiter final : public Limiter {
 public:
  explicit CountedLimiter(std::vector<LimitConfig> limits) : limits_(std::move(limits)) {}

  bool ask(Time now, const Ask& ask, Booking& booking) override { return ++asks, limits_.ask(now, ask, booking); }
  LimitIndex forbids(int weight, std::string_view route) const override { return limits_.forbids(weight, route); }
  Time ahead(Time now, LaneKey lane, std::int64_t units, const OtherUnits& others) const override {
    return limits_.ahead(now, lane, units, others);
  }
  Time expected(Time now, LaneKey lane, int weight, std::int64_t units, const OtherUnits& others) const override {
    return limits_.expected(now, lane, weight, units, others, {});
  }
  void give_back(Time now, LaneKey lane, const Departure& departure) override {
    limits_.give_back(now, lane, departure);
  }
  bool landed(Time now, LaneKey lane) override { return limits_.landed(now, lane); }
  void cancel_wait(Time now, Scope scope, LaneKey lane) override { limits_.cancel_wait(now, scope, lane); }
  void pause(Time now, std::string_view group, Time until) override { limits_.pause(now, group, until); }
  bool has_room_for(std::string_view group) const override { return limits_.has_room_for(group); }
  bool forgettable(Time now) const override { return limits_.forgettable(now); }
  void change(Time now, const std::vector<LimitConfig>& limits) override { limits_.change(now, limits); }
  void count_existing(Time now, LaneKey lane, std::size_t departures) override {
    limits_.count_existing(now, lane, departures);
  }

  int asks = 0;

 private:
  LocalLimiter limits_;
};

/// Requests that arrive for lanes, and when each took off, from when the test began.
class Routes {
 public:
  explicit Routes(std::vector<LimitConfig> limits, Settings settings = kRoomy)
      : settings_(settings), limits_(limits), limiter(std::move(limits)), yard(settings, limiter) {}

  RequestId arrive(LaneKey lane, int weight = 1) {
    const RequestId id = ++last_;
    note(yard.arrive({.id = id, .weight = weight, .group = lane.group, .route = lane.route}));
    return id;
  }
  std::vector<RequestId> arrive(std::size_t count, LaneKey lane) {
    std::vector<RequestId> ids;
    while (ids.size() < count) ids.push_back(arrive(lane));
    return ids;
  }
  void run_to(Time time) {
    const Time until = begin_ + time;
    for (auto next = yard.upstream.wake_at(); next && *next <= until; next = yard.upstream.wake_at()) {
      note(yard.advance_to(*next));
    }
    yard.now = until;
  }
  void cancel(RequestId id) { note(yard.cancel(id)); }
  void land(RequestId id) { note(yard.land(id)); }
  void requeue(RequestId id) { note(yard.requeue(id)); }
  void may_probe(std::string_view group) { note(yard.may_probe(true, yard.now + kProbeRight, group)); }
  void change(std::vector<LimitConfig> limits) {
    const auto moved = limit_remap(limits_, limits);
    limiter.change(yard.now, limits);
    limits_ = std::move(limits);
    note(yard.change(settings_, moved));
  }

  bool left(RequestId id) const { return at.contains(id); }
  std::size_t left() const { return order.size(); }

  std::map<RequestId, Time> at;
  std::vector<RequestId> order;

 private:
  void note(const Ids& started) {
    for (const RequestId id : started) at[id] = yard.now - begin_, order.push_back(id);
  }
  const Settings settings_;
  std::vector<LimitConfig> limits_;
  RequestId last_ = 0;

 public:
  CountedLimiter limiter;
  SchedulerFixture yard;

 private:
  const Time begin_ = yard.now;
};

const LaneKey kSearch("", "search");
const LaneKey kPlain;

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
  EXPECT_EQ(all.at[searches[1]], kSecond);
  EXPECT_EQ(all.at[searches[2]], 2 * kSecond);
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
  EXPECT_EQ(all.at[searches[1]], kSecond);
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
  EXPECT_EQ(all.at[third], 10 * kSecond);
}

TEST(Routes, the_lane_that_asks_for_others_may_end) {
  Routes all({{.kind = kWide}, of_route(at_most(1))});
  all.arrive(LaneKey("a", "search"));
  const auto second = all.arrive(LaneKey("b", "search")), third = all.arrive(LaneKey("c", "search"));
  all.run_to(500 * kMs);
  all.cancel(second);
  all.run_to(2 * kSecond);
  EXPECT_EQ(all.at[third], kSecond);
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
  EXPECT_EQ(all.at[first], kSecond) << "once more";
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
  EXPECT_EQ(all.at[searches[5]] - all.at[searches[2]], 3 * kSecond);
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
  EXPECT_EQ(all.at[third], kSecond);
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

// ---- a limiter that answers later -----------------------------------------------------------------------------------

TEST(RoutesOfASlowLimiter, one_lane_asks_for_all_after_a_stop) {
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
  EXPECT_EQ(limiter.asks[0].group, "g0") << "which was told first";
  yard.answer({.departures = {{.at = yard.now + 10 * kMs}}}, key(0));
  ASSERT_THAT(limiter.asks, SizeIs(2)) << "then the next";
  EXPECT_EQ(limiter.asks[1].group, "g1");
}

TEST(RoutesOfASlowLimiter, more_lanes_ask_at_a_time_while_departures_are_granted_at_once) {
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

TEST(RoutesOfASlowLimiter, the_reservation_is_given_up_when_no_lane_of_the_route_wants_it) {
  SlowLimiter limiter;
  limiter.its_patience = kSecond;
  SchedulerFixture yard(kRoomy, limiter);
  yard.arrive({.id = 1, .group = "a", .route = "search"});
  yard.arrive({.id = 2, .group = "b", .route = "search"});
  const Booking stop{.scope = Scope::route, .ask_again = yard.now + kSecond, .not_before = yard.now + kSecond};
  yard.answer(stop, LaneKey("a", "search"));
  yard.answer(stop, LaneKey("b", "search"));
  yard.cancel(1);
  EXPECT_THAT(limiter.gave_up, IsEmpty());
  yard.cancel(2);
  EXPECT_THAT(limiter.gave_up, testing::ElementsAre(Pair(Scope::route, "b")));
}

TEST(RoutesOfASlowLimiter, lanes_of_a_route_may_be_told_to_ask_again) {
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
