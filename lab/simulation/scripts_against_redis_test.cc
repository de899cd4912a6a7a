// SPDX-License-Identifier: Apache-2.0
// The production scripts, with the arguments that a process sends, on a real redis-server and on the simulated one: the
// same answers, and the same keys with the same times to live, after thousands of random calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "redis/client/scripts.h"
#include "redis/limits/script_args.h"
#include "simulation/redis_pair.h"

namespace penstock::simulation {
namespace {

constexpr std::int64_t kOf2025 = 1'735'689'600'000'000;  // the begin of 2025, where the scripts' clock begins

using redis::ScriptArgs;
using redis::ScriptCall;

using redis::Script;
using enum redis::Script;

LimitConfig of_route(LimitConfig limit) {
  limit.name += "-of-route", limit.route = "GET /search X-Tier";
  return limit;
}

LimitConfig limit(LimitConfig::Kind kind, bool of_group = false, bool refuses = false) {
  LimitConfig config{.kind = kind, .name = std::string(limit_key(kind)) + (of_group ? "-of-group" : "")};
  if (of_group) config.per = LimitConfig::Per::group;
  if (refuses) config.mode = LimitConfig::Mode::refuse;
  return config;
}

std::vector<std::vector<LimitConfig>> limits_to_try() {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  const LimitConfig paced = limit(PacerConfig{.qps = 50, .max_burst = 3, .burst_allowance_factor = 0.5});
  const LimitConfig windowed = limit(WindowConfig{.reservoir = 20, .interval = seconds(1)});
  const LimitConfig sliding = limit(SlidingWindowConfig{.max = 30, .interval = milliseconds(700)});
  const LimitConfig bucket =
      limit(TokenBucketConfig{.capacity = 10, .refill_amount = 2, .refill_frequency = milliseconds(100)});
  const LimitConfig counter = limit(CounterConfig{.max = 15, .period = milliseconds(900)});
  const LimitConfig semaphore = limit(SemaphoreConfig{.capacity = 4, .lease = seconds(6)});
  return {{paced},
          {windowed, limit(PacerConfig{.qps = 5}, true)},
          {sliding},
          {bucket, sliding, limit(SlidingWindowConfig{.max = 5, .interval = seconds(3)}, true)},
          {counter, semaphore},
          {paced, windowed, sliding, bucket, counter, semaphore,
           limit(SemaphoreConfig{.capacity = 2, .lease = seconds(2)}, true),
           limit(CounterConfig{.max = 4, .period = seconds(1)}, true)},
          {limit(PacerConfig{.qps = 20}, false, true),
           limit(WindowConfig{.reservoir = 5, .interval = seconds(2), .spread = true}, true)},
          {of_route(paced), of_route(counter)},
          {bucket, semaphore, of_route(sliding), of_route(limit(SemaphoreConfig{.capacity = 2, .lease = seconds(3)}))},
          {paced, limit(PacerConfig{.qps = 5}, true), of_route(counter), of_route(windowed),
           of_route(limit(CounterConfig{.max = 4, .period = seconds(1)}, true))}};
}

/// The limits of a process that has read another configuration.
std::vector<LimitConfig> with_faster_pacers(std::vector<LimitConfig> limits) {
  for (auto& config : limits) {
    if (auto* pacer = std::get_if<PacerConfig>(&config.kind)) pacer->qps *= 3, pacer->max_burst += 5;
  }
  return limits;
}

/// A process without lanes and without sense: it asks, gives back, replays and returns at random.
struct Process {
  explicit Process(std::string name, const std::vector<LimitConfig>& limits)
      : who(std::move(name)), script_args("penstock", "api", who, limits) {}
  std::string who;
  ScriptArgs script_args;
  std::string generation;
  std::vector<std::int64_t> departures;
  int asks = 0;
};

class Fleet {
 public:
  Fleet(RedisPair& pair, const std::vector<LimitConfig>& limits, unsigned seed)
      : pair_(pair), limits_(limits), random_(seed) {
    for (const char* name : {"one", "two", "three"}) processes_.emplace_back(name, limits);
    if (seed % 2 == 0) processes_.back().script_args.set_limits(with_faster_pacers(limits));
    load();
    const auto ear = pair_.connect();
    pair_.run({"SUBSCRIBE", "penstock:to:one"}, ear);
    ear_ = ear;
  }

  void step() {
    Process& process = processes_[below(processes_.size())];
    ScriptCall call;
    const auto which = choose();
    kept_.clear();
    if (!spell(which, process, call)) return;
    const std::string answer = send(which, call);
    if (which == book) learn(process, answer);
    pair_.heard(ear_);
  }
  std::size_t below(std::size_t most) { return random_() % most; }
  void load() {
    for (std::size_t i = 0; i < std::size(redis::kScripts); ++i) {
      digests_[i] = pair_.run({"SCRIPT", "LOAD", std::string(redis::kScripts[i])}).substr(5, 40);
    }
  }

 private:
  Script choose() {
    const auto chance = below(20);
    if (chance < 11) return book;
    constexpr Script kOthers[] = {give_back, report_late, cancel_wait, pause, reset, replay, permits, settle, reset};
    return kOthers[chance - 11];
  }

  flow::Load some_load() {
    const auto weight = static_cast<int>(1 + below(3));  // by names: compilers differ in the order of arguments
    return flow::Load(weight, static_cast<int>(1 + below(3)));
  }
  std::string group() { return below(3) == 0 ? "" : "g" + std::to_string(below(2)); }
  /// Of a call that has only views; the group's name stands for its hash.
  flow::LaneKey lane() {
    constexpr std::string_view kRoutes[] = {"", "GET /search X-Tier", "a route without limits"};
    return flow::LaneKey(keep(group()), kRoutes[below(std::size(kRoutes))]);
  }
  /// Keeps the word for a call that has only views of its words.
  const std::string& keep(std::string word) { return kept_.emplace_back(std::move(word)); }
  const std::string& generation(const Process& process) {
    return keep(below(25) == 0 ? "another" : process.generation);
  }
  std::string told() {
    const auto number = [&] { return std::to_string(below(3)); };
    const std::string away = below(4) == 0 ? "40000000" : "0";
    return number() + ":" + number() + ":" + number() + ":" + number() + ":40000:" + number() + ":" + away;
  }
  flow::LimitIndex some_limit() { return static_cast<flow::LimitIndex>(below(limits_.size())); }
  std::int64_t script_now() const { return pair_.now() - kOf2025; }

  bool spell(Script which, Process& process, ScriptCall& call);
  void spell_book(Process& process, ScriptCall& call);
  void spell_hand_in(const Process& process, ScriptCall& call);
  std::string state_of(const LimitConfig& limit);

  std::string send(Script which, const ScriptCall& call) {
    std::vector<std::string> words{"EVALSHA", digests_[std::to_underlying(which)], std::to_string(call.keys.size())};
    for (const auto key : call.keys.all()) words.emplace_back(key);
    for (const auto argument : call.arguments.all()) words.emplace_back(argument);
    return pair_.run(words);
  }

  /// The generation is the first text of a book script's answer, and the numbers after its last array are departures.
  void learn(Process& process, const std::string& answer) {
    if (!answer.starts_with("*11\r\n$")) return;
    const auto line = answer.find("\r\n", 5) + 2;
    process.generation = answer.substr(line, answer.find("\r\n", line) - line);
    process.departures.clear();
    const auto last = answer.rfind('*');
    for (auto at = answer.find(':', last); at != std::string::npos; at = answer.find(':', at + 1)) {
      const auto number = std::atoll(answer.c_str() + at + 1);
      if (number > 1'000) process.departures.push_back(number);
    }
  }

  RedisPair& pair_;
  const std::vector<LimitConfig> limits_;
  std::mt19937 random_;
  std::vector<Process> processes_;
  std::array<std::string, std::size(redis::kScripts)> digests_;
  std::deque<std::string> kept_;
  std::size_t ear_ = 0;
};

void Fleet::spell_book(Process& process, ScriptCall& call) {
  std::string server = below(3) == 0 ? "" : "@server-" + std::to_string(below(40) == 0);
  if (below(10) == 0) server += (server.empty() ? "@@" : "@") + std::to_string(script_now() - 100'000);
  const std::string& fresh = keep(process.who + std::to_string(++process.asks) + server);
  const flow::LaneKey from = lane();
  std::vector<std::string> permits;
  for (const auto& config : limits_) {
    const bool counts = config.per != LimitConfig::Per::group || !from.group.empty();
    if (counts && governs(config, from.route) && std::holds_alternative<SemaphoreConfig>(config.kind))
      permits.push_back(told());
  }
  process.script_args.book(call, {.generation = generation(process),
                                  .fresh_generation = fresh,
                                  .alive = static_cast<int>(below(4)),
                                  .touch = below(3) == 0,
                                  .group = from.group,
                                  .route = from.route,
                                  .count = below(8),
                                  .load = below(10) == 0 ? flow::Load(0) : some_load(),
                                  .permits = permits});
}

std::string Fleet::state_of(const LimitConfig& config) {
  const auto then = std::to_string(script_now() - static_cast<std::int64_t>(below(2'000'000)));
  switch (below(5)) {
    case 0: return "";
    case 1: return "nonsense";
    default: break;
  }
  if (std::holds_alternative<PacerConfig>(config.kind)) return "2p " + then + ".2500 1 0.5 100";
  if (std::holds_alternative<SlidingWindowConfig>(config.kind)) return "1s " + then + " " + then;
  if (std::holds_alternative<TokenBucketConfig>(config.kind)) return "1b " + then + ".0000 3";
  if (std::holds_alternative<CounterConfig>(config.kind)) return "1c " + then + ".0000 2 " + then + ".0000 1 - 0";
  return "";
}

void Fleet::spell_hand_in(const Process& process, ScriptCall& call) {
  process.script_args.begin_replay(call, generation(process), static_cast<ScriptArgs::Replay>(below(3)),
                                   {.booked_in = generation(process), .lately = below(2) == 0 ? "" : "1"});
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    if (std::holds_alternative<SemaphoreConfig>(limits_[i].kind)) continue;
    process.script_args.add_state(call, static_cast<flow::LimitIndex>(i), "g0", state_of(limits_[i]));
  }
}

/// Makes the script args. False: there is nothing to call.
bool Fleet::spell(Script which, Process& process, ScriptCall& call) {
  const std::string& known = generation(process);
  const flow::LaneKey from = lane();
  const auto at = process.departures.empty() ? script_now() : process.departures.back();
  switch (which) {
    case book: spell_book(process, call); return true;
    case give_back: process.script_args.give_back(call, known, from, at, some_load()); return true;
    case settle:
      process.script_args.settle(call, known, from, {.in_redis = at, .cost = static_cast<int>(below(9))},
                                 static_cast<int>(below(9)));
      return true;
    case report_late: {
      const ScriptArgs::Move moves[] = {{at, at + static_cast<std::int64_t>(below(900'000)), some_load()},
                                        {at, at + 5, 2}};
      process.script_args.report_late(call, known, from, std::span(moves).first(1 + below(2)));
      return true;
    }
    case cancel_wait: {
      const bool narrow = below(2) == 0;
      const std::string& line = keep(std::string(process.script_args.routes().lines_of(from).line));
      process.script_args.cancel_wait(call, known, narrow ? std::string_view(line) : std::string_view());
      return true;
    }
    case pause: process.script_args.pause(call, from.group, static_cast<std::int64_t>(below(300'000))); return true;
    case replay: spell_hand_in(process, call); return true;
    default: break;
  }
  const auto limit = some_limit();
  const auto& config = limits_[static_cast<std::size_t>(limit)];
  const auto its_group = config.per == LimitConfig::Per::group ? (from.group.empty() ? "g1" : from.group) : "";
  if (which == reset && std::holds_alternative<CounterConfig>(config.kind)) {
    process.script_args.reset(call, known, flow::LaneKey(its_group, config.route), limit);
    return true;
  }
  if (which == permits && std::holds_alternative<SemaphoreConfig>(config.kind)) {
    process.script_args.permits(call, known, static_cast<int>(below(3)), its_group, limit, told());
    return true;
  }
  return false;
}

/// A random fault of a Redis.
void trouble(RedisPair& pair, Fleet& fleet) {
  const auto meanwhile = [&] {
    for (int i = 0; i < 5; ++i) fleet.step();
  };
  switch (fleet.below(12)) {
    case 0: return pair.pass(static_cast<std::int64_t>(fleet.below(30'000'000)));
    case 1: return pair.pass(-static_cast<std::int64_t>(fleet.below(3'000'000)));
    case 2: pair.run({"FLUSHALL"}); return;
    case 3: pair.run({"SCRIPT", "FLUSH"}), fleet.step(); return fleet.load();
    case 4: pair.run({"RPUSH", "penstock:{api}:pacer", "foreign"}); return;
    case 5: pair.run({"SET", "penstock:{api}:slidingWindow", "foreign"}); return;
    case 6: pair.run({"SET", "penstock:{api}:alive", "foreign"}); return;
    case 7: pair.run({"DEL", "penstock:{api}:pacer", "penstock:{api}:slidingWindow", "penstock:{api}:alive"}); return;
    case 8: pair.run({"DEL", "penstock:{api}:head"}); return;
    case 9: pair.short_of_memory(true), meanwhile(); return pair.short_of_memory(false);
    case 10: pair.as_replica(true), meanwhile(); return pair.as_replica(false);
    default: pair.pass(static_cast<std::int64_t>(fleet.below(3'000'000)));
  }
}

class ScriptsAlike : public testing::TestWithParam<std::size_t> {};

TEST_P(ScriptsAlike, answer_and_write_the_same) {
  const auto regimes = limits_to_try();
  RedisPair pair;
  Fleet fleet(pair, regimes[GetParam() % regimes.size()], static_cast<unsigned>(100 + GetParam()));
  for (int i = 0; i < 500 && !HasFailure(); ++i) {
    fleet.step();
    pair.pass(static_cast<std::int64_t>(fleet.below(40'000)));
    if (fleet.below(15) == 0) trouble(pair, fleet);
    if (i % 40 == 39) pair.compare_keys();
  }
  EXPECT_GT(pair.model().calls(), 350U) << "of 400 or so: some calls are about a limit that there is not";
  pair.compare_keys();
}
INSTANTIATE_TEST_SUITE_P(Limits, ScriptsAlike, testing::Range<std::size_t>(0, 2 * limits_to_try().size()));

}  // namespace
}  // namespace penstock::simulation
