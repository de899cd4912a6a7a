// SPDX-License-Identifier: Apache-2.0
// Every regime draws plans that Penstock would accept as a configuration, that are affordable, and that are the same
// for the same seed; together the regimes cover the ranges that they claim.
#include "simulation/regimes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <variant>

#include "simulation/any_plan.h"
#include "simulation/drawing.h"
#include "simulation/kinds.h"

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSeeds = 200;

Config config_of(const Plan& plan, const Member& member) {
  Config config;
  config.redis.emplace_back();
  config.redis.front().timeout = plan.redis_timeout;
  config.redis.front().when_down = plan.when_down;
  config.redis.front().processes = plan.processes;
  UpstreamConfig upstream{.name = "api", .match = {*parse_match("api.example")}};
  upstream.settings.limits = plan.limits;
  if (std::ranges::any_of(plan.limits, of_route))
    upstream.settings.routes.push_back({.name = std::string(kRoute), .match = {.path = "/search"}});
  if (plan.grouped()) upstream.settings.group = parse_group("header:X-Group").value();
  upstream.settings.max_concurrent = member.settings.max_concurrent;
  upstream.settings.queue.max_pending = member.settings.max_pending;
  upstream.settings.queue.max_wait = std::chrono::microseconds(member.settings.max_wait);
  upstream.settings.max_weight = 1'000'000;
  config.upstreams.push_back(std::move(upstream));
  return config;
}

std::string refused(const Plan& plan) {
  std::string text;
  for (const Member& member : plan.members) {
    for (const auto& error : validate(config_of(plan, member))) text += error.message + "\n";
  }
  return text;
}

/// What no configuration allows.
std::string senseless(const Plan& plan) {
  std::string text;
  const auto must = [&](bool holds, const char* what) { text += holds ? "" : std::string(what) + "\n"; };
  must(!plan.members.empty() && plan.members.size() <= 64, "from 1 to 64 processes");
  must(plan.length >= kSecond && plan.length <= 4 * kDay, "a length of 1 s to 4 d");
  must(!plan.limits.empty(), "a limit");
  for (const Member& member : plan.members) {
    const Demand& demand = member.demand;
    must(demand.clients > 0 || demand.rate > 0 || demand.spike > 0, "a demand");
    must(demand.clients >= 0 && demand.rate >= 0 && demand.spike >= 0 && demand.flight > 0, "a demand above 0");
    must(member.joins < plan.length && demand.from < plan.length, "processes and clients begin before the end");
    must(member.ends == 0 || member.ends > member.joins, "processes begin before they end");
    must(member.round_trip >= 100 && member.round_trip <= 80 * kMillisecond, "round trips of 0.1 to 80 ms");
    must(std::ranges::all_of(demand.weights, [](int w) { return w >= 1 && w <= 1'000'000; }), "weights up to 10^6");
  }
  for (const Fault& fault : plan.faults) {
    must(fault.at >= 0 && fault.at < plan.length && fault.lasts >= 0, "faults during the run");
    must(fault.member < static_cast<int>(plan.members.size()), "faults of processes that there are");
  }
  return text;
}

TEST(Regimes, draw_valid_plans) {
  for (const Regime& regime : regimes()) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const Plan plan = draw(regime, seed);
      EXPECT_EQ(refused(plan), "") << plan.text();
      ASSERT_EQ(senseless(plan), "") << plan.text();
    }
  }
}

TEST(Regimes, draw_plans_that_can_be_paid_for) {
  for (const Regime& regime : regimes()) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const Plan plan = draw(regime, seed);
      const Cost cost = cost_of(plan);
      ASSERT_TRUE(affordable(plan)) << cost.departures << " departures, " << cost.arrivals << " arrivals, "
                                    << cost.process_seconds << " process seconds: " << plan.text();
    }
  }
}

TEST(Regimes, draw_the_same_from_the_same_seed) {
  for (const Regime& regime : regimes()) {
    for (const std::uint64_t seed : {1u, 17u, 4'000'000'000u}) {
      EXPECT_EQ(draw(regime, seed).text(), draw(regime, seed).text());
    }
    EXPECT_NE(draw(regime, 1).text(), draw(regime, 2).text()) << regime.name;
  }
}

TEST(Regimes, have_names_of_their_own) {
  std::set<std::string_view> names;
  for (const Regime& regime : regimes()) {
    EXPECT_TRUE(names.insert(regime.name).second) << regime.name;
    EXPECT_EQ(regime_named(regime.name), &regime);
    EXPECT_FALSE(regime.about.empty());
  }
  EXPECT_EQ(regime_named("no such regime"), nullptr);
}

/// Calls `see` for all plans of the regimes whose names have that beginning.
template <typename See>
void each_plan(std::string_view beginning, See see) {
  for (const Regime& regime : regimes()) {
    if (!regime.name.starts_with(beginning)) continue;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) see(draw(regime, seed));
  }
}

struct Range {
  double least = 1e300, most = -1e300;
  void see(double value) { least = std::min(least, value), most = std::max(most, value); }
};

TEST(AnyRegimes, cover_limits_from_one_end_to_the_other) {
  Range rates, bursts, intervals, reservoirs, capacities, leases, weights;
  std::set<std::size_t> kinds;
  bool of_groups = false, both = false, refuses = false, own = false, spread = false;
  each_plan("any", [&](const Plan& plan) {
    bool of_all = false, of_each = false;
    for (const LimitConfig& limit : plan.limits) {
      kinds.insert(limit.kind.index());
      (limit.per == LimitConfig::Per::group ? of_each : of_all) = true;
      refuses |= limit.mode == LimitConfig::Mode::refuse;
      own |= !limit.shared;
      if (const auto* pacer = std::get_if<PacerConfig>(&limit.kind)) {
        rates.see(pacer->qps);
        bursts.see(pacer->max_burst / pacer->qps);
      }
      if (const auto* window = std::get_if<WindowConfig>(&limit.kind)) {
        intervals.see(static_cast<double>(window->interval.count()) / kSecond);
        reservoirs.see(window->reservoir);
        spread |= window->spread;
      }
      if (const auto* semaphore = std::get_if<SemaphoreConfig>(&limit.kind)) {
        capacities.see(semaphore->capacity);
        leases.see(static_cast<double>(semaphore->lease.count()) / kSecond);
      }
    }
    of_groups |= of_each;
    both |= of_each && of_all;
    for (const Member& member : plan.members) {
      for (const int weight : member.demand.weights) weights.see(weight);
    }
  });
  EXPECT_EQ(kinds.size(), kLimitKinds);
  EXPECT_LT(rates.least, 1.0 / 1'800);
  EXPECT_GT(rates.most, 15'000);
  EXPECT_EQ(bursts.least, 0);
  EXPECT_GT(bursts.most, 10);  // in seconds of the rate
  EXPECT_EQ(intervals.least, 0.1);
  EXPECT_EQ(intervals.most, 366.0 * 86'400);
  EXPECT_EQ(reservoirs.least, 1);
  EXPECT_EQ(reservoirs.most, 1'000'000);
  EXPECT_EQ(capacities.least, 1);
  EXPECT_EQ(capacities.most, 1'000'000);
  EXPECT_LT(leases.least, 3);
  EXPECT_GT(leases.most, 1'800);
  EXPECT_EQ(weights.least, 1);
  EXPECT_GT(weights.most, 10'000);
  EXPECT_TRUE(of_groups && both && refuses && own && spread);
}

TEST(AnyRegimes, cover_processes_and_demand) {
  Range members, trips, flights, groups, timeouts;
  std::set<WhenDown> modes;
  bool open = false, closed = false, spikes = false, leaves = false, joins = false, ends = false, few_slots = false;
  each_plan("any", [&](const Plan& plan) {
    members.see(static_cast<double>(plan.members.size()));
    timeouts.see(static_cast<double>(plan.redis_timeout.count()));
    modes.insert(plan.when_down);
    for (const Member& member : plan.members) {
      const Demand& demand = member.demand;
      trips.see(static_cast<double>(member.round_trip));
      flights.see(static_cast<double>(demand.flight));
      groups.see(demand.groups);
      open |= demand.rate > 0, closed |= demand.clients > 0, spikes |= demand.spike > 0, leaves |= demand.leaves > 0;
      joins |= member.joins > 0, ends |= member.ends > 0;
      few_slots |= member.settings.max_concurrent == 1;
    }
  });
  EXPECT_EQ(members.least, 1);
  EXPECT_GE(members.most, 16);
  EXPECT_LT(trips.least, 200);
  EXPECT_GT(trips.most, 50'000);
  EXPECT_LT(flights.least, 2 * kMillisecond);
  EXPECT_GT(flights.most, kMinute);
  EXPECT_EQ(groups.least, 0);
  EXPECT_GT(groups.most, 900);
  EXPECT_LT(timeouts.least, 3 * kMillisecond);
  EXPECT_GT(timeouts.most, 5 * kSecond);
  EXPECT_EQ(modes.size(), 4u);
  EXPECT_TRUE(open && closed && spikes && leaves && joins && ends && few_slots);
}

TEST(AnyRegimes, know_every_fault) {
  std::set<Fault::Kind> kinds;
  each_plan("any", [&](const Plan& plan) {
    for (const Fault& fault : plan.faults) kinds.insert(fault.kind);
  });
  EXPECT_FALSE(kinds.contains(Fault::Kind::key_foreign)) << "that has tests of its own";
  EXPECT_FALSE(kinds.contains(Fault::Kind::elsewhere)) << "so a journal says it, and no plan";
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(kFaultKinds) - 2);
}

TEST(AnyRegimes, have_a_route_alone_beside_other_limits_and_beside_those_of_groups) {
  int plans = 0, alone = 0, beside = 0, of_groups = 0, within = 0, unrouted = 0;
  each_plan("any-routes", [&](const Plan& plan) {
    const auto is = [&](auto which) { return std::ranges::any_of(plan.limits, which); };
    ++plans;
    EXPECT_TRUE(is(of_route)) << plan.text();
    alone += plan.limits.size() == 1;
    beside += is([](const LimitConfig& limit) { return !of_route(limit) && !of_group(limit); });
    of_groups += is([](const LimitConfig& limit) { return !of_route(limit) && of_group(limit); });
    within += is([](const LimitConfig& limit) { return of_route(limit) && of_group(limit); });
    unrouted += std::ranges::any_of(plan.members, [](const Member& member) { return member.demand.routed < 1; });
    EXPECT_GT(plan.members.front().demand.routed, 0);
  });
  for (const int some : {alone, beside, of_groups, within, unrouted}) EXPECT_GE(some, plans / 20);
}

TEST(Regimes, have_up_to_64_processes) {
  EXPECT_EQ(draw(*regime_named("processes-32"), 1).members.size(), 32u);
  EXPECT_EQ(draw(*regime_named("processes-64"), 1).members.size(), 64u);
}

TEST(PlanText, says_what_is_in_it) {
  Random random(1);
  Plan plan = busy_fleet(random, {pacer(14.8, 10), refusing(window(5, 1h))});
  plan.regime = "some";
  plan.seed = 7;
  for (Member& member : plan.members) member.round_trip = 200;
  plan.faults = {fault_of_redis(Fault::Kind::redis_stops, 5 * kSecond, 1'500 * kMillisecond),
                 fault_of_one(Fault::Kind::killed, 2, 6 * kSecond)};
  EXPECT_EQ(plan.text(),
            "some, seed 7: 20s, whenDown share, redis.timeout 50ms\n"
            "  pacer: { qps: 14.8, maxBurst: 10 }\n"
            "  window: { reservoir: 5, interval: 1h, mode: refuse }\n"
            "  processes 0 to 2: round trip 200us ± 10 %, maxConcurrent 256, maxPending 10000, maxWait 1d; "
            "200 clients, flights 1ms\n"
            "  at 5s: Redis stops for 1500ms\n"
            "  at 6s: process 2: killed\n");
}

}  // namespace
}  // namespace penstock::simulation
