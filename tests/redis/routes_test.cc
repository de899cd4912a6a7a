// SPDX-License-Identifier: Apache-2.0
// Limits of routes that processes share: kept over all of them, to the request, while other lanes go on at full rate.
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "redis/in_time.h"
#include "redis/limiter_fixture.h"

namespace penstock::redis {
namespace {

using namespace std::chrono_literals;

using testing::IsEmpty;
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
  /// Who stands in the line with that key, "who/had/wants/at/hash" each.
  std::vector<std::string> standing_in(const std::string& line) {
    std::vector<std::string> all;
    std::istringstream words(server_.run({"GET", line}).text);
    for (std::string word; words >> word;) all.push_back(word);
    if (!all.empty()) all.erase(all.begin());  // the version
    return all;
  }
  /// The keys of the lines of lanes, of all processes.
  std::vector<std::string> lines() {
    std::vector<std::string> keys;
    for (const auto& key : server_.run({"KEYS", "penstock:{github}:line:*"}).items) keys.push_back(key.text);
    return keys;
  }
  /// The key of the only line, once that is another one; nothing: it never is.
  std::optional<std::string> only_line_but(const std::string& key) {
    std::string found;
    const auto is_another = [&] {
      const auto all = lines();
      found = all.size() == 1 ? all[0] : key;
      return found != key;
    };
    return run_.run_until(is_another) ? std::optional(found) : std::nullopt;
  }
  /// Groups pause in Redis; a process that is made later hears of it when a lane of the group asks.
  void pause_in_redis(flow::Time length, std::string_view group) {
    const auto other = desk({pacer(100)});
    other->pause(length, group);
    const auto pauses = [&] { return server_.run({"KEYS", "penstock:{github}:pause:*"}).items.size(); };
    ASSERT_TRUE(run_.run_until([&] { return pauses() == 1; }));
  }
  /// Redis has answered so many asks since there were `before` answers.
  bool heard(const LimiterFixture& desk, std::size_t before, std::size_t more = 1) {
    return run_.run_until([&, count = before + more] { return desk.told_to_ask_after().size() >= count; });
  }
  bool in_use(LimiterFixture& desk) { return desk.limiter().in_use(run_.loop.now()); }
  /// One departure each, of every group, in 40 seconds: requests may wait so long.
  static LimitConfig each() {
    return {.kind = SlidingWindowConfig{.max = 1, .interval = 40s}, .name = "each", .per = LimitConfig::Per::group};
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
  const auto least = [&](double rate) {
    return 0.9 * rate * static_cast<double>(took) / 1e6 - missed_units(rate, began, began + took);
  };
  EXPECT_GE(searches.size(), least(20 * 1e6 / kInterval));
  EXPECT_GE(searches.size() + others.size(), least(300)) << "what searches do not take of the whole";
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
  EXPECT_TRUE(in_time(79 * 20'000 * 12 / 10, searches.front(), searches.back())) << "at nearly the whole rate";
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
  // An interval within which they may wait: none is refused.
  for (const auto& desk : all) desk->change({of_search(SlidingWindowConfig{.max = 3, .interval = 40s}), pacer(500)});
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

// ---- lines ----------------------------------------------------------------------------------------------------------

TEST_F(SharedRoutes, a_lane_that_ends_gives_its_place_up_though_others_of_the_route_wait) {
  const auto one = desk({of_search(SlidingWindowConfig{.max = 1, .interval = 2s}), each()});
  one->arrive(1, flow::LaneKey("a", "search"));
  ASSERT_TRUE(took_off(*one, 1));
  const std::size_t answers = one->told_to_ask_after().size();
  one->arrive(1, flow::LaneKey("b", "search"));
  ASSERT_TRUE(heard(*one, answers));
  one->arrive(1, flow::LaneKey("c", "search"));
  run_.run_for(100'000);
  ASSERT_THAT(lines(), SizeIs(1)) << "one of them asks for both";
  one->leave(1);
  ASSERT_TRUE(run_.run_until([&] { return lines().empty(); }));
  ASSERT_TRUE(took_off(*one, 2)) << "the other one leaves in its stead";
  EXPECT_EQ(one->took_off()[1].group, "c");
  run_.run_for(5'000'000);
  EXPECT_FALSE(in_use(*one)) << "nothing waits";
}

TEST_F(SharedRoutes, a_place_in_the_line_of_a_route_is_given_up_once_none_of_its_lanes_waits) {
  const auto one = desk({pacer(100), of_search(SlidingWindowConfig{.max = 1, .interval = 40s})});
  one->arrive(1, flow::LaneKey("a", "search"));
  ASSERT_TRUE(took_off(*one, 1));
  const std::size_t answers = one->told_to_ask_after().size();
  one->arrive(1, flow::LaneKey("b", "search"));
  one->arrive(1, flow::LaneKey("c", "search"));
  ASSERT_TRUE(heard(*one, answers, 2));
  one->leave(1);
  const auto stands_for_one = [&] {
    const auto all = lines();
    return all.size() == 1 && standing_in(all[0]).size() == 1;
  };
  ASSERT_TRUE(run_.run_until(stands_for_one)) << "for the other group's lane";
  one->leave(2);
  ASSERT_TRUE(run_.run_until([&] { return lines().empty(); }));
  run_.run_for(5'000'000);
  EXPECT_FALSE(in_use(*one));
}

TEST_F(SharedRoutes, a_paused_group_has_no_place_in_the_line_of_a_route) {
  for (const bool with_wide : {true, false}) {
    server_.run({"FLUSHALL"});
    std::vector limits{of_search(SlidingWindowConfig{.max = 1, .interval = 40s})};
    if (with_wide) limits.push_back(pacer(100));
    pause_in_redis(50'000'000, "x");
    const auto one = desk(limits);
    one->arrive(1, flow::LaneKey("x", "search"));
    ASSERT_TRUE(run_.run_until([&] { return one->limiter().knows_pause("x"); }));
    EXPECT_EQ(one->pending(), 1u);
    EXPECT_THAT(lines(), IsEmpty()) << "it would count before the lanes of other groups as long as the pause lasts";
    one->arrive(1, flow::LaneKey("y", "search"));
    EXPECT_TRUE(took_off(*one, 1));
  }
}

/// What one group was told is not of the others, whose lanes stand in the same line of Redis.
TEST_F(SharedRoutes, the_pause_of_one_group_delays_no_estimate_of_another) {
  pause_in_redis(50'000'000, "x");
  const auto a = desk({pacer(100), of_search(SlidingWindowConfig{.max = 1, .interval = 2s})});
  a->arrive(1, flow::LaneKey("x", "search"));
  ASSERT_TRUE(run_.run_until([&] { return a->limiter().knows_pause("x"); }));
  ASSERT_EQ(a->pending(), 1u);
  const flow::Time now = run_.loop.now();
  EXPECT_LT(a->limiter().ahead(now, flow::LaneKey("y", "search"), 1, {}), now + 5'000'000);
  EXPECT_GT(a->limiter().ahead(now, flow::LaneKey("x", "search"), 0, {}), now + 40'000'000);
}

TEST_F(SharedRoutes, their_lanes_wake_when_redis_goes_though_a_group_is_paused) {
  config_.when_down = WhenDown::open;
  pause_in_redis(40'000'000, "x");
  const auto a = desk({pacer(100), of_search(SlidingWindowConfig{.max = 1, .interval = 50s})});
  a->arrive(1, flow::LaneKey("y", "search"));
  ASSERT_TRUE(took_off(*a, 1));
  a->arrive(2, flow::LaneKey("y", "search"));
  a->arrive(1, flow::LaneKey("x", "search"));  // which is answered after that one
  run_.run_for(200'000);
  ASSERT_THAT(a->took_off(), SizeIs(1));
  server_.stop();
  a->arrive();  // by which the outage is noticed
  ASSERT_TRUE(took_off(*a, 4)) << "without Redis there is no limit, but the pause goes on";
  EXPECT_EQ(a->pending(), 1u);
}

/// Whether the answer has come that told the lane to wait, or is still under way.
TEST_F(SharedRoutes, a_reload_leaves_no_place_in_lines_that_there_are_no_longer) {
  const LimitConfig slow = of_search(SlidingWindowConfig{.max = 1, .interval = 40s});
  for (const bool at_once : {false, true}) {
    server_.run({"FLUSHALL"});
    const auto one = desk({pacer(100), slow});
    const auto change = [&](const std::vector<LimitConfig>& limits) {
      if (!at_once) run_.run_for(100'000);
      one->change(limits);
    };
    one->arrive(1, flow::LaneKey("a", "search"));
    ASSERT_TRUE(took_off(*one, 1));
    one->arrive(1, flow::LaneKey("b", "search"));
    ASSERT_TRUE(at_once || run_.run_until([&] { return lines().size() == 1; }));
    const std::string of_route = at_once ? "" : lines()[0];
    change({pacer(100), slow, each()});
    run_.run_for(300'000);
    const auto of_group = only_line_but(of_route);
    ASSERT_TRUE(of_group);
    one->change({pacer(100), slow});
    run_.run_for(300'000);
    ASSERT_TRUE(only_line_but(*of_group));
    one->leave(1);
    EXPECT_TRUE(run_.run_until([&] { return lines().empty(); }));
    run_.run_for(5'000'000);
    EXPECT_FALSE(in_use(*one));
  }
}

// ---- counters, and departures that leave late -----------------------------------------------------------------------

TEST_F(SharedRoutes, a_counter_of_one_is_reset_in_time) {
  for (const bool by_group : {false, true}) {
    server_.run({"FLUSHALL"});
    std::vector limits{pacer(1'000), of_search(CounterConfig{.max = 5, .period = 300ms})};
    if (by_group) limits.push_back({.kind = PacerConfig{.qps = 500}, .name = "each", .per = LimitConfig::Per::group});
    const auto all = desks(2, limits);
    for (const auto& desk : all) {
      for (const char* group : {"a", "b"}) desk->arrive(5, flow::LaneKey(group, "search"));
      desk->arrive(5);
    }
    ASSERT_TRUE(run_.run_until([&] { return booked(all, "search").size() == 20; })) << by_group;
    const auto times = booked(all, "search");
    const flow::Time error = clock_error(*all[0], *all[1]);
    for (std::size_t period = 1; period < 4; ++period)
      EXPECT_GE(times[5 * period] - times[0], static_cast<flow::Time>(period) * 300'000 - error);
    EXPECT_TRUE(in_time(3 * 350'000 + error, times.front(), times.back()))
        << by_group << ": four periods, none left out";
  }
}

TEST_F(SharedRoutes, a_departure_that_leaves_late_counts_late_in_redis) {
  const auto one = desk({of_search(SlidingWindowConfig{.max = 5, .interval = 40s})});
  one->arrive(1, kSearch);
  ASSERT_TRUE(took_off(*one, 1));
  const auto keys = server_.run({"KEYS", "penstock:{github}:*@*"});
  ASSERT_THAT(keys.items, SizeIs(1));
  const auto newest = [&] { return server_.run({"LINDEX", keys.items[0].text, "-1"}).text; };
  const flow::Departure departure = one->granted().at(0);  // on a busy machine one that is late already
  const flow::Departure late = one->limiter().report_late(kSearch, departure, departure.at + 20'000);
  EXPECT_NEAR(late.in_redis - departure.in_redis, 20'000, clock_error(*one))
      << "Redis' clock is known better meanwhile";
  EXPECT_TRUE(run_.run_until([&] { return newest() == std::to_string(late.in_redis); }));
}

TEST_F(SharedRoutes, without_redis_go_by_their_parts) {
  const auto all = desks(2, {pacer(1'000), of_search(SlidingWindowConfig{.max = 10, .interval = 60s})});
  for (const auto& desk : all) desk->work_without_end(4);
  const auto knows_the_other = [](const auto& desk) { return desk->limiter().processes() == 2; };
  ASSERT_TRUE(run_.run_until([&] { return std::ranges::all_of(all, knows_the_other); }));
  for (const auto& desk : all) desk->stop_working();
  ASSERT_TRUE(run_.run_until([&] { return all[0]->pending() + all[1]->pending() == 0; }));
  // Redis tells what is left of a list with an ask that is the first for half a second.
  for (const std::size_t asked : {2u, 4u}) {
    run_.run_for(600'000);
    for (const auto& desk : all) desk->arrive(1, kSearch);
    ASSERT_TRUE(run_.run_until([&] { return booked(all, "search").size() == asked; }));
  }
  const std::size_t others = booked(all, "").size();
  server_.stop();
  ASSERT_TRUE(run_.run_until([&] { return all[0]->degraded() && all[1]->degraded(); }));
  for (const auto& desk : all) {
    desk->arrive(10, kSearch);
    desk->arrive(10);
  }
  ASSERT_TRUE(run_.run_until([&] { return booked(all, "").size() == others + 20; }));
  run_.run_for(200'000);
  EXPECT_LE(booked(all, "search").size(), 10u);
  EXPECT_GE(booked(all, "search").size(), 8u) << "each its half of what was left";
}

}  // namespace
}  // namespace penstock::redis
