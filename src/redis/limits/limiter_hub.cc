// SPDX-License-Identifier: Apache-2.0
// Passes events of Redis on to the limiters, and makes the calls that belong to no upstream.
#include "redis/limits/limiter_hub.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <tuple>
#include <utility>

#include "redis/client/scripts.h"
#include "redis/limits/divide_limits.h"
#include "redis/limits/pausing_limiter.h"
#include "redis/limits/shared_limiter.h"

namespace penstock::redis {

namespace {

constexpr std::int64_t kTick = 1'000'000;
constexpr std::int64_t kBetweenReturns = 500;
constexpr std::int64_t kMostProcesses = 1'000'000;  // a Redis that says more is wrong

/// In the order of enum Script.
constexpr std::array<std::string_view, 10> kScripts{kBookScript,  kGiveBackScript, kReportLateScript, kCancelWaitScript,
                                                    kPauseScript, kResetScript,    kReplayScript,     kPermitsScript,
                                                    kBornScript,  kPresentScript};

std::string new_name(Network& network) {
  const auto digits = flow::GroupHash::digits_of(network.draw());
  return {digits.data(), digits.size()};
}

std::string text_of(const base::SipKey& key) {
  std::string text;
  for (const std::uint64_t half : {key.first, key.second}) {
    const auto digits = flow::GroupHash::digits_of(half);
    text.append(digits.data(), digits.size());
  }
  return text;
}

std::optional<base::SipKey> label_key_in(std::string_view text) {
  constexpr std::size_t kHalf = std::tuple_size_v<flow::GroupHash::Digits>;
  base::SipKey key;
  const auto read = [&](std::size_t at, std::uint64_t& into) {
    const char* const end = text.data() + at + kHalf;
    return std::from_chars(text.data() + at, end, into, 16).ptr == end;
  };
  const bool whole = text.size() == 2 * kHalf && read(0, key.first) && read(kHalf, key.second);
  return whole ? std::optional(key) : std::nullopt;
}

}  // namespace

LimiterHub::LimiterHub(loop::Loop& loop, loop::Resolver& resolver, const RedisConfig& config, HubWatch watch,
                       NoticeSink notices, Network& network)
    : loop_(loop),
      config_(config),
      watch_(std::move(watch)),
      notices_(std::move(notices)),
      who_(new_name(network)),
      processes_(config.prefix + ":processes"),
      up_since_(loop.now() - kTick),
      said_present_(loop.now() - kTick),
      standing_(loop, [this] { count_standing(); }),
      ticker_(loop, [this] { tick(); }),
      redis_(std::make_unique<Redis>(loop, resolver, network, config, kScripts, who_, static_cast<RedisEvents&>(*this),
                                     notices_)) {
  ticker_.start(loop.now() + kTick);
}

LimiterHub::~LimiterHub() = default;

std::unique_ptr<flow::Limiter> LimiterHub::make_limiter(const std::string& name, const std::vector<LimitConfig>& limits,
                                                        flow::LimiterEvents& events) {
  auto limiter = std::make_unique<SharedLimiter>(*this, name, limits, events);
  limiters_[name] = limiter.get();
  say_divided();
  standing_changed();
  return limiter;
}

std::unique_ptr<flow::Limiter> LimiterHub::make_pausing_limiter(const std::string& name,
                                                                const std::vector<LimitConfig>& limits) {
  auto limiter = std::make_unique<PausingLimiter>(*this, name, limits);
  pausing_[name] = limiter.get();
  return limiter;
}

/// Another limiter of the same name may have come in its place.
void LimiterHub::unregister(const std::string& name, const flow::Limiter& limiter) {
  if (const auto known = pausing_.find(name); known != pausing_.end() && known->second == &limiter) {
    pausing_.erase(known);
  }
  if (const auto known = limiters_.find(name); known != limiters_.end() && known->second == &limiter) {
    limiters_.erase(known);
  }
  standing_changed();
}

std::string_view LimiterHub::fresh_generation(std::int64_t latest, std::string_view since) {
  fresh_ = who_ + "." + std::to_string(++generations_);
  const auto id = redis_->server_id();
  if (!id.empty() || latest > 0) fresh_.append("@").append(id);
  if (latest > 0) fresh_.append("@").append(std::to_string(latest)).append(since);
  return fresh_;
}

void LimiterHub::remember(int processes, std::string where) {
  remembered_ = processes;
  remembered_in_ = std::move(where);
}

int LimiterHub::sharers(int at_upstream) const {
  return redis::sharers({.at_upstream = at_upstream,
                         .of_prefix = seen_.count(),
                         .configured = config_.processes,
                         .remembered = remembered_});
}

void LimiterHub::share_labels(base::SipKey& key) {
  if (std::exchange(labels_, &key) != &key) agree_on_labels();
}

void LimiterHub::agree_on_labels() {
  if (!labels_) return;
  redis_->agree(config_.prefix + ":labels", text_of(*labels_), [this](const Outcome& outcome, std::int64_t) {
    const auto key = outcome ? label_key_in(outcome->text()) : std::nullopt;
    if (key) *labels_ = *key;
  });
}

void LimiterHub::count_standing() {
  const bool degraded = std::ranges::any_of(limiters_, [](const auto& limiter) { return limiter.second->degraded(); });
  if (std::exchange(degraded_, degraded) != degraded && watch_.on_degraded) watch_.on_degraded(degraded);
}

std::vector<std::string> LimiterHub::limits_differ() const {
  std::vector<std::string> names;
  for (const auto& [name, limiter] : limiters_) {
    if (limiter->limits_differ(loop_.now())) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

/// Goes by names, because `use` may lead to limiters being made or destroyed.
template <typename Use>
void LimiterHub::for_each_limiter(Use use) {
  std::vector<std::string> names;
  for (const auto& [name, limiter] : limiters_) names.push_back(name);
  for (const auto& name : names) {
    if (const auto found = limiters_.find(name); found != limiters_.end()) use(*found->second);
  }
}

void LimiterHub::on_found(const loop::Addresses& addresses) {
  if (watch_.on_found) watch_.on_found(addresses);
}

void LimiterHub::on_up() {
  const bool were_starting = std::exchange(starting_, false);
  if (watch_.on_up) watch_.on_up(true);
  look_whose_memory();
  agree_on_labels();
  call_limiters_back(were_starting);
}

/// When the process begins, all limiters return at once; otherwise only those with nothing to tell. Limiters in use
/// return one by one within a horizon, so that not all upstreams of all processes call Redis at the same moment; the
/// others within a second, or when they are next used.
void LimiterHub::call_limiters_back(bool at_once) {
  const auto now = loop_.now();
  std::int64_t used = 0, unused = 0;
  for (const auto& [name, limiter] : limiters_) {
    if (!limiter->may_return() || !limiter->has_to_tell(now)) continue;
    ++(limiter->in_use(now) ? used : unused);
  }
  const auto apart = [](std::int64_t within, std::int64_t count) {
    return std::min(kBetweenReturns, within / std::max<std::int64_t>(1, count));
  };
  std::int64_t next_used = now, next_unused = now + flow::kHorizon;
  for_each_limiter([&](SharedLimiter& limiter) {
    if (!limiter.may_return()) return;
    if (at_once || !limiter.has_to_tell(now)) return limiter.redis_up();
    const bool is_used = limiter.in_use(now);
    auto& next = is_used ? next_used : next_unused;
    next == now ? limiter.redis_up() : limiter.redis_up_at(next);
    next += is_used ? apart(flow::kHorizon, used) : apart(kTick - flow::kHorizon, unused);
  });
}

std::int64_t LimiterHub::soon() {
  constexpr std::int64_t kApart = 5'000, kCount = (kTick - flow::kHorizon) / kApart;
  return loop_.now() + flow::kHorizon + turn_++ % kCount * kApart;
}

/// The first call on each connection, so that every later call knows whether this server has forgotten anything.
void LimiterHub::look_whose_memory() {
  const bool has_just_begun = !std::exchange(was_up_, true);
  if (has_just_begun) {
    say_present();
  } else {
    up_since_ = loop_.now();
  }
  const auto id = redis_->server_id();
  if (id.empty()) return;
  const std::string key = config_.prefix + ":born", channel = channel_of(config_, kAllProcesses);
  const std::string_view keys[] = {key}, arguments[] = {id, has_just_begun ? "1" : "0", channel};
  redis_->call(static_cast<std::size_t>(Script::born), keys, arguments, [](const Outcome&, std::int64_t) {});
}

/// Called at once when the process begins, so that others know of it. Right after a return it is put off: Redis has
/// calls enough then.
void LimiterHub::say_present() {
  const std::string_view key = key_to_be_there(loop_.now());
  if (key.empty()) return;
  const std::string_view keys[] = {key}, arguments[] = {who_};
  redis_->call(static_cast<std::size_t>(Script::present), keys, arguments,
               [this](const Outcome& outcome, std::int64_t) {
                 if (outcome) note_processes(outcome->integer());
               });
}

std::string_view LimiterHub::key_to_be_there(std::int64_t now) {
  if (now - said_present_ < kTick / 2 || now - up_since_ < 2 * flow::kHorizon) return {};
  said_present_ = now;
  return processes_;
}

/// An ask that fails, or is not decided, counts nobody: the process says it by itself.
void LimiterHub::heard_there(const Outcome& outcome) {
  constexpr int kBefore = 14;  // what book.lua answers before the number of processes
  std::int64_t count = 0;
  if (outcome) {
    auto elements = outcome->elements();
    for (int i = 0; i < kBefore; ++i) elements.next();
    count = elements.next().integer();
  }
  if (count > 0) return note_processes(count);
  said_present_ -= kTick;
  say_present();
}

void LimiterHub::note_processes(std::int64_t count) {
  if (count <= 0) return;
  seen_.note(static_cast<int>(std::min<std::int64_t>(count, kMostProcesses)));
  if (watch_.on_processes) watch_.on_processes(seen_.count());
}

/// A process that has never reached Redis does not know how many processes share its limits.
void LimiterHub::say_divided() {
  if (starting_ || was_up_ || limiters_.empty() || config_.when_down != WhenDown::share) return;
  if (std::exchange(told_divided_, true)) return;
  const int processes = sharers(0);
  const std::string among = std::to_string(processes) + (processes == 1 ? " process" : " processes");
  const std::string why = config_.processes > 0 ? "redis.processes says so"
                          : remembered_ > 0     ? "an earlier run saw so many (" + remembered_in_ + ")"
                                                : "how many there are is not known; redis.processes would say it";
  notice(LogLevel::warn, "Redis was never reached: until it is, limits are divided among " + among + ", for " + why);
}

void LimiterHub::on_down() {
  if (watch_.on_up) watch_.on_up(false);
  for_each_limiter([](SharedLimiter& limiter) { limiter.redis_down(); });
}

/// "<upstream> <what> …"
void LimiterHub::on_message(std::string_view payload) {
  const std::string name(payload.substr(0, payload.find(' ')));
  if (name.size() == payload.size()) return;
  const auto words = payload.substr(name.size() + 1);
  if (const auto known = limiters_.find(name); known != limiters_.end()) known->second->message(words);
  if (const auto known = pausing_.find(name); known != pausing_.end()) known->second->message(words);
}

void LimiterHub::on_hears(bool hears) {
  for_each_limiter([hears](SharedLimiter& limiter) { limiter.hears(hears); });
}

void LimiterHub::on_messages(bool come) {
  if (come) return call_limiters_back(false);
  for_each_limiter([](SharedLimiter& limiter) { limiter.messages_gone(); });
}

void LimiterHub::on_round_trip(std::int64_t microseconds) {
  if (watch_.on_round_trip) watch_.on_round_trip(Duration{microseconds});
}

void LimiterHub::on_failure(FailureKind kind) {
  const bool were_starting = std::exchange(starting_, false);
  say_divided();
  if (watch_.on_error) watch_.on_error(label(kind));
  if (were_starting) for_each_limiter([](SharedLimiter& limiter) { limiter.starts_alone(); });
}

void LimiterHub::tick() {
  const auto now = loop_.now();
  bool in_use = false;
  for (auto& [name, limiter] : limiters_) {
    limiter->tick(now);
    in_use |= limiter->in_use(now);
  }
  redis_->tick(in_use);
  say_present();
  ticker_.start(now + kTick);
}

}  // namespace penstock::redis
