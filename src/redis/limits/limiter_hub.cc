// SPDX-License-Identifier: Apache-2.0
// Passes events of Redis on to the limiters.
#include "redis/limits/limiter_hub.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "redis/limits/pausing_limiter.h"
#include "redis/limits/shared_limiter.h"

namespace penstock::redis {

namespace {

constexpr std::int64_t kTick = 1'000'000;
constexpr std::int64_t kBetweenReturns = 500;

}  // namespace

LimiterHub::LimiterHub(loop::Loop& loop, loop::Resolver& resolver, const RedisConfig& config, HubWatch watch,
                       NoticeSink notices, Network& network, std::string process_name)
    : watch_(std::move(watch)),
      standing_(loop, [this] { count_standing(); }),
      ticker_(loop, [this] { tick(); }),
      looks_(loop),
      shared_(loop, resolver, config, static_cast<RedisEvents&>(*this), watch_.on_processes, std::move(notices),
              network, std::move(process_name)) {
  shared_.label_by(watch_.labels);
  ticker_.start(loop.now() + kTick);
}

LimiterHub::~LimiterHub() = default;

Handover take_over(std::unique_ptr<flow::Limiter> former) {
  Handover left;
  if (auto* const shared = dynamic_cast<SharedLimiter*>(former.get())) {
    left = {.shadow = std::move(shared->shadow_),
            .memory = nullptr,
            .redis = shared->recovery_.known_to(),
            .from = Handover::From::shared_limits};
  } else if (auto* const pausing = dynamic_cast<PausingLimiter*>(former.get())) {
    left.memory = pausing->release();
  } else if (auto* const local = dynamic_cast<flow::LocalLimiter*>(former.get())) {
    left.memory.reset(local);
    std::ignore = former.release();
  }
  if (left.memory) left.from = Handover::From::own_limits;
  return left;
}

std::unique_ptr<flow::LocalLimiter> make_local_limiter(const loop::Loop& loop, const std::vector<LimitConfig>& limits,
                                                       std::unique_ptr<flow::Limiter> former) {
  const auto now = loop.now();
  Handover left = take_over(std::move(former));
  auto memory = left.shadow ? left.shadow->release(now) : std::move(left.memory);
  if (!memory) return std::make_unique<flow::LocalLimiter>(limits, flow::instant_at_zero(loop.wall(), now));
  memory->change(now, limits);
  return memory;
}

std::unique_ptr<flow::Limiter> LimiterHub::make_limiter(const std::string& name, const std::vector<LimitConfig>& limits,
                                                        flow::LimiterEvents& events,
                                                        std::unique_ptr<flow::Limiter> former) {
  auto limiter = std::make_unique<SharedLimiter>(shared_, static_cast<LimiterOwner&>(*this), name, limits, events,
                                                 take_over(std::move(former)));
  limiters_[name] = limiter.get();
  shared_.say_divided();
  standing_changed();
  return limiter;
}

std::unique_ptr<flow::Limiter> LimiterHub::make_pausing_limiter(const std::string& name,
                                                                const std::vector<LimitConfig>& limits,
                                                                flow::LimiterEvents& events,
                                                                std::unique_ptr<flow::Limiter> former) {
  auto limiter = std::make_unique<PausingLimiter>(shared_, static_cast<LimiterOwner&>(*this), name, events,
                                                  make_local_limiter(shared_.loop(), limits, std::move(former)));
  pausing_[name] = limiter.get();
  return limiter;
}

bool LimiterHub::keeps(const std::string& name, const flow::Limiter& limiter, bool shared) const {
  const auto is_in = [&](const auto& all) {
    const auto known = all.find(name);
    return known != all.end() && known->second == &limiter;
  };
  return shared ? is_in(limiters_) : is_in(pausing_);
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

void LimiterHub::count_standing() {
  const bool degraded =
      std::ranges::any_of(limiters_, [](const auto& limiter) { return limiter.second->recovery().degraded(); });
  if (std::exchange(degraded_, degraded) != degraded && watch_.on_degraded) watch_.on_degraded(degraded);
}

bool LimiterHub::degraded(const std::string& upstream) const {
  const auto known = limiters_.find(upstream);
  return known != limiters_.end() && known->second->recovery().degraded();
}

std::vector<std::string> LimiterHub::limits_differ() const {
  std::vector<std::string> names;
  for (const auto& [name, limiter] : limiters_) {
    if (limiter->recovery().limits_differ(shared_.loop().now())) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

/// Goes by names, because `use` may lead to limiters being made or destroyed.
template <typename Use>
void LimiterHub::for_each_limiter(Use use) {
  std::vector<std::string> names;
  names.reserve(limiters_.size());
  for (const auto& [name, limiter] : limiters_) names.push_back(name);
  for (const auto& name : names) {
    if (const auto found = limiters_.find(name); found != limiters_.end()) use(*found->second);
  }
}

void LimiterHub::look(std::function<void()> seen) {
  const auto ask_all = [this](const std::function<void()>& told) {
    std::size_t asked = 0;
    const auto now = shared_.loop().now();
    for (const auto& [name, limiter] : limiters_) asked += limiter->reader()->look(now, told) ? 1 : 0;
    return asked;
  };
  looks_.begin(ask_all, std::move(seen));
}

bool LimiterHub::look_ahead(const std::string& upstream, std::function<void()> told) {
  const auto known = limiters_.find(upstream);
  return known != limiters_.end() && known->second->reader()->line().look(shared_.loop().now(), std::move(told));
}

void LimiterHub::on_found(const std::vector<Endpoint>& there) {
  if (watch_.on_found) watch_.on_found(there);
}

void LimiterHub::on_up() {
  const bool were_starting = shared_.starting();
  if (watch_.on_up) watch_.on_up(up());
  shared_.came_up();
  call_limiters_back(were_starting);
}

/// When the process begins, all limiters return at once; otherwise only those with nothing to tell. Limiters in use
/// return one by one within a horizon, so that not all upstreams of all processes call Redis at the same moment; the
/// others within a second, or when they are next used.
void LimiterHub::call_limiters_back(bool at_once) {
  const auto now = shared_.loop().now();
  std::int64_t used = 0, unused = 0;
  for (const auto& [name, limiter] : limiters_) {
    if (!limiter->recovery().may_return() || !limiter->recovery().has_to_tell(now)) continue;
    ++(limiter->recovery().in_use(now) ? used : unused);
  }
  const auto apart = [](std::int64_t within, std::int64_t count) {
    return std::min(kBetweenReturns, within / std::max<std::int64_t>(1, count));
  };
  std::int64_t next_used = now, next_unused = now + flow::kHorizon;
  for_each_limiter([&](SharedLimiter& limiter) {
    if (!limiter.recovery().may_return()) return;
    if (at_once || !limiter.recovery().has_to_tell(now)) return limiter.recovery().redis_up();
    const bool is_used = limiter.recovery().in_use(now);
    auto& next = is_used ? next_used : next_unused;
    next == now ? limiter.recovery().redis_up() : limiter.recovery().redis_up_at(next);
    next += is_used ? apart(flow::kHorizon, used) : apart(kTick - flow::kHorizon, unused);
  });
}

void LimiterHub::on_down() {
  if (watch_.on_up) watch_.on_up(up());
  for_each_limiter([](SharedLimiter& limiter) { limiter.recovery().redis_changed(); });
}

/// Also the first time that it is known where keys are.
void LimiterHub::on_moved() {
  for_each_limiter([](SharedLimiter& limiter) { limiter.recovery().redis_moved(); });
  if (watch_.on_up) watch_.on_up(up());
}

/// "<upstream> <what> …"
void LimiterHub::on_message(std::string_view payload) {
  const std::string name(payload.substr(0, payload.find(' ')));
  if (name.size() == payload.size()) return;
  const auto words = payload.substr(name.size() + 1);
  if (const auto known = limiters_.find(name); known != limiters_.end()) known->second->message(words);
  if (const auto known = pausing_.find(name); known != pausing_.end()) known->second->message(words);
}

void LimiterHub::on_subscribed(bool subscribed) {
  for_each_limiter([subscribed](SharedLimiter& limiter) { limiter.set_subscribed(subscribed); });
}

void LimiterHub::on_messages(bool come) {
  if (come) return call_limiters_back(false);
  for_each_limiter([](SharedLimiter& limiter) { limiter.recovery().redis_changed(); });
}

void LimiterHub::on_round_trip(std::int64_t microseconds) {
  if (watch_.on_round_trip) watch_.on_round_trip(Duration{microseconds});
}

void LimiterHub::on_failure(FailureKind kind) {
  const bool was_starting = shared_.try_failed();
  if (!limiters_.empty()) shared_.say_divided();
  if (watch_.on_error) watch_.on_error(label(kind));
  if (was_starting) for_each_limiter([](SharedLimiter& limiter) { limiter.starts_alone(); });
}

void LimiterHub::tick() {
  const auto now = shared_.loop().now();
  bool in_use = false;
  for (auto& [name, limiter] : limiters_) {
    limiter->recovery().tick(now);
    in_use |= limiter->recovery().in_use(now);
  }
  shared_.servers().tick(in_use);
  shared_.say_present();
  ticker_.start(now + kTick);
}

}  // namespace penstock::redis
