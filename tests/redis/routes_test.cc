// SPDX-License-Identifier: Apache-2.0
// Limits of routes that processes share: kept over all of them, to the request, while other lanes go on at full rate.
#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "redis/limiter_fixture.h"

namespace penstock::redis {
namespace {

using namespace std::chrono_literals;

using testing::Each;
using testing::SizeIs;

const flow::LaneKey kSearch("", "search");

LimitConfig of_search(LimitConfig::Kind kind, std::string name = "searches") {
  return {.kind = kind, .name = std::move(name), .route = "search"};
}

class SharedRoutes : public SharedLimiterTest {
 protected:
  /// When the requests of all desks were booked to leave that are of that route.
  std::vector<flow::Time> booked(const std::vector<std::unique_ptr<LimiterFixture>>& desks, std::string_view route) {
    std::vector<flow::Time> times;
    for (const auto& desk : desks) {
      for (const TookOff& one : desk->took_off()) {
        if (one.route == route) times.push_back(one.booked);
      }
    }
    std::ranges::sort(times);
    return times;
  }
  std::vector<std::unique_ptr<LimiterFixture>> desks(std::size_t count, const std::vector<LimitConfig>& limits) {
    std::vector<std::unique_ptr<LimiterFixture>> all;
    while (all.size() < count) all.push_back(desk(limits));
    return all;
  }
};

TEST_F(SharedRoutes, keep_their_limit_over_all_processes_and_hold_no_other_lane_up) {
  constexpr flow::Time kFor = 3'000'000, kInterval = 500'000;
  const auto all = desks(3, {pacer(300), of_search(SlidingWindowConfig{.max = 20, .interval = 500ms})});
  const flow::Time began = run_.loop.now();
  for (const auto& desk : all) {
    desk->work_without_end(4, kSearch);
    desk->work_without_end(4);
  }
  run_.run_for(kFor);
  for (const auto& desk : all) desk->stop_working();
  const flow::Time took = run_.loop.now() - began, error = clock_error(*all[0], *all[1], *all[2]);
  const auto searches = booked(all, "search"), others = booked(all, "");
  EXPECT_LE(fullest(searches, kInterval - error), 20u);
  EXPECT_GE(searches.size(), 20u * static_cast<std::size_t>(kFor / kInterval) * 9 / 10);
  const auto rate = static_cast<double>(searches.size() + others.size()) * 1e6 / static_cast<double>(took);
  EXPECT_GE(rate, 0.9 * 300) << "what searches do not take of the whole";
  for (const auto& desk : all) EXPECT_FALSE(desk->degraded());
}

TEST_F(SharedRoutes, without_a_limit_of_the_upstream_share_theirs) {
  const auto all = desks(2, {of_search(PacerConfig{.qps = 50})});
  for (const auto& desk : all) {
    for (const char* group : {"a", "b", "c", "d"}) desk->arrive(10, flow::LaneKey(group, "search"));
    desk->arrive(100);
  }
  ASSERT_TRUE(run_.run_until([&] { return booked(all, "").size() == 200; }));
  EXPECT_LT(booked(all, "search").size(), 60u) << "nothing holds the others";
  ASSERT_TRUE(run_.run_until([&] { return booked(all, "search").size() == 80; }));
  const auto searches = booked(all, "search");
  const flow::Time error = clock_error(*all[0], *all[1]);
  EXPECT_LE(fullest(searches, 200'000 - error), 11u);
  EXPECT_LE(searches.back() - searches.front(), 79 * 20'000 * 12 / 10) << "at nearly the whole rate";
}

TEST_F(SharedRoutes, compose_with_limits_of_groups) {
  const auto all = desks(
      2, {pacer(1'000),
          {.kind = SlidingWindowConfig{.max = 4, .interval = 60s}, .name = "each", .per = LimitConfig::Per::group},
          of_search(SlidingWindowConfig{.max = 6, .interval = 60s})});
  for (const auto& desk : all) {
    desk->arrive(5, flow::LaneKey("a", "search"));
    desk->arrive(5, flow::LaneKey("b", "search"));
    desk->arrive(5, flow::LaneKey("b"));
    desk->arrive(5, flow::LaneKey("c"));
  }
  const auto of = [&](std::string_view group, std::string_view route) {
    std::size_t count = 0;
    for (const auto& desk : all) {
      for (const TookOff& one : desk->took_off()) count += one.group == group && one.route == route ? 1 : 0;
    }
    return count;
  };
  ASSERT_TRUE(run_.run_until([&] { return of("c", "") == 4 && of("b", "") + of("b", "search") == 4; }));
  ASSERT_TRUE(run_.run_until([&] { return of("a", "search") + of("b", "search") >= 4; }));
  run_.run_for(300'000);
  EXPECT_LE(of("a", "search"), 4u);
  EXPECT_LE(of("a", "search") + of("b", "search"), 6u);
  EXPECT_EQ(of("b", "") + of("b", "search"), 4u) << "a group has one limit for all its routes";
  EXPECT_EQ(of("c", ""), 4u);
}

TEST_F(SharedRoutes, have_permits_of_their_own) {
  const auto all =
      desks(2, {{.kind = SemaphoreConfig{.capacity = 10}, .name = "all"}, of_search(SemaphoreConfig{.capacity = 3})});
  for (const auto& desk : all) {
    desk->fly_on();
    desk->arrive(3, kSearch);
    desk->arrive(2);
  }
  const auto flown = [&](std::string_view route) { return booked(all, route).size(); };
  ASSERT_TRUE(run_.run_until([&] { return flown("") == 4 && flown("search") == 3; }));
  run_.run_for(200'000);
  EXPECT_EQ(flown("search"), 3u);
  for (const auto& desk : all) {
    for (std::size_t n = 0; n < 3; ++n) desk->land(n);  // of those that wait it ends the wait
  }
  ASSERT_TRUE(run_.run_until([&] { return all[0]->pending() + all[1]->pending() == 0; }));
}

TEST_F(SharedRoutes, a_permit_that_lands_goes_to_a_lane_of_the_route) {
  const auto one = desk({of_search(SemaphoreConfig{.capacity = 1}), pacer(1'000)});
  one->fly_on();
  one->arrive(1, flow::LaneKey("a", "search"));
  ASSERT_TRUE(took_off(*one, 1));
  one->arrive(1, flow::LaneKey("b", "search"));
  one->arrive(1, flow::LaneKey("c", "search"));
  run_.run_for(100'000);
  EXPECT_THAT(one->took_off(), SizeIs(1));
  one->land(0);
  ASSERT_TRUE(took_off(*one, 2));
  EXPECT_EQ(one->took_off()[1].group, "b");
  one->land(1);
  ASSERT_TRUE(took_off(*one, 3));
}

/// `maxConcurrent` of a route is such a limit.
TEST_F(SharedRoutes, may_have_a_limit_of_this_process_alone_beside_shared_ones) {
  LimitConfig slots = of_search(SemaphoreConfig{.capacity = 2}, "slots");
  slots.shared = false;
  const auto one = desk({pacer(1'000), slots});
  one->fly_on();
  one->arrive(5, kSearch);
  one->arrive(20);
  ASSERT_TRUE(took_off(*one, 22));
  run_.run_for(100'000);
  EXPECT_THAT(one->took_off(), SizeIs(22)) << "three wait for a slot of their route";
  one->land(0);
  ASSERT_TRUE(took_off(*one, 23));
}

TEST_F(SharedRoutes, that_a_reload_adds_are_kept_from_then_on) {
  const auto all = desks(2, {pacer(500)});
  for (const auto& desk : all) desk->arrive(5, kSearch);
  ASSERT_TRUE(run_.run_until([&] { return booked(all, "search").size() == 10; }));
  for (const auto& desk : all) desk->change({of_search(SlidingWindowConfig{.max = 3, .interval = 60s}), pacer(500)});
  for (const auto& desk : all) {
    desk->arrive(5, kSearch);
    desk->arrive(10);
  }
  ASSERT_TRUE(run_.run_until([&] { return booked(all, "").size() == 20 && booked(all, "search").size() == 13; }));
  run_.run_for(200'000);
  EXPECT_THAT(booked(all, "search"), SizeIs(13));
  for (const auto& desk : all) desk->change({pacer(500)});
  EXPECT_TRUE(run_.run_until([&] { return booked(all, "search").size() == 20; })) << "the route has no limit any more";
}

TEST_F(SharedRoutes, without_redis_go_by_their_parts) {
  config_.timeout = 50ms;
  const auto all = desks(2, {pacer(1'000), of_search(SlidingWindowConfig{.max = 10, .interval = 60s})});
  for (const auto& desk : all) desk->arrive(1, kSearch);
  ASSERT_TRUE(run_.run_until([&] { return booked(all, "search").size() == 2; }));
  run_.run_for(600'000);  // each knows of the other
  server_.stop();
  ASSERT_TRUE(run_.run_until([&] { return all[0]->degraded() && all[1]->degraded(); }));
  for (const auto& desk : all) {
    desk->arrive(10, kSearch);
    desk->arrive(10);
  }
  ASSERT_TRUE(run_.run_until([&] { return booked(all, "").size() == 20; }));
  run_.run_for(200'000);
  EXPECT_LE(booked(all, "search").size(), 10u);
  EXPECT_GE(booked(all, "search").size(), 8u) << "each its half of what was left";
}

}  // namespace
}  // namespace penstock::redis
