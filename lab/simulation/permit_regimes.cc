// SPDX-License-Identifier: Apache-2.0
// Regimes for the permits of semaphores, with and without faults.
#include <chrono>

#include "simulation/drawing.h"
#include "simulation/regimes.h"

namespace penstock::simulation {

namespace {

using namespace std::chrono_literals;
using enum Fault::Kind;

/// Fifteen clients for each process, for which there are not enough permits.
Plan flying(Random& random, LimitConfig limit, Time flight, int size = 3, Time length = 60 * kSecond) {
  Plan plan = busy_fleet(random, {limit}, size, length);
  for (Member& member : plan.members) {
    member.demand.clients = 15;
    member.demand.flight = flight;
    member.demand.flight_varies = random.happens(0.5);
  }
  return plan;
}

Plan flying_with(Random& random, std::initializer_list<Fault> faults, Time flight) {
  Plan plan = flying(random, semaphore(10, 10s), flight);
  plan.faults = faults;
  return plan;
}

Time some_flight(Random& random) { return static_cast<Time>(random.scaled(50e3, 5e6)); }

/// One process is frozen for longer than the others may wait; its lease is long.
Plan one_frozen(Random& random) {
  Plan plan = flying(random, semaphore(10), 50 * kMillisecond);
  const Time lasts = random.between(5, 20) * kSecond, at = 25 * kSecond + random.between(0, kSecond);
  plan.faults = {fault_of_one(frozen, static_cast<int>(random.below(3)), at, lasts)};
  return plan;
}

Plan killed_connections(Random& random) {
  Plan plan = flying(random, semaphore(10, 10s), some_flight(random));
  repeat(plan, fault_of_redis(clients_killed, 10 * kSecond), 10 * kSecond);
  return plan;
}

/// A few requests a second, for which there are enough permits: even the very first must not wait.
Plan first_use(Random& random) {
  Plan plan = busy_fleet(random, {semaphore(10)}, 3, 60 * kSecond);
  for (Member& member : plan.members) member.demand = steady(2, 200 * kMillisecond).demand;
  return plan;
}

Plan after_idle_day(Random& random) {
  constexpr Time kIdle = 25 * kHour;
  Plan plan = busy_fleet(random, {semaphore(10)}, 2, kIdle + kMinute);
  for (Member& member : plan.members) member.demand = steady(5, 200 * kMillisecond).demand;
  plan.members[0].demand.until = 20 * kSecond;
  plan.members[1].demand.from = kIdle;
  return plan;
}

Plan lost_mailboxes(Random& random) {
  Plan plan = flying(random, semaphore(10, 10s), 50 * kMillisecond);
  repeat(plan, fault_of_one(mailbox_lost, static_cast<int>(random.below(3)), 8 * kSecond), 2 * kSecond);
  return plan;
}

Plan any_lease(Random& random) {
  const Time lease = static_cast<Time>(random.scaled(1, 3'600)) * kSecond;
  const auto capacity = static_cast<int>(random.between(1, 40)), size = static_cast<int>(random.between(1, 8));
  const LimitConfig limit = semaphore(capacity, std::chrono::microseconds(lease));
  Plan plan = flying(random, limit, some_flight(random), size, 2 * kMinute);
  afford(plan);
  return plan;
}

Plan distant(Random& random) {
  constexpr Time kTrips[] = {200, 5 * kMillisecond, 40 * kMillisecond};
  Plan plan = flying(random, semaphore(10), 50 * kMillisecond);
  for (std::size_t i = 0; i < plan.members.size(); ++i) plan.members[i].round_trip = kTrips[i];
  plan.redis_timeout = 500ms;
  return plan;
}

/// One of three processes is cut off from Redis, for up to some leases.
Plan cut_off_for_leases(Random& random) {
  constexpr Time kWhiles[] = {20 * kMillisecond, kSecond, 4 * kSecond, 20 * kSecond};
  Plan plan = flying(random, semaphore(10, 10s), some_flight(random));
  const Time lasts = random.any(kWhiles);
  plan.faults = {fault_of_one(cut_off, static_cast<int>(random.below(3)), 15 * kSecond, lasts)};
  return plan;
}

/// Redis is lost again while the new generation still waits for those that hold permits.
Plan lost_in_quarantine(Random& random) {
  const Time flight = some_flight(random), again = 16 * kSecond + random.between(0, 5 * kSecond);
  const auto how = random.happens(0.5) ? redis_loses_memory : redis_stops;
  return flying_with(
      random, {fault_of_redis(redis_loses_memory, 15 * kSecond, kSecond), fault_of_redis(how, again, kSecond)}, flight);
}

std::vector<Regime> calm() {
  return {
      {"permits", "semaphore of 10, more wait than may fly",
       [](Random& r) { return flying(r, semaphore(10), 50 * kMillisecond); }},
      {"permits-20", "semaphore of 20 for 8 processes",
       [](Random& r) { return flying(r, semaphore(20, 5s), 50 * kMillisecond, 8, 30 * kSecond); }},
      {"permits-short", "flights of 2 ms",
       [](Random& r) { return flying(r, semaphore(10, 1s), 2 * kMillisecond, 3, 3 * kSecond); }},
      {"permits-far", "round trips of 0.2, 5 and 40 ms", distant},
      {"permits-lease", "leases of 1 s to 1 h, capacities of 1 to 40", any_lease},
      {"permits-and-pacer", "semaphore of 10 beside a pacer of 100/s",
       [](Random& r) {
         Plan plan = flying(r, semaphore(10), 50 * kMillisecond);
         plan.limits.push_back(pacer(100, 10));
         return plan;
       }},
      {"permits-first", "the first request of a semaphore starts at once", first_use},
      {"permits-idle-day", "so does the first after an idle day", after_idle_day},
  };
}

std::vector<Regime> disturbed() {
  return {
      {"permits-redis-gone", "semaphore of 10, Redis away for a while",
       [](Random& r) {
         const Time flight = some_flight(r);
         return flying_with(r, {fault_of_redis(redis_stops, 15 * kSecond, r.between(1, 20) * kSecond)}, flight);
       }},
      {"permits-empty-restart", "semaphore of 10, Redis comes back empty",
       [](Random& r) {
         const Time flight = some_flight(r);
         return flying_with(r, {fault_of_redis(redis_loses_memory, 15 * kSecond, r.between(1, 4) * kSecond)}, flight);
       }},
      {"permits-lost-twice", "semaphore of 10, and Redis goes again while permits are registered", lost_in_quarantine},
      {"permits-client-kill", "semaphore of 10, all connections are reset now and then", killed_connections},
      {"permits-snapshot", "semaphore of 10, Redis comes back as it was seconds ago",
       [](Random& r) {
         Fault fault = fault_of_redis(redis_goes_back, 15 * kSecond, kSecond);
         fault.back = r.between(1, 10) * kSecond;
         return flying_with(r, {fault}, some_flight(r));
       }},
      {"permits-stalled", "Redis stands still for longer than a lease",
       [](Random& r) {
         return flying_with(r, {fault_of_redis(redis_stalls, 15 * kSecond, 12 * kSecond)}, some_flight(r));
       }},
      {"permits-frozen", "one process does not run: the others go on", one_frozen},
      {"permits-killed", "one process ends without a word",
       [](Random& r) {
         const Time flight = some_flight(r);
         return flying_with(r, {fault_of_one(killed, static_cast<int>(r.below(3)), 10 * kSecond)}, flight);
       }},
      {"permits-cut-off", "one process is cut off, for up to two leases", cut_off_for_leases},
      {"permits-mailbox", "one process loses the connection for messages again and again", lost_mailboxes},
  };
}

}  // namespace

std::vector<Regime> permit_regimes() {
  auto all = calm();
  for (const Regime& regime : disturbed()) all.push_back(regime);
  return all;
}

}  // namespace penstock::simulation
