// SPDX-License-Identifier: Apache-2.0
// Regimes in which slots of a cluster move, replicas take over, and nodes go that do not matter here.
#include <chrono>

#include "simulation/any_plan.h"
#include "simulation/drawing.h"
#include "simulation/regimes.h"

namespace penstock::simulation {

namespace {

using namespace std::chrono_literals;
using enum Fault::Kind;

constexpr Fault::Kind kTakesOver[] = {node_fails_over, node_taken_over, node_outlived};

/// A busy fleet under one limit of any kind that is counted in Redis.
Plan in_cluster(Random& random, Time length = 30 * kSecond) {
  const LimitConfig limits[] = {
      pacer(200, 20),  window(200, 1s), window(600, 5s), sliding_window(200, 2s), token_bucket(50, 10, 500ms),
      counter(300, 3s)};
  Plan plan = busy_fleet(random, {random.any(limits)}, 3, length);
  plan.masters = 3;
  if (random.happens(0.25)) plan.when_down = WhenDown::wait;
  return plan;
}

/// Each new semaphore of a cluster first waits for half a lease.
Plan with_permits(Random& random) {
  Plan plan = busy_fleet(random, {semaphore(random.happens(0.5) ? 10 : 4, 5s)}, 3, 40 * kSecond);
  plan.masters = 3;
  for (Member& member : plan.members) member.demand.flight = 50 * kMillisecond;
  return plan;
}

Fault move(Time at, Time lasts) { return fault_of_redis(slot_moves, at, lasts); }

/// `whole`: the replica lacks nothing.
Fault any_take_over(Random& random, Time at, bool whole) {
  constexpr Time kLongest = 3 * kSecond;
  Fault fault = fault_of_redis(random.any(kTakesOver), at, random.between(kMillisecond, kLongest));
  if (fault.kind == node_taken_over) fault.lasts = whole ? 0 : random.between(0, kSecond);
  if (!whole) fault.back = random.between(kMillisecond, kSecond);
  return fault;
}

Plan one_take_over(Random& random, Plan plan, bool whole) {
  const Time at = any_moment(random, plan);
  plan.faults = {any_take_over(random, at, whole)};
  return plan;
}

Plan one_move(Random& random, Plan plan) {
  const Time at = any_moment(random, plan);
  plan.faults = {move(at, static_cast<Time>(random.scaled(10e3, 5e6)))};
  return plan;
}

/// The slot goes from node to node.
Plan moves_often(Random& random) {
  Plan plan = in_cluster(random, 40 * kSecond);
  const Time lasts = random.between(20 * kMillisecond, kSecond);
  repeat(plan, move(6 * kSecond, lasts), 6 * kSecond);
  return plan;
}

/// Whatever happens to another node is no matter of this upstream.
Plan something_elsewhere(Random& random, Plan plan) {
  constexpr Fault::Kind kKinds[] = {redis_stops,     redis_stalls,    redis_loses_memory, clients_killed,
                                    node_fails_over, node_taken_over, node_outlived,      slot_moves,
                                    out_of_memory,   read_only,       scripts_flushed};
  for (Time at = 8 * kSecond + random.between(0, kSecond); at < plan.length - 8 * kSecond; at += 8 * kSecond) {
    Fault fault = fault_of_redis(random.any(kKinds), at, random.between(kMillisecond, 4 * kSecond));
    if (fault.kind == clients_killed || fault.kind == scripts_flushed) fault.lasts = 0;
    fault.elsewhere = true;
    plan.faults.push_back(fault);
  }
  return plan;
}

/// The slot moves, and soon after the new node goes.
Plan moves_and_fails(Random& random) {
  Plan plan = in_cluster(random, 40 * kSecond);
  const Time at = 8 * kSecond + random.between(0, kSecond), lasts = random.between(20 * kMillisecond, kSecond);
  const Time then = at + lasts + static_cast<Time>(random.scaled(2e3, 3e6));
  plan.faults = {move(at, lasts), any_take_over(random, then, random.happens(0.5))};
  return plan;
}

Plan fails_twice(Random& random) {
  Plan plan = in_cluster(random, 40 * kSecond);
  const Fault first = any_take_over(random, 8 * kSecond, random.happens(0.5));
  const Time then = 17 * kSecond + random.between(0, kSecond);
  plan.faults = {first, any_take_over(random, then, random.happens(0.5))};
  return plan;
}

/// Anything, and what may happen to a cluster besides.
Plan anything(Random& random) {
  Plan plan = any_plan(random, {});
  plan.masters = static_cast<int>(random.between(2, 4));
  plan.when_down = random.happens(0.7) ? WhenDown::share : WhenDown::wait;
  const Time at = any_moment(random, plan);
  const auto lasts = static_cast<Time>(random.scaled(10e3, 3e6));
  Fault fault = any_take_over(random, at, random.happens(0.3));
  if (random.happens(0.5)) fault = fault_of_redis(random.happens(0.8) ? slot_moves : cluster_down, at, lasts);
  if (fault.at + fault.lasts < plan.length) plan.faults = {fault};
  return plan;
}

/// One master, as sentinels watch it. Some process may be led to the new one before the former knows.
Plan by_sentinels(Random& random, Plan plan, bool whole) {
  plan.masters = 0;
  plan = one_take_over(random, std::move(plan), whole);
  const Fault fault = plan.faults.front();
  if (fault.kind == node_taken_over && random.happens(0.5)) {
    const auto member = static_cast<int>(random.below(plan.members.size()));
    plan.faults.push_back(fault_of_one(connection_lost, member, fault.at + random.between(0, fault.lasts)));
  }
  return plan;
}

std::vector<Regime> with_moves() {
  return {
      {"cluster-calm", "a cluster in which nothing happens", [](Random& r) { return in_cluster(r); }},
      {"slot-moves", "the slot moves to another node, key by key",
       [](Random& r) { return one_move(r, in_cluster(r)); }},
      {"slot-moves-permits", "the same, under a semaphore", [](Random& r) { return one_move(r, with_permits(r)); }},
      {"slot-moves-often", "it moves every six seconds", moves_often},
      {"slot-moves-fails", "it moves, and then a replica of the new node takes over", moves_and_fails},
      {"cluster-down", "no node answers for any key for a while",
       [](Random& r) {
         Plan plan = in_cluster(r);
         const Time at = any_moment(r, plan);
         plan.faults = {fault_of_redis(cluster_down, at, r.between(kMillisecond, 5 * kSecond))};
         return plan;
       }},
  };
}

std::vector<Regime> with_replicas() {
  return {
      {"replica-whole", "a replica takes over that lacks nothing",
       [](Random& r) { return one_take_over(r, in_cluster(r), true); }},
      {"replica-lacks", "a replica takes over that lacks the last writes",
       [](Random& r) { return one_take_over(r, in_cluster(r), false); }},
      {"replica-permits", "a replica takes over, under a semaphore",
       [](Random& r) { return one_take_over(r, with_permits(r), r.happens(0.5)); }},
      {"replica-twice", "a replica takes over, and later the node that went takes over from it", fails_twice},
      {"elsewhere", "things happen to nodes that have not the upstream's slot",
       [](Random& r) { return something_elsewhere(r, in_cluster(r, 50 * kSecond)); }},
      {"elsewhere-permits", "the same, under a semaphore",
       [](Random& r) { return something_elsewhere(r, with_permits(r)); }},
      {"sentinel-whole", "a replica that lacks nothing takes over from the only master",
       [](Random& r) { return by_sentinels(r, in_cluster(r), true); }},
      {"sentinel-lacks", "a replica takes over from the only master that lacks its last writes",
       [](Random& r) { return by_sentinels(r, in_cluster(r), false); }},
      {"sentinel-permits", "the same, under a semaphore",
       [](Random& r) { return by_sentinels(r, with_permits(r), r.happens(0.5)); }},
      {"any-cluster", "anything, in a cluster in which something happens", anything},
  };
}

}  // namespace

std::vector<Regime> cluster_regimes() {
  auto all = with_moves();
  for (const Regime& regime : with_replicas()) all.push_back(regime);
  return all;
}

}  // namespace penstock::simulation
