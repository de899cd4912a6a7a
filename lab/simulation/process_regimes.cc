// SPDX-License-Identifier: Apache-2.0
// Regimes with processes that come, go, stand still and are many; slots; limits side by side; extremes of a
// configuration.
#include <algorithm>
#include <chrono>

#include "simulation/drawing.h"
#include "simulation/regimes.h"

namespace penstock::simulation {

namespace {

using namespace std::chrono_literals;
using enum Fault::Kind;

LimitConfig one_of_three(Random& random) {
  const LimitConfig limits[] = {pacer(400), pacer(100, 100), window(200, 500ms)};
  return random.any(limits);
}

Plan one_of_them(Random& random, Fault::Kind kind, Time lasts) {
  Plan plan = busy_fleet(random, {one_of_three(random)});
  const Time at = any_moment(random, plan);
  plan.faults = {fault_of_one(kind, static_cast<int>(random.below(3)), at, lasts)};
  return plan;
}

Plan many(Random& random, int size) {
  const LimitConfig limits[] = {pacer(400, 40), window(800, 2s), token_bucket(100, 100, 500ms), semaphore(100, 2s)};
  Plan plan = busy_fleet(random, {random.any(limits)}, size, 12 * kSecond);
  for (Member& member : plan.members) {
    member.demand.clients = 50;
    member.demand.flight = 100 * kMillisecond;
  }
  return plan;
}

Plan joining(Random& random) {
  Plan plan = busy_fleet(random, {one_of_three(random)}, 6, 24 * kSecond);
  for (std::size_t i = 1; i < plan.members.size(); ++i) plan.members[i].joins = static_cast<Time>(3 * i) * kSecond;
  return plan;
}

/// Each process is told to end, and then its successor begins.
Plan restarted(Random& random) {
  Plan plan = busy_fleet(random, {one_of_three(random)}, 4, 24 * kSecond);
  for (Time i = 0; i < 4; ++i) {
    Member& old = plan.members[static_cast<std::size_t>(i)];
    old.ends = (i + 1) * 4 * kSecond;
    Member young = old;
    young.joins = old.ends + 100 * kMillisecond;
    young.ends = 0;
    plan.members.push_back(young);
  }
  return plan;
}

Plan few_slots(Random& random) {
  Plan plan = busy_fleet(random, {pacer(300, 30), semaphore(200, 2s)});
  for (Member& member : plan.members) {
    member.settings.max_concurrent = static_cast<int>(random.between(2, 40));
    member.demand.flight = 200 * kMillisecond;
  }
  return plan;
}

Plan drifting(Random& random) {
  Plan plan = busy_fleet(random, {one_of_three(random)}, 3, 40 * kSecond);
  plan.members[0].drift_ppm = 500;
  plan.members[1].drift_ppm = -500;
  return plan;
}

/// Limits are kept by Redis' clock, whatever the machines' times of day are.
Plan hours_apart(Random& random) {
  Plan plan = busy_fleet(random, {one_of_three(random)});
  for (Member& member : plan.members) member.wall_ahead = random.between(-kHour, kHour);
  return plan;
}

Plan impatient(Random& random, LimitConfig limit) {
  Plan plan = busy_fleet(random, {limit});
  for (Member& member : plan.members) {
    member.demand = steady(200).demand;
    member.demand.leaves = 0.3;
    member.demand.leaves_after = 500 * kMillisecond;
    member.settings.max_wait = 2 * kSecond;
  }
  return plan;
}

Plan any_timeout_of_redis(Random& random) {
  Plan plan = busy_fleet(random, {one_of_three(random)});
  plan.redis_timeout = Duration(static_cast<Time>(random.scaled(1e3, 10e6)));
  const double most = static_cast<double>(plan.redis_timeout.count()) / 3;
  for (Member& member : plan.members) member.round_trip = static_cast<Time>(std::min(most, random.scaled(100, 60e3)));
  repeat(plan, fault_of_redis(redis_stalls, 3 * kSecond, 2 * static_cast<Time>(most)), 4 * kSecond);
  return plan;
}

std::vector<Regime> processes() {
  return {
      {"killed", "one of three ends without a word", [](Random& r) { return one_of_them(r, killed, 0); }},
      {"frozen", "one of three does not run for 5 s", [](Random& r) { return one_of_them(r, frozen, 5 * kSecond); }},
      {"blinks", "one of three stands still for 20 to 200 ms",
       [](Random& r) { return one_of_them(r, frozen, r.between(20, 200) * kMillisecond); }},
      {"joining", "one process more every 3 s", joining},
      {"rolling-restart", "each process is told to end, and its successor begins", restarted},
      {"processes-32", "32 processes", [](Random& r) { return many(r, 32); }},
      {"processes-64", "64 processes", [](Random& r) { return many(r, 64); }},
      {"drift", "clocks that drift by 500 ppm", drifting},
      {"hours-apart", "machines with times of day up to an hour off", hours_apart},
      {"redis-timeout", "redis.timeout of 1 ms to 10 s, stalls shorter than that", any_timeout_of_redis},
  };
}

std::vector<Regime> limits_side_by_side() {
  return {
      {"few-slots", "maxConcurrent is less than what the limits allow", few_slots},
      {"refuse-beside-delay", "a window that refuses beside a pacer that delays",
       [](Random& r) {
         Plan plan = impatient(r, pacer(200, 20));
         plan.limits.push_back(refusing(window(900, 5s)));
         return plan;
       }},
      {"refuse", "a counter that refuses", [](Random& r) { return impatient(r, refusing(counter(300, 2s))); }},
      {"impatient", "clients that give up, and waits that are too long",
       [](Random& r) { return impatient(r, pacer(300, 30)); }},
      {"own-beside-shared", "a limit of each process beside one of all",
       [](Random& r) {
         return busy_fleet(r, {pacer(300, 30), by_itself(window(120, 1s))});
       }},
      {"four-limits", "pacer, window, slidingWindow and semaphore together",
       [](Random& r) {
         Plan plan = busy_fleet(r, {pacer(200, 100), window(900, 5s), sliding_window(400, 2s), semaphore(30, 2s)});
         for (Member& member : plan.members) member.demand.flight = 100 * kMillisecond;
         return plan;
       }},
      {"counter", "a counter of 300 in 2 s",
       [](Random& r) { return busy_fleet(r, {counter(300, 2s)}, r.happens(0.5) ? 3 : 8, 40 * kSecond); }},
      {"alone", "one process with Redis is as one without",
       [](Random& r) {
         const LimitConfig limits[] = {pacer(300, 30), window(400, 2s), sliding_window(400, 2s),
                                       token_bucket(100, 20, 100ms), counter(400, 2s)};
         return busy_fleet(r, {r.any(limits)}, 1);
       }},
      {"below", "60 % of the limit: no request waits long, one call a request",
       [](Random& r) {
         Plan plan = busy_fleet(r, {one_of_three(r)});
         for (Member& member : plan.members) member.demand = steady(20).demand;
         return plan;
       }},
  };
}

}  // namespace

std::vector<Regime> process_regimes() {
  auto all = processes();
  for (const Regime& regime : limits_side_by_side()) all.push_back(regime);
  return all;
}

}  // namespace penstock::simulation
