// SPDX-License-Identifier: Apache-2.0
// Regimes in which Redis answers, but may not do what it must, or knows less than it did.
#include <array>
#include <chrono>
#include <string>
#include <utility>

#include "redis/wire/self_test.h"
#include "simulation/drawing.h"
#include "simulation/regimes.h"

namespace penstock::simulation {

namespace {

using namespace std::chrono_literals;
using enum Fault::Kind;

Fault denial(std::string command, Time at, Time lasts) {
  Fault fault = fault_of_redis(denied, at, lasts);
  fault.command = std::move(command);
  return fault;
}

/// The command is denied from the begin on, or for some seconds of a run that began well. Processes that never reached
/// Redis know of no others, so `share` would give the whole limit to each: they use `wait`. Leases are short, because
/// the first use of a semaphore may wait for half of one.
Plan denying(Random& random, std::vector<LimitConfig> limits, const std::string& command) {
  Plan plan = busy_fleet(random, std::move(limits));
  const bool from_the_begin = random.happens(0.5);
  plan.faults = {from_the_begin ? denial(command, 0, 0) : denial(command, 6 * kSecond, 4 * kSecond)};
  if (from_the_begin) plan.when_down = WhenDown::wait;
  for (Member& member : plan.members) member.demand.flight = 20 * kMillisecond;
  return plan;
}

// Each command that the scripts need has a regime of its own.

constexpr std::size_t kCommands = redis::kScriptCommands.size();

const std::array<std::string, kCommands>& command_names() {
  static const auto kNames = [] {
    std::array<std::string, kCommands> names;
    for (std::size_t i = 0; i < kCommands; ++i) {
      const auto command = redis::kScriptCommands[i];
      names[i] = "denied-any-" + std::string(command.substr(0, command.find('|')));
    }
    return names;
  }();
  return kNames;
}

template <std::size_t Command>
Plan denying_one(Random& random) {
  const LimitConfig limits[] = {pacer(200, 20),          window(200, 1s),
                                sliding_window(200, 2s), token_bucket(50, 10, 500ms),
                                counter(300, 3s),        semaphore(10, 5s)};
  constexpr auto kCommand = redis::kScriptCommands[Command];
  return denying(random, {random.any(limits)}, std::string(kCommand.substr(0, kCommand.find('|'))));
}

template <std::size_t... Commands>
std::vector<Regime> denials_of(std::index_sequence<Commands...>) {
  return {{command_names()[Commands], "a user that may not call this command of scripts", denying_one<Commands>}...};
}

Fault going_back(Time at, Time lasts, Time back) {
  Fault fault = fault_of_redis(redis_goes_back, at, lasts);
  fault.back = back;
  return fault;
}

/// The upstream asks for a pause of 4 s, and Redis forgets it.
Plan forgotten_pause(Random& random) {
  Plan plan = busy_fleet(random, {pacer(200, 20)});
  const auto told = static_cast<int>(random.below(3));
  const bool flushed = random.happens(0.5);
  plan.faults = {fault_of_one(paused, told, 5 * kSecond, 4 * kSecond),
                 flushed ? fault_of_redis(redis_flushed, 6 * kSecond)
                         : fault_of_redis(redis_loses_memory, 6 * kSecond, 300 * kMillisecond)};
  return plan;
}

/// One process uses 4,000 of 10,000; for more than a day no other request comes; then that process asks once, and the
/// other for half of all. That fits, so no request may be refused for its wait.
Plan month_with_idle_day(Random& random) {
  constexpr Time kIdle = 25 * kHour;
  Plan plan = busy_fleet(random, {window(10'000, 30 * 24h)}, 2, kIdle + kMinute);
  plan.members[0].demand = steady(1e6 / static_cast<double>(kIdle)).demand;
  plan.members[0].demand.even = true;  // one request at the begin, and one after the idle time
  plan.members[0].demand.spike = 4'000;
  plan.members[0].demand.spike_at = kSecond;
  plan.members[1].demand = steady(200).demand;
  plan.members[1].demand.from = kIdle + 10 * kSecond;
  plan.members[1].demand.until = kIdle + 35 * kSecond;
  for (Member& member : plan.members) {
    member.demand.flight = 20 * kMillisecond;
    member.settings.max_wait = 30 * kSecond;
  }
  return plan;
}

Plan erased_key(Random& random) {
  constexpr const char* kKeys[] = {":head", ":alive", ":limits", ":window"};
  Plan plan = busy_fleet(random, {window(200, 2s)});
  Fault fault = fault_of_redis(key_erased, any_moment(random, plan));
  fault.key = random.any(kKeys);
  plan.faults = {fault};
  return plan;
}

Plan lost_memory(Random& random, Fault::Kind kind, Time lasts) {
  const LimitConfig limits[] = {window(600, 5s), sliding_window(200, 2s), token_bucket(50, 10, 500ms), pacer(100, 50),
                                counter(300, 3s)};
  Plan plan = busy_fleet(random, {random.any(limits)}, 3, 30 * kSecond);
  plan.faults = {fault_of_redis(kind, any_moment(random, plan), lasts)};
  return plan;
}

std::vector<Regime> denials() {
  return {
      {"denied-time", "a user that may not call TIME", [](Random& r) { return denying(r, {pacer(200, 20)}, "time"); }},
      {"denied-channels", "a user that may use no channels",
       [](Random& r) { return denying(r, {semaphore(10, 5s)}, "channels"); }},
      {"denied-evalsha", "EVALSHA has another name",
       [](Random& r) { return denying(r, {window(200, 1s)}, "evalsha"); }},
      {"denied-publish", "a user that may not PUBLISH: no departure is lost by it",
       [](Random& r) {
         return denying(r, {pacer(200, 20), semaphore(10, 5s)}, "publish");
       }},
      {"out-of-memory", "Redis refuses to write for 3 s",
       [](Random& r) { return lost_memory(r, out_of_memory, 3 * kSecond); }},
      {"read-only", "Redis has become a replica for 3 s",
       [](Random& r) { return lost_memory(r, read_only, 3 * kSecond); }},
  };
}

std::vector<Regime> losses() {
  return {
      {"old-snapshot", "Redis comes back as it was seconds ago, under a window of 600 in 5 s",
       [](Random& r) {
         Plan plan = busy_fleet(r, {window(600, 5s)}, 3, 40 * kSecond);
         const Time back = r.between(1, 8) * kSecond, away = r.between(100, 2'000) * kMillisecond;
         plan.faults = {going_back(any_moment(r, plan), away, back)};
         return plan;
       }},
      {"lost-tail", "a replica is promoted that lacks the last milliseconds",
       [](Random& r) {
         Plan plan = busy_fleet(r, {window(200, 1s)});
         const Time back = r.between(20, 500) * kMillisecond;
         plan.faults = {going_back(any_moment(r, plan), 100 * kMillisecond, back)};
         return plan;
       }},
      {"forgotten-pause", "Redis forgets a pause that the upstream asked for", forgotten_pause},
      {"flushed", "FLUSHALL, under any kind that counts", [](Random& r) { return lost_memory(r, redis_flushed, 0); }},
      {"empty-restart", "Redis comes back empty, under any kind that counts",
       [](Random& r) { return lost_memory(r, redis_loses_memory, r.between(20, 3'000) * kMillisecond); }},
      {"scripts-flushed", "SCRIPT FLUSH each second",
       [](Random& r) {
         Plan plan = busy_fleet(r, {pacer(300, 20)});
         repeat(plan, fault_of_redis(scripts_flushed, 2 * kSecond), kSecond);
         return plan;
       }},
      {"erased-key", "one key is deleted", erased_key},
      {"idle-day", "window of 10,000 in 30 days: 25 idle hours double nothing", month_with_idle_day},
  };
}

}  // namespace

std::vector<Regime> memory_regimes() {
  auto all = denials();
  for (const Regime& regime : denials_of(std::make_index_sequence<kCommands>())) all.push_back(regime);
  for (const Regime& regime : losses()) all.push_back(regime);
  return all;
}

}  // namespace penstock::simulation
