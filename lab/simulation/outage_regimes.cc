// SPDX-License-Identifier: Apache-2.0
// Regimes in which Redis goes, stalls, and comes back with all that it knew.
#include <chrono>

#include "simulation/drawing.h"
#include "simulation/regimes.h"

namespace penstock::simulation {

namespace {

using namespace std::chrono_literals;
using enum Fault::Kind;

Plan with(Plan plan, std::initializer_list<Fault> faults) {
  plan.faults = faults;
  return plan;
}

Plan going_by(WhenDown mode, Plan plan) {
  plan.when_down = mode;
  return plan;
}

/// One process wants all, the others little.
Plan unequal(Plan plan, double little) {
  for (std::size_t i = 1; i < plan.members.size(); ++i) plan.members[i].demand = steady(little).demand;
  return plan;
}

Plan stalling(Plan plan) {
  repeat(plan, fault_of_redis(redis_stalls, 3 * kSecond, 100 * kMillisecond), kSecond);
  return plan;
}

/// Each second another process loses its connections.
Plan losing_connections(Plan plan) {
  const auto size = static_cast<int>(plan.members.size());
  for (Time at = 3 * kSecond; at + kSecond < plan.length; at += kSecond) {
    plan.faults.push_back(fault_of_one(connection_lost, static_cast<int>(at / kSecond) % size, at));
  }
  return plan;
}

Plan blips(Random& random) {
  Plan plan = busy_fleet(random, {pacer(400, 20)});
  repeat(plan, fault_of_redis(redis_stops, 3 * kSecond, 10 * kMillisecond), 2 * kSecond);
  return plan;
}

/// Two of five processes start while Redis is away; the configuration says that there may be five.
Plan started_meanwhile(Random& random) {
  Plan plan = busy_fleet(random, {window(200, 500ms)}, 5);
  plan.processes = 5;
  for (const std::size_t late : {3u, 4u}) plan.members[late].joins = 6 * kSecond + random.between(0, kSecond);
  return with(std::move(plan), {fault_of_redis(redis_stops, 5 * kSecond, 5 * kSecond)});
}

/// Three times what the limit allows, all of which leaves for five seconds.
Plan open_excess(Random& random) {
  Plan plan = busy_fleet(random, {pacer(100, 20)}, 3, 40 * kSecond);
  for (Member& member : plan.members) member.demand = steady(100).demand;
  for (Member& member : plan.members) member.demand.until = 20 * kSecond;
  return going_by(WhenDown::open, with(std::move(plan), {fault_of_redis(redis_stops, 5 * kSecond, 5 * kSecond)}));
}

/// Redis goes again while the processes that came back still replay.
Plan lost_twice(Random& random) {
  Plan plan = busy_fleet(random, {window(600, 5s)}, 3, 40 * kSecond);
  const Time again = 8 * kSecond + random.between(kMillisecond, 900 * kMillisecond);
  return with(std::move(plan),
              {fault_of_redis(redis_stops, 5 * kSecond, 3 * kSecond), fault_of_redis(redis_stops, again, 2 * kSecond)});
}

/// Redis goes, is back for a moment, and goes again. Processes want little, so some ask for nothing in between; what a
/// period allows is less than what they want in it.
Plan gone_again(Random& random) {
  const LimitConfig limits[] = {window(60, 1h), sliding_window(60, 1h), for_each_group(window(12, 1h)),
                                for_each_group(sliding_window(12, 1h)), token_bucket(60, 1, 60s)};
  Plan plan = busy_fleet(random, {random.any(limits)}, 3, 40 * kSecond);
  plan.members = fleet(random, 3, steady(random.scaled(0.5, 5)));
  for (Member& member : plan.members) member.demand.groups = plan.limits[0].per == LimitConfig::Per::group ? 6 : 0;
  const Time goes = random.between(4 * kSecond, 12 * kSecond), away = random.between(100, 3'000) * kMillisecond;
  const Time back = random.between(5, 900) * kMillisecond;
  return with(std::move(plan),
              {fault_of_redis(redis_stops, goes, away), fault_of_redis(redis_stops, goes + away + back, 10 * kSecond)});
}

/// Redis is emptied, and goes when the processes have just handed in, or soon after.
Plan emptied_and_gone(Random& random) {
  constexpr Fault::Kind kGoes[] = {redis_stops, redis_loses_memory, redis_stalls};
  const LimitConfig limits[] = {for_each_group(sliding_window(12, 2s)), for_each_group(window(12, 2s)),
                                sliding_window(120, 2s), window(120, 2s)};
  Plan plan = busy_fleet(random, {random.any(limits)}, 3, 30 * kSecond);
  for (Member& member : plan.members) member.demand.groups = plan.limits[0].per == LimitConfig::Per::group ? 8 : 0;
  const Time emptied = any_moment(random, plan), then = random.between(2, 2'000) * kMillisecond;
  const Time lasts = random.between(50, 3'000) * kMillisecond;
  return with(std::move(plan),
              {fault_of_redis(redis_flushed, emptied), fault_of_redis(random.any(kGoes), emptied + then, lasts)});
}

/// Redis comes back with another clock.
Plan clock_set(Random& random) {
  Plan plan = busy_fleet(random, {random.happens(0.5) ? window(200, 2s) : sliding_window(200, 2s)}, 3);
  Fault step = fault_of_redis(clock_steps, 6 * kSecond);
  step.step = random.between(-10 * kSecond, 10 * kSecond);
  return with(std::move(plan), {fault_of_redis(redis_stops, 5 * kSecond, 2 * kSecond), step});
}

/// One process was alone when it last asked, hours ago; two more have begun since, and then Redis goes.
Plan alone_at_night(Random& random) {
  constexpr Time kGoes = kHour;
  Plan plan = busy_fleet(random, {window(300, 60s)}, 3, kGoes + 3 * kMinute);
  plan.members[0].demand = steady(1.0 / 600).demand;
  plan.members[0].demand.even = true;
  plan.members[0].demand.spike = 1'000;
  plan.members[0].demand.spike_at = kGoes + 2 * kSecond;
  for (const std::size_t other : {1u, 2u}) {
    plan.members[other].joins = kHour / 2 + kSecond;
    plan.members[other].demand.from = kGoes + 2 * kSecond;
  }
  return with(std::move(plan), {fault_of_redis(redis_stops, kGoes, 2 * kMinute)});
}

/// One of three processes is cut off for a random time.
Plan one_cut_off(Random& random, LimitConfig limit) {
  constexpr Time kWhiles[] = {20 * kMillisecond, kSecond, 20 * kSecond};
  Plan plan = busy_fleet(random, {limit}, 3, 40 * kSecond);
  const Time lasts = random.any(kWhiles);
  return with(std::move(plan), {fault_of_one(cut_off, static_cast<int>(random.below(3)), 5 * kSecond, lasts)});
}

std::vector<Regime> by_parts() {
  return {
      {"outage-window-100", "window of 100 in 500 ms, Redis away for 3 s, unequal demand",
       [](Random& r) {
         Plan plan = unequal(busy_fleet(r, {window(100, 500ms)}), 10);
         return with(std::move(plan), {fault_of_redis(redis_stops, any_moment(r, plan), 3 * kSecond)});
       }},
      {"outage-window-600", "window of 600 in 5 s, Redis away for 3 s, unequal demand",
       [](Random& r) {
         Plan plan = unequal(busy_fleet(r, {window(600, 5s)}, 3, 40 * kSecond), 10);
         return with(std::move(plan), {fault_of_redis(redis_stops, any_moment(r, plan), 3 * kSecond)});
       }},
      {"stalls-window-100", "window of 100 in 500 ms, a stall of 100 ms each second",
       [](Random& r) { return stalling(unequal(busy_fleet(r, {window(100, 500ms)}), 10)); }},
      {"stalls-window-600", "window of 600 in 5 s, a stall of 100 ms each second",
       [](Random& r) { return stalling(unequal(busy_fleet(r, {window(600, 5s)}, 3, 40 * kSecond), 10)); }},
      {"stalls-sliding", "slidingWindow of 200/s, a stall of 100 ms each second",
       [](Random& r) { return stalling(busy_fleet(r, {sliding_window(200, 1s)})); }},
      {"lost-window-100", "window of 100 in 500 ms, each second a connection is lost",
       [](Random& r) { return losing_connections(unequal(busy_fleet(r, {window(100, 500ms)}), 10)); }},
      {"lost-window-600", "window of 600 in 5 s, each second a connection is lost",
       [](Random& r) { return losing_connections(unequal(busy_fleet(r, {window(600, 5s)}, 3, 40 * kSecond), 10)); }},
      {"lost-twice", "Redis goes again as soon as it is back", lost_twice},
      {"gone-again", "Redis goes again before processes that want little have asked", gone_again},
      {"emptied-and-gone", "Redis is emptied, and goes within two seconds", emptied_and_gone},
      {"cut-off-window", "one process is cut off alone, under a window",
       [](Random& r) { return one_cut_off(r, window(200, 2s)); }},
      {"cut-off-pacer", "one process is cut off alone, under a pacer",
       [](Random& r) { return one_cut_off(r, pacer(200, 50)); }},
      {"alone-at-night", "a process that was alone when it last asked, hours before Redis goes", alone_at_night},
      {"clock-set", "Redis' clock is set by up to 10 s while it is away", clock_set},
  };
}

std::vector<Regime> by_other_modes() {
  return {
      {"blips-pacer", "a pacer, and Redis is away for 10 ms now and then", blips},
      {"started-meanwhile", "processes that start while Redis is away", started_meanwhile},
      {"hold-lossy", "whenDown: wait, each second each process loses its connections",
       [](Random& r) {
         Plan plan = busy_fleet(r, {pacer(300, 20)});
         repeat(plan, fault_of_redis(clients_killed, 3 * kSecond), kSecond);
         return going_by(WhenDown::wait, std::move(plan));
       }},
      {"hold-outage", "whenDown: wait, Redis away for 3 s: nothing leaves",
       [](Random& r) {
         Plan plan = busy_fleet(r, {pacer(300, 20), window(400, 2s)});
         return going_by(WhenDown::wait,
                         with(std::move(plan), {fault_of_redis(redis_stops, 5 * kSecond, 3 * kSecond)}));
       }},
      {"open-outage", "whenDown: open, five seconds of three times the limit are no debt", open_excess},
      {"refuse-outage", "whenDown: refuse, Redis away for 3 s",
       [](Random& r) {
         Plan plan = busy_fleet(r, {pacer(300, 20)});
         plan.members = fleet(r, 3, steady(150));
         return going_by(WhenDown::refuse,
                         with(std::move(plan), {fault_of_redis(redis_stops, 5 * kSecond, 3 * kSecond)}));
       }},
  };
}

}  // namespace

std::vector<Regime> outage_regimes() {
  auto all = by_parts();
  for (const Regime& regime : by_other_modes()) all.push_back(regime);
  return all;
}

}  // namespace penstock::simulation
