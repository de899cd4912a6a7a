// SPDX-License-Identifier: Apache-2.0
// Puts words in order, and takes answers apart.
#include "lua/asker.h"

#include <cstdio>
#include <utility>

#include "flow/group_hash.h"

namespace penstock::lua {

namespace {

std::string text(auto number) { return std::to_string(number); }
std::string text(Duration duration) { return std::to_string(duration.count()); }
std::string text(double number) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17g", number);
  return digits;
}

/// A cost of 1 is not told: no limit counts it, or it is that.
std::string text(const flow::Load& load) { return text(load.weight) + (load.cost == 1 ? "" : " " + text(load.cost)); }

Texts numbers_of(const PacerConfig& pacer) {
  return {text(pacer.qps), text(pacer.max_burst), text(pacer.burst_allowance_factor)};
}
Texts numbers_of(const WindowConfig& window) {
  return {text(window.reservoir), text(window.interval), window.spread ? "1" : "0"};
}
Texts numbers_of(const SlidingWindowConfig& window) { return {text(window.max), text(window.interval), "0"}; }
Texts numbers_of(const TokenBucketConfig& bucket) {
  return {text(bucket.capacity), text(bucket.refill_amount), text(bucket.refill_frequency)};
}
Texts numbers_of(const SemaphoreConfig& semaphore) { return {text(semaphore.capacity), text(semaphore.lease), "0"}; }
Texts numbers_of(const CounterConfig& counter) { return {text(counter.max), text(counter.period), "0"}; }
Texts numbers_of(const AdaptiveConfig& adaptive) { return {text(adaptive.min), text(adaptive.max), "0"}; }

bool of_group(const LimitConfig& limit) { return limit.per == LimitConfig::Per::group; }

}  // namespace

Texts words_of(const LimitConfig::Kind& kind) {
  Texts words{std::string(limit_key(kind))};
  for (auto& number : std::visit([](const auto& config) { return numbers_of(config); }, kind)) words.push_back(number);
  return words;
}

Asker::Asker(Scripts& scripts, std::string upstream, std::string who, std::vector<LimitConfig> limits, double start)
    : scripts_(scripts),
      upstream_(std::move(upstream)),
      who_(std::move(who)),
      limits_(std::move(limits)),
      start_(static_cast<std::int64_t>(start)) {}

std::string Asker::key(std::string_view name, std::string_view group) const {
  std::string key = "penstock:{" + upstream_ + "}:" + std::string(name);
  return group.empty() ? key : key + ":" + std::string(group);
}

std::string Asker::key_of(std::size_t limit, std::string_view group) const {
  return key(limits_[limit].name, of_group(limits_[limit]) ? group : std::string_view());
}

/// Whatever differs in the limits makes another.
std::string Asker::hash() const {
  std::string text;
  for (const LimitConfig& limit : limits_) {
    for (const auto& word : words_of(limit.kind)) text += word + " ";
  }
  const auto digits = flow::GroupHash::digits_of(base::sip_hash({}, text));
  return {digits.data(), 8};
}

Texts Asker::keys_of_limits(std::string_view group) const {
  Texts keys;
  for (std::size_t i = 0; i < limits_.size(); ++i) keys.push_back(key_of(i, group));
  return keys;
}

void Asker::add_limit(Texts& arguments, const LimitConfig& limit) {
  const Texts words = words_of(limit.kind);
  const bool refuses = limit.mode == LimitConfig::Mode::refuse;
  const char* mode = limit.unit.empty() ? refuses ? "r" : "d" : refuses ? "R" : "D";
  arguments.insert(arguments.end(), {words[0], of_group(limit) ? "n" : "u", mode});
  arguments.insert(arguments.end(), words.begin() + 1, words.end());
}

void Asker::add_limits(Texts& arguments) const {
  for (const LimitConfig& limit : limits_) add_limit(arguments, limit);
}

Answer Asker::ask(Time now, const flow::Ask& ask, bool touch) {
  Texts keys{key("head"), key("alive"), key("pause")};
  if (!ask.group.empty()) keys.insert(keys.end(), {key("pause", ask.group), key("line", ask.group)});
  for (auto& limit : keys_of_limits(ask.group)) keys.push_back(limit);
  Texts arguments{who_,
                  generation_,
                  "by-" + who_ + "-at-" + text(now) + std::exchange(returns_, {}),
                  text(alive_),
                  touch ? all_processes_.empty() ? "1" : "1 " + all_processes_ : "0",
                  std::string(ask.group),
                  text(ask.count),
                  text(ask.load()),
                  text(ask.more),
                  touch ? hash() + " " + who_ + " " + hash() : hash()};
  add_limits(arguments);
  const auto reply = scripts_.call(Script::book, instant(now), keys, std::move(arguments));
  if (reply.items.size() < 12 || reply.items.size() > 15) return {.status = reply.text};
  const auto& items = reply.items;
  const auto when = [&](const test::RedisReply& item) { return item.integer == 0 ? 0 : here(item.integer); };
  Answer answer{.status = items[1].text,
                .now = here(items[2].integer),
                .alive = static_cast<int>(items[3].integer),
                .granted_all = items[4].text.empty(),
                .standing = {},
                .left = {},
                .others_limits = items.size() > 13 ? items[13].text : std::string(),
                .processes = items.size() > 14 ? items[14].integer : 0};
  if (answer.status == "stale") former_ = generation_;
  generation_ = items[0].text;
  alive_ = answer.alive > 0 ? answer.alive : std::max(alive_, -answer.alive);
  for (const auto& number : items[11].items) answer.standing.push_back(number.integer);
  for (std::size_t i = 0; items.size() > 12 && i + 1 < items[12].items.size(); i += 2) {
    const Time until = when(items[12].items[i]);
    answer.left.push_back({.until = static_cast<flow::Instant>(until), .units = items[12].items[i + 1].integer});
  }
  auto& booking = answer.booking;
  using Stop = flow::Booking::Stop;
  booking.stop = items[4].text == "permit" ? Stop::permit : items[4].text == "refused" ? Stop::refused : Stop::turn;
  booking.scope = items[5].text == "n" ? flow::Booking::Scope::group : flow::Booking::Scope::upstream;
  booking.limited_by = static_cast<flow::LimitIndex>(items[6].integer);
  booking.ask_again = when(items[7]), booking.not_before = when(items[8]);
  for (std::size_t i = 0; i + 1 < items[10].items.size(); i += 2) {
    booking.departures.push_back({.at = here(items[10].items[i].integer),
                                  .weight = ask.weight,
                                  .limited_by = static_cast<flow::LimitIndex>(items[10].items[i + 1].integer),
                                  .cost = ask.cost});
  }
  return answer;
}

test::RedisReply Asker::undo(Time now, std::string_view group, const flow::Departure& departure) {
  Texts keys{key("head")};
  for (auto& limit : keys_of_limits(group)) keys.push_back(limit);
  Texts arguments{generation_, "1", text(instant(departure.at)), text(departure.load())};
  add_limits(arguments);
  return scripts_.call(Script::give_back, instant(now), keys, std::move(arguments));
}

test::RedisReply Asker::report_late(Time now, std::string_view group, const std::vector<flow::Departure>& departures,
                                    Time at) {
  Texts keys{key("head")};
  for (auto& limit : keys_of_limits(group)) keys.push_back(limit);
  Texts arguments{generation_, text(departures.size())};
  for (const auto& departure : departures) {
    arguments.insert(arguments.end(), {text(instant(departure.at)), text(instant(at)), text(departure.load())});
  }
  add_limits(arguments);
  return scripts_.call(Script::report_late, instant(now), keys, std::move(arguments));
}

test::RedisReply Asker::refused(Time now, std::string_view group, const flow::Departure& departure) {
  Texts keys{key("head")};
  for (auto& limit : keys_of_limits(group)) keys.push_back(limit);
  Texts arguments{generation_, text(instant(departure.at))};
  add_limits(arguments);
  return scripts_.call(Script::refused, instant(now), keys, std::move(arguments));
}

test::RedisReply Asker::learned(Time now, std::string_view group, const flow::Departure& departure,
                                const flow::Report& report) {
  const auto limit = static_cast<std::size_t>(report.limit);
  Texts arguments{generation_, text(instant(departure.at)), text(report.count), text(instant(report.resets))};
  add_limit(arguments, limits_[limit]);
  return scripts_.call(Script::learned, instant(now), {key("head"), key_of(limit, group)}, std::move(arguments));
}

test::RedisReply Asker::settle(Time now, std::string_view group, const flow::Departure& departure, int cost) {
  Texts keys{key("head")};
  if (!group.empty()) keys.push_back(key("line", group));
  for (auto& limit : keys_of_limits(group)) keys.push_back(limit);
  Texts arguments{generation_,
                  text(instant(departure.at)),
                  text(instant(departure.at - departure.late)),
                  text(departure.cost) + " " + text(cost),
                  "penstock:to:",
                  upstream_,
                  std::string(group)};
  for (const LimitConfig& limit : limits_) {
    const std::size_t its = arguments.size();
    add_limit(arguments, limit);
    if (limit.unit.empty()) arguments[its] = "-";
  }
  return scripts_.call(Script::settle, instant(now), keys, std::move(arguments));
}

test::RedisReply Asker::cancel_wait(Time now, std::string_view group, bool of_group) {
  Texts keys{key("head")};
  if (of_group) keys.push_back(key("line", group));
  return scripts_.call(Script::cancel_wait, instant(now), keys,
                       {who_, generation_, "penstock:to:", upstream_, of_group ? std::string(group) : std::string()});
}

test::RedisReply Asker::look_ahead(Time now, std::string_view what) {
  Texts keys{key("head"), key("alive", "waiting")};
  for (auto& of_limit : keys_of_limits({})) keys.push_back(std::move(of_limit));
  Texts arguments{who_, std::string(what), "penstock:to:", upstream_, hash()};
  add_limits(arguments);
  return scripts_.call(Script::ahead, instant(now), keys, std::move(arguments));
}

test::RedisReply Asker::report_waiting(Time now, std::int64_t units, std::int64_t comes, Time asks_at) {
  return scripts_.call(Script::ahead, instant(now), {key("head"), key("alive", "waiting")},
                       {who_, "report", text(units), text(comes), text(instant(asks_at))});
}

test::RedisReply Asker::pause(Time now, std::string_view group, Time length) {
  return scripts_.call(Script::pause, instant(now), {key("head"), key("pause", group)}, {text(length)});
}

test::RedisReply Asker::shorten_pause(Time now, std::string_view group, Time length) {
  return scripts_.call(Script::pause, instant(now), {key("head"), key("pause", group)}, {text(length), "shorten"});
}

test::RedisReply Asker::reset(Time now, std::size_t limit, std::string_view group) {
  Texts keys{key("head"), key_of(limit, group)};
  const bool grouped = of_group(limits_[limit]);
  if (grouped) keys.push_back(key("line", group));
  const Texts words = words_of(limits_[limit].kind);
  Texts arguments{
      who_, generation_, words[1], words[2], "penstock:to:", upstream_, grouped ? std::string(group) : std::string()};
  if (!limits_[limit].unit.empty()) arguments.push_back("cost");
  return scripts_.call(Script::reset, instant(now), keys, std::move(arguments));
}

test::RedisReply Asker::replay(Time now, std::string_view group, const Texts& states, std::string_view last) {
  Texts keys{key("head"), key("alive")};
  Texts arguments{who_, generation_, std::string(last), former_, ""};
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    keys.push_back(key_of(i, group));
    for (auto& word : words_of(limits_[i].kind)) arguments.push_back(word);
    arguments.push_back(states[i]);
    arguments.push_back("");
  }
  return scripts_.call(Script::replay, instant(now), keys, std::move(arguments));
}

}  // namespace penstock::lua
