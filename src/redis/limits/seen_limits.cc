// SPDX-License-Identifier: Apache-2.0
// Asks for all limits of the upstream, and of the groups that are shown, in one call.
#include "redis/limits/seen_limits.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "redis/client/scripts.h"

namespace penstock::redis {

using flow::Instant;
using flow::LimitIndex;
using flow::LimitReading;
using flow::Time;

namespace {

constexpr std::size_t kGroups = 20;
constexpr double kMostLeft = 1e12;

/// One overload for each kind.
struct Reader {
  Stands stands;

  Instant in(Instant moment) const { return std::max(0.0, moment - stands.now); }
  LimitReading counted(double of) const {
    const bool opens = stands.opens >= 0;
    return {.used = of - stands.units, .of = of, .opens_in = opens ? std::optional(in(stands.opens)) : std::nullopt};
  }

  LimitReading operator()(const PacerConfig& pacer) const {
    LimitReading reading = counted(pacer.max_burst);
    reading.rate = pacer.qps;
    return reading;
  }
  LimitReading operator()(const WindowConfig& window) const {
    LimitReading reading = counted(window.reservoir);
    reading.resets_in = in(stands.until);
    const Instant guard = std::min(flow::kGuard, std::floor(static_cast<Instant>(window.interval.count()) / 10));
    if (stands.opens >= stands.until) *reading.opens_in += guard;
    return reading;
  }
  LimitReading operator()(const SlidingWindowConfig& window) const { return counted(window.max); }
  /// Redis has counted the refills up to `until`.
  LimitReading operator()(const TokenBucketConfig& bucket) const {
    if (stands.until == 0) return {.of = static_cast<double>(bucket.capacity), .opens_in = 0, .resets_in = 0};
    const auto period = static_cast<Instant>(bucket.refill_frequency.count());
    const double refills = std::max(0.0, std::floor((stands.now - stands.until) / period));
    LimitReading reading = counted(bucket.capacity);
    const double used = std::max(0.0, reading.used - refills * bucket.refill_amount);
    reading.resets_in = in(stands.until + (refills + std::ceil(used / bucket.refill_amount)) * period);
    reading.used = used;
    return reading;
  }
  LimitReading operator()(const SemaphoreConfig& semaphore) const { return counted(semaphore.capacity); }
  /// A period that is over lasts until some process wants a departure.
  LimitReading operator()(const CounterConfig& counter) const {
    if (stands.until <= stands.now) return {.of = static_cast<double>(counter.max), .opens_in = 0};
    LimitReading reading = counted(counter.max);
    reading.resets_in = in(stands.until);
    if (!reading.opens_in) reading.opens_in = *reading.resets_in + flow::kGuard;
    return reading;
  }
  LimitReading operator()(const AdaptiveConfig&) const {
    return {.rate = stands.units / 1e6, .opens_in = in(stands.opens)};
  }
};

std::optional<Instant> less(const std::optional<Instant>& time, Instant gone) {
  return time ? std::optional(std::max(0.0, *time - gone)) : std::nullopt;
}

}  // namespace

LimitReading reading_of(const LimitConfig::Kind& kind, const Stands& stands) {
  LimitReading reading = std::visit(Reader{stands}, kind);
  reading.shared = true;
  return reading;
}

SeenLimits::SeenLimits(UpstreamCalls& calls, Shadow& shadow, const Quarantine& quarantine,
                       const std::vector<LimitConfig>& limits)
    : calls_(calls), shadow_(shadow), quarantine_(quarantine), limits_(limits), line_(calls, limits) {}

bool SeenLimits::look(Time now, std::function<void()> told) {
  if (!calls_.connected() || now - sent_ < kJustSeen) return false;
  std::vector<std::string> groups = fullest_groups(now, kGroups);
  groups.emplace_back();  // the upstream itself
  std::vector<Seen> asked;
  std::vector<ScriptArgs::OfGroup> what;
  for (const std::string& group : groups) {
    for (const LimitIndex limit : calls_.args().places()) {
      const bool of_group = limits_[static_cast<std::size_t>(limit)].per == LimitConfig::Per::group;
      if (of_group == group.empty() || quarantine_.contains(limit, group)) continue;
      asked.push_back({.limit = limit, .group = group, .reading = {}});
      what.emplace_back(limit, std::string(calls_.key_of(group)));
    }
  }
  if (asked.empty()) return false;
  const auto fill = [&](const ScriptArgs& args, ScriptCall& into) { args.look(into, what); };
  return calls_.look(Script::look, fill,
                     [alive = calls_.ref(), this, changes = calls_.changes(), asked = std::move(asked),
                      told = std::move(told)](const Outcome& outcome, Time sent) mutable {
                       if (!alive) return;
                       if (calls_.changes() == changes) answered(outcome, sent, std::move(asked));
                       told();
                     });
}

/// Nothing is learned from a failure: what concerns requests is found by those.
void SeenLimits::answered(const Outcome& outcome, Time sent, std::vector<Seen> asked) {
  if (!outcome || sent < sent_) return;
  auto numbers = outcome->elements();
  if (numbers.left() != 1 + 3 * asked.size()) return;
  const auto now = static_cast<Instant>(numbers.next().integer());
  for (Seen& one : asked) {
    Stands stands{.now = now};
    stands.until = static_cast<Instant>(numbers.next().integer());
    stands.units = std::clamp(static_cast<double>(numbers.next().integer()), -kMostLeft, kMostLeft);
    stands.opens = static_cast<Instant>(numbers.next().integer());
    one.reading = reading_of(limits_[static_cast<std::size_t>(one.limit)].kind, stands);
  }
  seen_ = std::move(asked);
  sent_ = sent;
  received_ = calls_.now();
}

void SeenLimits::read(Time now, std::string_view group, const TellReading& tell) const {
  shadow_.all().reader()->read(now, group, [&](LimitIndex limit, const LimitReading& own) {
    tell(limit, kept_here(limit, group) ? own : of_all(now, limit, group));
  });
}

/// Not shared; or this process keeps its part of it alone.
bool SeenLimits::kept_here(LimitIndex limit, std::string_view group) const {
  if (!calls_.args().shares(limit)) return true;
  const bool alone = !calls_.connected() || quarantine_.contains(limit, group);
  return alone && calls_.when_down() == WhenDown::share && !calls_.shared().starting();
}

LimitReading SeenLimits::of_all(Time now, LimitIndex limit, std::string_view group) const {
  const auto seen = std::ranges::find_if(
      seen_, [&](const Seen& one) { return one.limit == limit && std::string_view(one.group) == group; });
  const bool known = calls_.connected() && now - sent_ <= kKnownFor && seen != seen_.end();
  if (!known) return {.shared = true, .known = false};
  LimitReading reading = seen->reading;
  const auto gone = static_cast<Instant>(now - received_);
  reading.opens_in = less(reading.opens_in, gone);
  reading.resets_in = less(reading.resets_in, gone);
  return reading;
}

}  // namespace penstock::redis
