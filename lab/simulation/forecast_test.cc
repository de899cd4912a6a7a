// SPDX-License-Identifier: Apache-2.0
// When the last request in line is said to leave, where processes share a limit through Redis.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "simulation/fleet.h"

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;

constexpr Time kLook = 8 * kSecond;

/// Requests come faster than the limit lets them go, until the look; evenly, since of other processes only their number
/// is known, and each is taken to have as many waiting.
Plan plan_of(LimitConfig::Kind kind, int members, std::vector<double> rates, std::uint64_t seed) {
  Plan plan{.seed = seed, .limits = {LimitConfig{.kind = std::move(kind)}}, .looks = {kLook}, .length = 3 * kMinute};
  for (int i = 0; i < members; ++i) {
    Member member{.settings = {.max_concurrent = 500, .max_pending = 10'000, .max_wait = kHour}};
    member.demand = {.rate = rates[static_cast<std::size_t>(i) % rates.size()],
                     .even = true,
                     .until = kLook,
                     .flight = 30 * kMillisecond,
                     .flight_varies = true};
    plan.members.push_back(member);
  }
  return plan;
}

/// How long after the look the last of those left that waited there then; 0: none did.
Time left_in(const Journal& journal, const Forecast& forecast) {
  Time last = 0;
  for (const Request& request : journal.requests) {
    const bool waited = request.member == forecast.member && request.arrived < forecast.at;
    if (waited && request.departed > forecast.at) last = std::max(last, request.departed - forecast.at);
  }
  return last;
}

void expect_right(const Plan& plan, const std::string& what) {
  const Journal journal = run(plan);
  ASSERT_EQ(journal.forecasts.size(), plan.members.size());
  for (const Forecast& forecast : journal.forecasts) {
    const Time was = left_in(journal, forecast);
    ASSERT_GT(was, 2 * kSecond) << what << ": nothing to speak of waits";
    ASSERT_TRUE(forecast.leaves_in.has_value()) << what;
    EXPECT_NEAR(static_cast<double>(*forecast.leaves_in), static_cast<double>(was),
                static_cast<double>(was / 10 + flow::kHorizon))
        << what << ", seed " << plan.seed << ", process " << forecast.member;
  }
}

TEST(ForecastOfAFleet, counts_what_waits_in_other_processes) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    expect_right(plan_of(PacerConfig{.qps = 40}, 1, {80}, seed), "one process, pacer");
    expect_right(plan_of(PacerConfig{.qps = 40}, 3, {30}, seed), "three processes, pacer");
    expect_right(plan_of(WindowConfig{200, 5s}, 1, {80}, seed), "one process, window");
  }
}

TEST(ForecastOfAFleet, knows_nothing_while_redis_is_away_and_requests_wait_for_it) {
  Plan plan = plan_of(PacerConfig{.qps = 40}, 1, {80}, 1);
  plan.when_down = WhenDown::wait;
  plan.faults.push_back({.kind = Fault::Kind::redis_stops, .at = kLook - kSecond, .lasts = 3 * kSecond});
  const Journal journal = run(plan);
  ASSERT_EQ(journal.forecasts.size(), 1u);
  EXPECT_GT(left_in(journal, journal.forecasts[0]), 2 * kSecond);
  EXPECT_FALSE(journal.forecasts[0].leaves_in.has_value());
}

}  // namespace
}  // namespace penstock::simulation
