// SPDX-License-Identifier: Apache-2.0
// Fleets whose upstream has limits of a route beside its own: never more than it, whatever happens to Redis, and no
// other request waits for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "simulation/fleet.h"

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;

LimitConfig of_route(LimitConfig::Kind kind, std::string name) {
  return {.kind = std::move(kind), .name = std::move(name), .route = std::string(kRoute)};
}

/// Processes whose clients always want more than the limits allow, half of it of the route.
Plan plan_of(std::vector<LimitConfig> limits, int groups = 0) {
  Plan plan{.seed = 11, .length = 20 * kSecond};
  plan.limits = std::move(limits);
  for (int i = 0; i < 3; ++i) {
    Member member{.round_trip = (1 + i) * kMillisecond,
                  .settings = {.max_concurrent = 200, .max_pending = 10'000, .max_wait = kHour}};
    member.demand = {.clients = 100, .groups = groups, .routed = 0.5, .flight = 2 * kMillisecond};
    // More come all the time, or all clients would soon wait for the route.
    member.demand.spike = 200, member.demand.spike_every = kSecond;
    plan.members.push_back(member);
  }
  return plan;
}

std::vector<Time> departures(const Journal& journal, bool routed) {
  std::vector<Time> times;
  for (const Request& request : journal.requests) {
    if (request.routed == routed && request.departed != kNotYet) times.push_back(request.departed);
  }
  std::ranges::sort(times);
  return times;
}

std::size_t most_within(const std::vector<Time>& times, Time length) {
  std::size_t most = 0;
  for (std::size_t first = 0, last = 0; last < times.size(); ++last) {
    while (times[last] - times[first] >= length) ++first;
    most = std::max(most, last - first + 1);
  }
  return most;
}

/// By so much two processes differ about Redis' clock.
constexpr Time kClockError = 3 * kMillisecond;

/// Others of the upstream have booked its pacer up to the horizon: for so long a request may wait that its window lets
/// pass. A sliding window is 2 ms longer than it says.
TEST(FleetWithRoutes, keeps_a_limit_of_one_and_uses_all_of_both) {
  constexpr Time kLongest = kSecond + 2 * kMillisecond + flow::kHorizon;
  for (const int groups : {0, 30}) {
    const Journal journal = run(plan_of(
        {{.kind = PacerConfig{.qps = 200}}, of_route(SlidingWindowConfig{.max = 30, .interval = 1s}, "searches")},
        groups));
    const auto searches = departures(journal, true), others = departures(journal, false);
    EXPECT_LE(most_within(searches, kSecond - kClockError), 30u) << groups << " groups";
    EXPECT_GE(searches.size(), 30u * (20 * kSecond / kLongest)) << groups << " groups";
    EXPECT_GE(searches.size() + others.size(), 200u * 20 * 95 / 100) << groups << " groups: of the whole";
    EXPECT_LE(most_within(departures(journal, false), kSecond), 200u);
  }
}

TEST(FleetWithRoutes, calls_redis_no_more_than_once_or_twice_a_request) {
  const Journal journal =
      run(plan_of({{.kind = PacerConfig{.qps = 200}}, of_route(PacerConfig{.qps = 50}, "searches")}, 100));
  EXPECT_LE(journal.calls.size(), 3 * journal.departures.size() / 2);
}

TEST(FleetWithRoutes, shares_out_the_limit_of_one_where_the_upstream_has_none) {
  const Journal journal = run(plan_of({of_route(PacerConfig{.qps = 90}, "searches")}));
  std::size_t most = 0, least = journal.requests.size();
  for (int member = 0; member < 3; ++member) {
    const auto its = static_cast<std::size_t>(std::ranges::count_if(journal.requests, [&](const Request& request) {
      return request.member == member && request.routed && request.departed != kNotYet;
    }));
    most = std::max(most, its), least = std::min(least, its);
  }
  EXPECT_GE(least, 540u) << "of 600";
  EXPECT_LE(most, 660u);
  for (const Request& request : journal.requests) {
    if (request.routed || request.departed == kNotYet) continue;
    EXPECT_LE(request.departed - request.arrived, kSecond) << "no limit holds it, but slots may be taken";
  }
}

/// Each process takes its part rounded up.
void expect_kept_through(Fault::Kind kind) {
  Plan plan = plan_of(
      {{.kind = PacerConfig{.qps = 200}}, of_route(SlidingWindowConfig{.max = 100, .interval = 10s}, "searches")});
  plan.faults.push_back({.kind = kind, .at = 6 * kSecond, .lasts = 500 * kMillisecond});
  const Journal journal = run(plan);
  EXPECT_LE(most_within(departures(journal, true), 10 * kSecond - kClockError), 103u);
  EXPECT_GE(departures(journal, true).size(), 190u);
}

TEST(FleetWithRoutes, keeps_a_limit_of_one_when_redis_loses_its_memory) {
  expect_kept_through(Fault::Kind::redis_loses_memory);
}
TEST(FleetWithRoutes, keeps_a_limit_of_one_when_redis_is_flushed) { expect_kept_through(Fault::Kind::redis_flushed); }
TEST(FleetWithRoutes, keeps_a_limit_of_one_when_redis_stops) { expect_kept_through(Fault::Kind::redis_stops); }

TEST(FleetWithRoutes, has_permits_of_one) {
  Plan plan = plan_of(
      {{.kind = SemaphoreConfig{.capacity = 40}, .name = "all"}, of_route(SemaphoreConfig{.capacity = 6}, "searches")});
  for (Member& member : plan.members) member.demand.flight = 20 * kMillisecond;
  const Journal journal = run(plan);
  std::vector<std::pair<Time, int>> changes;
  for (const Request& request : journal.requests) {
    if (!request.routed || request.departed == kNotYet) continue;
    changes.emplace_back(request.departed, 1);
    if (request.ended != kNotYet) changes.emplace_back(request.ended, -1);
  }
  std::ranges::sort(changes);
  int flying = 0, most = 0;
  for (const auto& [at, change] : changes) most = std::max(most, flying += change);
  EXPECT_LE(most, 6);
  EXPECT_GE(departures(journal, true).size(), 6u * 50 * 20 * 80 / 100) << "of six at 20 ms each";
  EXPECT_GE(departures(journal, false).size(), 1'000u);
}

}  // namespace
}  // namespace penstock::simulation
