// SPDX-License-Identifier: Apache-2.0
// The limits that an upstream can have, with their parameters and defaults. docs/limits.md says which to choose.
// A request leaves when every limit of its upstream allows it. Plain values.
#pragma once

#include <chrono>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "penstock/duration.h"

namespace penstock {

using namespace std::chrono_literals;

/// A rate as APIs publish it: at most `count` units in any stretch of time as long as `unit`, as the API counts them.
struct Rate {
  double count = 0;
  Duration unit{0};
  bool operator==(const Rate&) const = default;
};

/// Spreads departures evenly, `qps` units a second. A burst of up to `max_burst` units may leave at once; it is earned
/// back at qps × burst_allowance_factor, only while the pacer is idle.
struct PacerConfig {
  double qps = 0;
  int max_burst = 0;
  double burst_allowance_factor = 0.5;  ///< over 0, at most 1
  std::optional<Rate> keeps;            ///< what pacer_of() made it from; told to people, and nothing else
  bool operator==(const PacerConfig&) const = default;
};

/// How much closer together two requests may arrive at an API than they were booked: 20 ms for the network, 2 ms for
/// Penstock itself, which lets a request go late now and then.
inline constexpr Duration kKeptForJitter = 22ms;

/// The pacer which keeps a rate as the API counts it: one unit every (unit + kKeptForJitter) ÷ count. `count` and
/// `unit` are over 0. `count` + 1 units take one spacing more than `count` of them, so the first and the last of them
/// leave at least unit + kKeptForJitter apart, and arrive more than a unit apart.
constexpr PacerConfig pacer_of(const Rate& rate) {
  const std::chrono::duration<double> spread = rate.unit + kKeptForJitter;
  return {.qps = rate.count / spread.count(), .keeps = rate};
}

/// At most `reservoir` units in each window of length `interval`; windows are aligned to 1970-01-01 00:00 UTC.
struct WindowConfig {
  int reservoir = 0;
  Duration interval{0};
  bool spread = false;  ///< departures are spread over the window, instead of leaving at its edge
  bool operator==(const WindowConfig&) const = default;
};

/// The longest interval of any limit, and the most units that a slidingWindow remembers.
inline constexpr Duration kLongestInterval = 366 * 24h;
inline constexpr int kMostRemembered = 10'000;

/// At most `max` units in any half-open stretch of time as long as `interval`.
struct SlidingWindowConfig {
  int max = 0;  ///< up to kMostRemembered
  Duration interval{0};
  /// limits_of() made it, beside a pacer that lets as many pass: the pacer decides which request leaves next.
  bool beside_pacer = false;
  bool operator==(const SlidingWindowConfig&) const = default;
};

/// `refill_amount` tokens every `refill_frequency`, at most `capacity` kept; starts full.
struct TokenBucketConfig {
  int capacity = 0;
  int refill_amount = 0;
  Duration refill_frequency{0};
  bool operator==(const TokenBucketConfig&) const = default;
};

/// At most `capacity` requests in flight, in the order of asking. If shared, a permit is a lease that is renewed while
/// the request is in flight, and is free again at the latest `lease` after its process has died.
struct SemaphoreConfig {
  int capacity = 0;
  Duration lease = 30s;
  bool operator==(const SemaphoreConfig&) const = default;
};

/// At most `max` units between two resets, which are `period` apart or more.
struct CounterConfig {
  int max = 0;
  Duration period{0};
  bool operator==(const CounterConfig&) const = default;
};

/// Spreads departures evenly at a rate that it learns from what the API refuses, from `min` to `max` units a second.
/// For APIs that do not say what they allow.
struct AdaptiveConfig {
  double min = 1;
  double max = 0;  ///< over 0, at least `min`
  bool operator==(const AdaptiveConfig&) const = default;
};

struct LimitConfig {
  using Kind = std::variant<PacerConfig, WindowConfig, SlidingWindowConfig, TokenBucketConfig, SemaphoreConfig,
                            CounterConfig, AdaptiveConfig>;
  enum class Per { upstream, group };
  /// What happens to a request that it does not allow now: it waits; is refused with 429; or leaves all the same, and
  /// is told for how long it would have waited. A semaphore and an adaptive limit cannot be in shadow mode.
  enum class Mode { delay, refuse, shadow };

  Kind kind;
  std::string name;         ///< unique within the upstream; empty: limit_key(kind). See limit_name()
  Per per = Per::upstream;  ///< one for the whole upstream or route, or one for each of its groups
  bool shared = true;       ///< kept in Redis if that is configured; otherwise, and in shadow mode, in this process
  Mode mode = Mode::delay;
  std::string route = {};  ///< RouteConfig::name of the one whose requests alone it governs; empty: all requests
  std::string unit = {};   ///< CostConfig::unit: it counts that cost of a request; empty: its weight
  bool operator==(const LimitConfig&) const = default;
};

/// The kind's key in a configuration: `pacer`, `window`, `slidingWindow`, `tokenBucket`, `semaphore`, `counter`,
/// `adaptive`.
constexpr std::string_view limit_key(const LimitConfig::Kind& kind) {
  constexpr std::string_view kKeys[] = {"pacer",     "window",  "slidingWindow", "tokenBucket",
                                        "semaphore", "counter", "adaptive"};
  return kKeys[kind.index()];
}

/// The limit's name in metrics, events and Redis.
constexpr std::string_view limit_name(const LimitConfig& limit) {
  return limit.name.empty() ? limit_key(limit.kind) : std::string_view(limit.name);
}

/// Whether it governs the requests of that route; empty: those without one.
constexpr bool governs(const LimitConfig& limit, std::string_view route) {
  return limit.route.empty() || limit.route == route;
}

/// The key's value in a configuration.
constexpr std::string_view mode_name(LimitConfig::Mode mode) {
  constexpr std::string_view kNames[] = {"delay", "refuse", "shadow"};
  return kNames[static_cast<std::size_t>(mode)];
}

/// Those in shadow mode, or all others, in their order.
inline std::vector<LimitConfig> limits_in_shadow(const std::vector<LimitConfig>& all, bool wanted = true) {
  std::vector<LimitConfig> some;
  for (const LimitConfig& limit : all) {
    if ((limit.mode == LimitConfig::Mode::shadow) == wanted) some.push_back(limit);
  }
  return some;
}
inline std::vector<LimitConfig> limits_that_hold(const std::vector<LimitConfig>& all) {
  return limits_in_shadow(all, false);
}

/// The same rate in whole units, of which a slidingWindow can remember one unit's: 1 in 2 s for 0.5 a second. Null:
/// there is none.
inline std::optional<Rate> in_whole_units(const Rate& rate) {
  const Duration longest = kLongestInterval - kKeptForJitter;
  constexpr int kMostTimes = 1'000'000;
  for (int times = 1; times < kMostTimes && rate.count * times <= kMostRemembered && rate.unit <= longest / times;
       ++times) {
    const double count = rate.count * times, whole = std::round(count);
    if (whole >= 1 && std::abs(count - whole) <= 1e-9 * whole) return Rate{whole, rate.unit * times};
  }
  return std::nullopt;
}

/// The limits that keep a rate together. `name` is the pacer, by which requests leave evenly. `name`.window looks back
/// from when they have left: a request whose connection is slow to be made leaves later than it was booked, and nearer
/// to those behind it. The window is kept 2 ms longer than its interval, so it allows 0.1 ms sooner than the pacer: it
/// delays nothing while requests leave on time, and no rounding of times makes it seem so. There is no window where a
/// unit, or the whole form of a fraction, has more than one can remember.
inline std::vector<LimitConfig> limits_of(const Rate& rate, const std::string& name = "rate") {
  std::vector<LimitConfig> limits{{.kind = pacer_of(rate), .name = name}};
  if (const auto whole = in_whole_units(rate)) {
    constexpr Duration kGuard = 2ms, kSooner = 100us;
    const Duration interval = whole->unit + kKeptForJitter - kGuard - kSooner;
    const SlidingWindowConfig window{.max = static_cast<int>(whole->count), .interval = interval, .beside_pacer = true};
    limits.push_back({.kind = window, .name = name + ".window"});
  }
  return limits;
}

}  // namespace penstock
