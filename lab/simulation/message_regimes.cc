// SPDX-License-Identifier: Apache-2.0
// Regimes with faults of single messages and replies, within a script, and in quick succession.
#include <chrono>
#include <string>
#include <variant>

#include "simulation/drawing.h"
#include "simulation/regimes.h"

namespace penstock::simulation {

namespace {

using namespace std::chrono_literals;
using enum Fault::Kind;

/// One limit of any kind.
LimitConfig any_kind(Random& random) {
  const LimitConfig limits[] = {pacer(200, 20),          window(200, 1s),
                                sliding_window(200, 2s), token_bucket(50, 10, 500ms),
                                counter(300, 3s),        semaphore(10, 5s)};
  return random.any(limits);
}

Plan busy_with_any(Random& random) {
  Plan plan = busy_fleet(random, {any_kind(random)}, 3, 30 * kSecond);
  for (Member& member : plan.members) member.demand.flight = 20 * kMillisecond;
  return plan;
}

/// A fault of messages, with the limits that depend on messages most.
Plan hanging_on_messages(Random& random, Fault::Kind kind) {
  const LimitConfig limits[] = {semaphore(10, 5s), semaphore(3, 5s), counter(60, 1s), window(20, 500ms)};
  Plan plan = busy_fleet(random, {random.any(limits)}, 3, 30 * kSecond);
  for (Member& member : plan.members) {
    member.demand.clients = 15;
    member.demand.flight = 50 * kMillisecond;
  }
  const auto member = static_cast<int>(random.below(3));
  plan.faults = {fault_of_one(kind, member, 8 * kSecond, random.between(1, 8) * kSecond)};
  return plan;
}

/// The same fault each second, of one process after the other.
Plan each_second(Random& random, Fault::Kind kind, Time lasts = 0) {
  Plan plan = busy_with_any(random);
  const auto size = static_cast<int>(plan.members.size());
  for (Time at = 5 * kSecond; at < 20 * kSecond; at += kSecond) {
    const Time moment = at + random.between(0, 300 * kMillisecond);
    plan.faults.push_back(fault_of_one(kind, static_cast<int>(at / kSecond) % size, moment, lasts));
  }
  return plan;
}

Plan failing_scripts(Random& random) {
  Plan plan = busy_with_any(random);
  for (Time at = 6 * kSecond; at < 20 * kSecond; at += 2 * kSecond)
    plan.faults.push_back(fault_of_redis(script_fails, at + random.between(0, kSecond)));
  return plan;
}

/// As if a proxy led to one server and then to another: twice, or again and again.
Plan alternating(Random& random) {
  Plan plan = busy_with_any(random);
  const Time apart = random.happens(0.5) ? 12 * kSecond : kSecond;
  for (Time at = 6 * kSecond; at < 20 * kSecond; at += apart) plan.faults.push_back(fault_of_redis(id_changes, at));
  return plan;
}

/// Processes stand still now and then, between a grant and its departure.
Plan blinking(Random& random) {
  Plan plan = busy_with_any(random);
  for (Time at = 5 * kSecond; at < 20 * kSecond; at += kSecond / 2) {
    const auto member = static_cast<int>(random.below(3));
    const Time lasts = random.between(5, 60) * kMillisecond;
    plan.faults.push_back(fault_of_one(frozen, member, at + random.between(0, 50 * kMillisecond), lasts));
  }
  return plan;
}

Plan erased(Random& random) {
  Plan plan = busy_with_any(random);
  const std::string own = ":" + std::string(limit_name(plan.limits[0]));
  const std::string keys[] = {own, own, ":head", ":alive", ":limits"};
  Fault fault = fault_of_redis(key_erased, any_moment(random, plan));
  fault.key = random.any(keys);
  plan.faults = {fault};
  return plan;
}

/// 3,000 of 10,000 have left when the head is erased. Afterwards the rest of the window is asked for, except a tenth.
Plan head_lost(Random& random) {
  Plan plan = busy_fleet(random, {window(10'000, 30 * 24h)}, 2, 45 * kSecond);
  plan.members[0].demand = steady(1).demand;
  plan.members[0].demand.spike = 3'000;
  plan.members[0].demand.spike_at = kSecond;
  plan.members[1].demand = steady(200).demand;
  plan.members[1].demand.from = 15 * kSecond;
  Fault fault = fault_of_redis(key_erased, 8 * kSecond + random.between(0, kSecond));
  fault.key = ":head";
  plan.faults = {fault};
  return plan;
}

Plan promoted_whole(Random& random) {
  Plan plan = busy_with_any(random);
  const Time at = any_moment(random, plan);
  plan.faults = {fault_of_redis(redis_goes_back, at, random.between(10, 500) * kMillisecond)};
  return plan;
}

/// Limits at the ends of what a configuration allows.
Plan extreme(Random& random) {
  const LimitConfig limits[] = {
      pacer(1.0 / 3'600, 3),        pacer(20'000, 10'000), token_bucket(1'000'000, 1'000, 10ms),
      window(1'000'000, 366 * 24h), window(5, 366 * 24h),  sliding_window(10'000, 1s)};
  const LimitConfig& limit = random.any(limits);
  const bool large = std::holds_alternative<TokenBucketConfig>(limit.kind);
  Plan plan = busy_fleet(random, {limit}, 3, 4 * kSecond);
  for (Member& member : plan.members) {
    member.demand.flight = 100 * kMillisecond;
    if (large) member.demand.weights = {1, 1'000, 100'000};
  }
  afford(plan);
  return plan;
}

std::vector<Regime> on_the_way() {
  return {
      {"messages-late", "messages come up to 200 ms later, to one process",
       [](Random& r) { return hanging_on_messages(r, messages_late); }},
      {"messages-twice", "messages come twice", [](Random& r) { return hanging_on_messages(r, messages_twice); }},
      {"messages-lost", "messages do not come", [](Random& r) { return hanging_on_messages(r, messages_lost); }},
      {"calls-lost", "each second one process loses its connection for calls",
       [](Random& r) { return each_second(r, commands_lost); }},
      {"half-a-reply", "each second one process gets half a reply, and its connection is reset",
       [](Random& r) { return each_second(r, reply_torn, kSecond); }},
      {"script-fails", "a script fails in the middle, now and then", failing_scripts},
      {"ids-alternate", "connections lead to servers of different ids", alternating},
  };
}

}  // namespace

std::vector<Regime> message_regimes() {
  auto all = on_the_way();
  const Regime others[] = {
      {"blinks-often", "processes stand still for 5 to 60 ms, between a grant and its departure", blinking},
      {"erased-any", "one key is deleted, of any kind of limit", erased},
      {"head-lost", "the head goes, and a window of 10,000 in 30 days stays as it was", head_lost},
      {"promoted-whole", "a replica is promoted that lacks nothing", promoted_whole},
      {"extreme", "limits at the ends of what can be configured", extreme},
  };
  for (const Regime& regime : others) all.push_back(regime);
  return all;
}

}  // namespace penstock::simulation
