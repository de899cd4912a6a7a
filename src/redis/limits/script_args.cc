// SPDX-License-Identifier: Apache-2.0
// Constant words are made once; only words that depend on a group or a call are formatted again.
#include "redis/limits/script_args.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>
#include <variant>

#include "redis/limits/limits_text.h"

namespace penstock::redis {

namespace {

using Numbers = std::array<std::string, 3>;

const std::string_view kSemaphore = limit_key(SemaphoreConfig{});
constexpr std::string_view kLeftOut = "-";

std::string_view spelt(ScriptArgs::Replay what) {
  switch (what) {
    case ScriptArgs::Replay::more_follows: return "0";
    case ScriptArgs::Replay::last: return "1";
    case ScriptArgs::Replay::more_follows_afterwards: return "+0";
    case ScriptArgs::Replay::afterwards: break;
  }
  return "+";
}

std::string spelt(Duration time) { return std::to_string(time.count()); }

Numbers numbers_of(const PacerConfig& pacer) {
  return {redis::spelt(pacer.qps), std::to_string(pacer.max_burst), redis::spelt(pacer.burst_allowance_factor)};
}
Numbers numbers_of(const WindowConfig& window) {
  return {std::to_string(window.reservoir), spelt(window.interval), window.spread ? "1" : "0"};
}
Numbers numbers_of(const SlidingWindowConfig& window) {
  return {std::to_string(window.max), spelt(window.interval), "0"};
}
Numbers numbers_of(const TokenBucketConfig& bucket) {
  return {std::to_string(bucket.capacity), std::to_string(bucket.refill_amount), spelt(bucket.refill_frequency)};
}
Numbers numbers_of(const SemaphoreConfig& semaphore) {
  return {std::to_string(semaphore.capacity), spelt(semaphore.lease), "0"};
}
Numbers numbers_of(const CounterConfig& counter) { return {std::to_string(counter.max), spelt(counter.period), "0"}; }
Numbers numbers_of(const AdaptiveConfig& adaptive) {
  return {redis::spelt(adaptive.min), redis::spelt(adaptive.max), "0"};
}

/// A limit's mode, in capitals if it counts the cost.
std::string spelt_mode(const LimitConfig& limit) {
  const bool refuses = limit.mode == LimitConfig::Mode::refuse;
  if (limit.unit.empty()) return refuses ? "r" : "d";
  return refuses ? "R" : "D";
}

/// The limit's part of its key; a group's hash follows the colon. No name has a comma.
std::string spelt(const LimitConfig& limit) {
  std::string name(limit_name(limit));
  if (!limit.unit.empty()) name += "," + limit.unit;
  const std::string_view colon = limit.per == LimitConfig::Per::group ? ":" : "";
  if (limit.route.empty()) return name + std::string(colon);
  return std::string(limit_key(limit.kind)) + route_key(limit.route + '\n' + name) + std::string(colon);
}

}  // namespace

ScriptArgs::ScriptArgs(std::string_view prefix, std::string_view upstream, std::string_view process_name,
                       const std::vector<LimitConfig>& limits)
    : upstream_(upstream),
      process_name_(process_name),
      channel_(std::string(prefix) + ":to:"),
      begin_(std::string(prefix) + ":{" + upstream_ + "}:"),
      head_(begin_ + "head"),
      alive_(begin_ + "alive"),
      pause_(begin_ + "pause"),
      line_(begin_ + "line:"),
      waiting_(alive_ + ":waiting") {
  set_limits(limits);
}

void ScriptArgs::set_limits(const std::vector<LimitConfig>& limits) {
  limits_.clear();
  places_.clear();
  routes_.set_limits(limits);
  holds_all_ = counts_cost_ = false;
  hash_ = hash_of(limits);
  limits_report_ = make_limits_report(limits);
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const LimitConfig& limit = limits[i];
    if (!limit.shared) continue;
    const bool of_group = limit.per == LimitConfig::Per::group;
    places_.push_back(static_cast<flow::LimitIndex>(i));
    const bool narrow = flow::scope_of(limit) != flow::Booking::Scope::upstream;
    counts_cost_ |= !limit.unit.empty();
    const bool counts_ahead = !narrow && !std::holds_alternative<SemaphoreConfig>(limit.kind);
    holds_all_ |= counts_ahead;
    auto [a, b, c] = std::visit([](const auto& kind) { return numbers_of(kind); }, limit.kind);
    limits_.push_back(
        {.place = static_cast<flow::LimitIndex>(i),
         .of_group = of_group,
         .counts_ahead = counts_ahead,
         .route = limit.route,
         .key = begin_ + spelt(limit),
         .arguments = {std::string(limit_key(limit.kind)), narrow ? "n" : "u", spelt_mode(limit), a, b, c}});
  }
}

/// Of a pause and a line there is usually no key, so Redis refuses this call while the slot moves. If the keys were not
/// named, the script would begin, and fail at its first look for one that is absent.
void ScriptArgs::book(ScriptCall& call, const Asked& asked) const {
  for (const auto key : {std::string_view(head_), std::string_view(alive_), std::string_view(pause_)})
    call.keys.add(key);
  const flow::LaneKey lane(asked.group, asked.route);
  const LaneLines lines = routes_.lines_of(lane);
  const std::string_view line = lines.line;
  if (!line.empty()) {
    call.keys.join({pause_, ":", asked.group.empty() ? line : asked.group});  // without a group there is never a pause
    add_line(call.keys, line);
  }
  Words& words = call.arguments;
  words.add(process_name_);
  words.add(asked.generation);
  words.add(asked.fresh_generation);
  words.number(asked.alive);
  const std::string_view leaves_out = !asked.left ? "2" : asked.lists ? "0+" : "0";
  const std::string_view touch = !asked.touch ? leaves_out : asked.left ? "1" : "3";
  asked.processes.empty() ? words.add(touch) : words.join({touch, " ", asked.processes});
  words.keep(line);
  words.number(static_cast<std::int64_t>(asked.count));
  add_load(words, asked.load);
  words.number(asked.more);
  words.add(asked.touch ? limits_report_ : hash_);
  add_limits(call, lane, asked.without, asked.permits);
}

void ScriptArgs::give_back(ScriptCall& call, std::string_view generation, flow::LaneKey lane, std::int64_t at,
                           const flow::Load& load, std::span<const flow::LimitIndex> without) const {
  call.keys.add(head_);
  call.arguments.add(generation);
  call.arguments.add("1");
  call.arguments.number(at);
  add_load(call.arguments, load);
  add_limits(call, lane, without);
}

void ScriptArgs::report_late(ScriptCall& call, std::string_view generation, flow::LaneKey lane,
                             std::span<const Move> moves, std::span<const flow::LimitIndex> without) const {
  call.keys.add(head_);
  call.arguments.add(generation);
  call.arguments.number(static_cast<std::int64_t>(moves.size()));
  for (const Move& move : moves) {
    call.arguments.number(move.from);
    call.arguments.number(move.to);
    add_load(call.arguments, move.load);
  }
  add_limits(call, lane, without);
}

void ScriptArgs::settle(ScriptCall& call, std::string_view generation, flow::LaneKey lane,
                        const flow::Departure& departure, int cost, std::span<const flow::LimitIndex> without) const {
  std::vector<flow::LimitIndex> left_out(without.begin(), without.end());
  for (const Limit& limit : limits_) {
    if (!limit.by_cost()) left_out.push_back(limit.place);
  }
  const LineKey line = routes_.lines_of(lane).line;
  call.keys.add(head_);
  if (!std::string_view(line).empty()) add_line(call.keys, line);
  call.arguments.add(generation);
  call.arguments.number(departure.in_redis);
  call.arguments.number(departure.in_redis - departure.late_in_redis);
  call.arguments.numbers(departure.cost, cost);
  call.arguments.add(channel_);
  call.arguments.add(upstream_);
  call.arguments.keep(line);
  add_limits(call, lane, left_out);
}

void ScriptArgs::refused(ScriptCall& call, std::string_view generation, flow::LaneKey lane, std::int64_t departed,
                         std::span<const flow::LimitIndex> without) const {
  call.keys.add(head_);
  call.arguments.add(generation);
  call.arguments.number(departed);
  add_limits(call, lane, without);
}

void ScriptArgs::learned(ScriptCall& call, std::string_view generation, std::string_view group,
                         const Learned& learned) const {
  const Limit* limit = find(learned.limit);
  if (!limit) return;
  call.keys.add(head_);
  add_key(call.keys, *limit, group);
  call.arguments.add(generation);
  for (const auto number : {learned.departed, learned.count, learned.resets}) call.arguments.number(number);
  for (const auto& argument : limit->arguments) call.arguments.add(argument);
}

void ScriptArgs::cancel_wait(ScriptCall& call, std::string_view generation, std::string_view line) const {
  call.keys.add(head_);
  if (!line.empty()) add_line(call.keys, line);
  for (const auto word :
       {std::string_view(process_name_), generation, std::string_view(channel_), std::string_view(upstream_)}) {
    call.arguments.add(word);
  }
  call.arguments.keep(line);
}

void ScriptArgs::pause(ScriptCall& call, std::string_view group, std::int64_t for_so_long) const {
  call.keys.add(head_);
  if (group.empty()) {
    call.keys.add(pause_);
  } else {
    call.keys.join({pause_, ":", group});
  }
  call.arguments.number(for_so_long);
}

void ScriptArgs::shorten_pause(ScriptCall& call, std::string_view group, std::int64_t for_so_long) const {
  pause(call, group, for_so_long);
  call.arguments.add("shorten");
}

void ScriptArgs::reset(ScriptCall& call, std::string_view generation, flow::LaneKey lane,
                       flow::LimitIndex limit) const {
  const Limit* counter = find(limit);
  if (!counter) return;
  const bool narrow = counter->of_group || !counter->route.empty();
  const LineKey line = routes_.lines_of(lane).line;
  call.keys.add(head_);
  add_key(call.keys, *counter, lane.group);
  if (narrow) add_line(call.keys, line);
  for (const auto word :
       {std::string_view(process_name_), generation, std::string_view(counter->arguments[3]),
        std::string_view(counter->arguments[4]), std::string_view(channel_), std::string_view(upstream_)}) {
    call.arguments.add(word);
  }
  call.arguments.keep(narrow ? std::string_view(line) : std::string_view());
  if (counter->by_cost()) call.arguments.add("cost");
}

void ScriptArgs::permits(ScriptCall& call, std::string_view fresh_generation, int alive, std::string_view group,
                         flow::LimitIndex limit, std::string_view told) const {
  const Limit* semaphore = find(limit);
  if (!semaphore) return;
  call.keys.add(head_);
  add_key(call.keys, *semaphore, group);
  call.arguments.add(process_name_);
  call.arguments.add(fresh_generation);
  call.arguments.number(alive);
  call.arguments.add(semaphore->arguments[3]);
  call.arguments.add(semaphore->arguments[4]);
  call.arguments.keep(told);
}

std::optional<std::pair<flow::LimitIndex, std::string_view>> ScriptArgs::limit_of(std::string_view key) const {
  constexpr std::size_t kDigits = std::tuple_size_v<flow::GroupHash::Digits>;
  for (const Limit& limit : limits_) {
    const bool fits = key.size() == limit.key.size() + (limit.of_group ? kDigits : 0);
    if (fits && key.starts_with(limit.key)) return std::pair(limit.place, key.substr(limit.key.size()));
  }
  return std::nullopt;
}

void ScriptArgs::begin_replay(ScriptCall& call, std::string_view generation, Replay what,
                              const HandedIn& replayed) const {
  call.keys.add(head_);
  call.keys.add(alive_);
  call.arguments.add(process_name_);
  call.arguments.add(generation);
  call.arguments.add(spelt(what));
  call.arguments.keep(replayed.booked_in);
  call.arguments.keep(replayed.lately);
}

void ScriptArgs::add_state(ScriptCall& call, flow::LimitIndex limit, std::string_view group, std::string_view state,
                           std::string_view untold) const {
  const Limit* known = find(limit);
  if (!known) return;
  add_key(call.keys, *known, group);
  call.arguments.add(known->arguments[0]);
  for (std::size_t i = 3; i < 6; ++i) call.arguments.add(known->arguments[i]);
  call.arguments.keep(state);
  call.arguments.keep(untold);
}

void ScriptArgs::look(ScriptCall& call, std::span<const OfGroup> limits) const {
  call.keys.add(head_);
  for (const auto& [limit, group] : limits) {
    const Limit* known = find(limit);
    if (!known) continue;
    add_key(call.keys, *known, group);
    for (std::size_t i = 0; i < 5; ++i) call.arguments.add(known->arguments[i]);
    call.arguments.add(known->arguments[0] == kSemaphore ? kTellsNothing : std::string_view(known->arguments[5]));
  }
}

std::vector<flow::LimitIndex> ScriptArgs::places_ahead() const {
  std::vector<flow::LimitIndex> places;
  for (const Limit& limit : limits_) {
    if (limit.counts_ahead) places.push_back(limit.place);
  }
  return places;
}

void ScriptArgs::look_ahead(ScriptCall& call, LookAhead what) const {
  call.keys.add(head_);
  call.keys.add(waiting_);
  call.arguments.add(process_name_);
  call.arguments.add(what == LookAhead::tell ? "tell" : "read");
  for (const std::string& word : {std::cref(channel_), std::cref(upstream_), std::cref(hash_)})
    call.arguments.add(word);
  for (const Limit& limit : limits_) {
    if (!limit.counts_ahead) continue;
    add_key(call.keys, limit, {});
    for (const auto& argument : limit.arguments) call.arguments.add(argument);
  }
}

void ScriptArgs::report_waiting(ScriptCall& call, const flow::WaitingUnits& units, std::int64_t asks_at) const {
  call.keys.add(head_);
  call.keys.add(waiting_);
  call.arguments.add(process_name_);
  call.arguments.add("report");
  call.arguments.number(units.all);
  call.arguments.number(std::llround(units.per_second * 1'000));
  call.arguments.number(asks_at);
}

const ScriptArgs::Limit* ScriptArgs::find(flow::LimitIndex limit) const {
  const auto found = std::ranges::find(limits_, limit, &Limit::place);
  return found == limits_.end() ? nullptr : &*found;
}

void ScriptArgs::add_key(Words& keys, const Limit& limit, std::string_view group) const {
  if (limit.of_group) {
    keys.join({limit.key, group});
  } else {
    keys.add(limit.key);
  }
}

/// A semaphore of which nothing is told is left out: it has no departures to give back or to report late.
void ScriptArgs::add_limits(ScriptCall& call, flow::LaneKey lane, std::span<const flow::LimitIndex> without,
                            std::span<const std::string> permits) const {
  for (const Limit& limit : limits_) {
    if (!limit.governs(lane)) continue;
    add_key(call.keys, limit, lane.group);
    const bool is_semaphore = limit.arguments[0] == kSemaphore;
    const bool tells = is_semaphore && !permits.empty();
    const bool left_out = is_semaphore != tells || std::ranges::find(without, limit.place) != without.end();
    call.arguments.add(left_out ? kLeftOut : limit.arguments[0]);
    for (std::size_t i = 1; i < limit.arguments.size() - (tells ? 1 : 0); ++i) call.arguments.add(limit.arguments[i]);
    if (!tells) continue;
    call.arguments.keep(permits.front());
    permits = permits.subspan(1);
  }
}

}  // namespace penstock::redis
