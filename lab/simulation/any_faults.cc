// SPDX-License-Identifier: Apache-2.0
// Draws what may go wrong, and when.
#include <algorithm>
#include <string>
#include <variant>

#include "simulation/any_plan.h"
#include "simulation/drawing.h"

namespace penstock::simulation {

namespace {

using enum Fault::Kind;

Time lease_of(const Plan& plan) {
  Time lease = 30 * kSecond;
  for (const LimitConfig& limit : plan.limits) {
    if (const auto* semaphore = std::get_if<SemaphoreConfig>(&limit.kind)) lease = semaphore->lease.count();
  }
  return lease;
}

/// From a blink to two leases; shorter and longer than the time-out.
Time any_duration(Random& random, const Plan& plan) {
  const Time timeout = plan.redis_timeout.count();
  const Time choices[] = {20 * kMillisecond, timeout / 2, 2 * timeout,  100 * kMillisecond,
                          kSecond,           3 * kSecond, 20 * kSecond, 2 * lease_of(plan)};
  return std::clamp<Time>(random.any(choices), 1, std::max<Time>(plan.length / 4, 1));
}

std::string any_key(Random& random, const Plan& plan) {
  const std::string keys[] = {":head", ":alive", ":turns", ":pause", ":" + std::string(limit_name(plan.limits[0]))};
  return random.any(keys);
}

/// A fault of any kind.
Fault any_fault(Random& random, const Plan& plan) {
  constexpr Fault::Kind kKinds[] = {
      redis_stops,  redis_stops,    redis_loses_memory, redis_goes_back, redis_flushed, scripts_flushed, redis_stalls,
      redis_stalls, clients_killed, connection_lost,    mailbox_lost,    cut_off,       cut_off,         frozen,
      killed,       clock_steps,    out_of_memory,      read_only,       denied,        key_erased,      paused};
  constexpr const char* kCommands[] = {"time",   "channels", "evalsha", "publish", "subscribe",
                                       "script", "get",      "set",     "rpush",   "zadd"};
  Fault fault{.kind = random.any(kKinds), .at = any_moment(random, plan), .lasts = any_duration(random, plan)};
  fault.member = static_cast<int>(random.below(plan.members.size()));
  switch (fault.kind) {
    case connection_lost:
    case mailbox_lost:
    case killed: fault.lasts = 0; return fault;
    case cut_off:
    case frozen:
    case paused: return fault;
    case redis_goes_back: fault.back = random.between(100 * kMillisecond, std::max(fault.at, kSecond)); break;
    case clock_steps:
      fault.step = random.between(kMillisecond, 10 * kSecond);
      if (random.happens(0.5)) fault.step = -fault.step;
      break;
    case denied: fault.command = random.any(kCommands); break;
    case key_erased: fault.key = any_key(random, plan); break;
    default: break;
  }
  fault.member = -1;
  const bool at_once = fault.kind == redis_flushed || fault.kind == scripts_flushed || fault.kind == clients_killed ||
                       fault.kind == clock_steps || fault.kind == key_erased;
  if (at_once) fault.lasts = 0;
  return fault;
}

bool recurs(Fault::Kind kind) {
  return kind == redis_stalls || kind == clients_killed || kind == connection_lost || kind == mailbox_lost ||
         kind == cut_off || kind == scripts_flushed;
}

/// Sets Redis' clock while it is away, or makes it go again as soon as it is back.
void add_another(Random& random, Plan& plan, const Fault& first) {
  const bool away = first.kind == redis_stops || first.kind == redis_loses_memory || first.kind == redis_goes_back;
  if (!away) return;
  if (random.happens(0.3)) {
    Fault step = fault_of_redis(clock_steps, first.at + first.lasts / 2);
    step.step = random.between(-10 * kSecond, 10 * kSecond);
    plan.faults.push_back(step);
  }
  if (random.happens(0.3)) {
    const Time soon = first.at + first.lasts + random.between(kMillisecond, 2 * kSecond);
    plan.faults.push_back(fault_of_redis(redis_stops, soon, any_duration(random, plan)));
  }
}

Fault rare_fault(Random& random, const Plan& plan) {
  constexpr Fault::Kind kKinds[] = {commands_lost, reply_torn, messages_late, messages_twice,
                                    messages_lost, id_changes, script_fails,  publishes_lost};
  Fault fault{.kind = random.any(kKinds), .at = any_moment(random, plan), .lasts = any_duration(random, plan)};
  const bool of_all = fault.kind == id_changes || fault.kind == script_fails || fault.kind == publishes_lost;
  const auto member = static_cast<int>(random.below(plan.members.size()));
  if (!of_all) fault.member = member;
  const bool is_a_moment = fault.kind == id_changes || fault.kind == script_fails || fault.kind == commands_lost;
  if (is_a_moment) fault.lasts = 0;
  if (fault.kind == reply_torn) fault.lasts = kSecond;
  return fault;
}

}  // namespace

void rare_faults(Random& random, Plan& plan) {
  const auto count = random.between(1, 3);
  for (std::int64_t i = 0; i < count; ++i) {
    const Fault fault = rare_fault(random, plan);
    if (random.happens(0.5) && plan.length <= 60 * kSecond)
      repeat(plan, fault, std::max(kSecond, 2 * fault.lasts));
    else
      plan.faults.push_back(fault);
  }
  if (random.happens(0.3)) plan.faults.push_back(fault_of_redis(redis_stops, any_moment(random, plan), kSecond));
  std::ranges::stable_sort(plan.faults, {}, &Fault::at);
  std::erase_if(plan.faults, [&](const Fault& fault) { return fault.at >= plan.length; });
}

void any_faults(Random& random, Plan& plan) {
  const auto count = random.between(1, 3);
  for (std::int64_t i = 0; i < count; ++i) {
    const Fault fault = any_fault(random, plan);
    const bool again = recurs(fault.kind) && random.happens(0.25) && plan.length <= 60 * kSecond;
    if (again) {
      repeat(plan, fault, std::max(kSecond, 2 * fault.lasts));
    } else {
      plan.faults.push_back(fault);
    }
    add_another(random, plan, fault);
  }
  // Redis cannot stop while it is stopped.
  std::ranges::stable_sort(plan.faults, {}, &Fault::at);
  Time back = 0;
  std::erase_if(plan.faults, [&](const Fault& fault) {
    const bool stops = fault.kind == redis_stops || fault.kind == redis_loses_memory || fault.kind == redis_goes_back;
    if (!stops) return false;
    if (fault.at <= back || fault.at >= plan.length) return true;
    back = fault.at + fault.lasts;
    return false;
  });
  std::erase_if(plan.faults, [&](const Fault& fault) { return fault.at >= plan.length; });
}

}  // namespace penstock::simulation
