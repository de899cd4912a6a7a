// SPDX-License-Identifier: Apache-2.0
// A scenario: limits, events at an upstream, and the expected outcome of each request, with short words to write one.
// scenarios.h is the table of scenarios, scenario_run.h runs one.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "flow/limiter.h"
#include "penstock/limits.h"

namespace penstock::scenarios {

using flow::kNoLimit;
using flow::kPause;
using flow::LimitIndex;
using flow::Time;

/// The Instant at which a scenario's clock shows 0: 14 000 hours after the beginning of 2025. Windows that divide an
/// hour have an edge there, and a double holds these times to 1/128 µs, as precisely as times of today.
inline constexpr double kStart = 14'000 * 3'600e6;

constexpr Time ms(double n) { return static_cast<Time>(n * 1'000); }
constexpr Time sec(double n) { return static_cast<Time>(n * 1'000'000); }

struct Arrive {
  Time at;
  int count = 1;
  int weight = 1;
  std::string_view group = {};
  int cost = 1;
};
/// The limits from now on. If some of them are new, earlier bookings are not given back.
struct Change {
  Time at;
  std::vector<LimitConfig> limits;
};
struct Pause {
  Time at;
  Time until;
  std::string_view group = {};
};
/// The n-th request (from 0, in order of arrival), whose departure is still ahead, gives it back.
struct GiveBack {
  Time at;
  std::size_t request;
};
/// The n-th request, whose departure has come, leaves only now. Ignored for a request that was refused or still waits.
struct LeaveLate {
  Time at;
  std::size_t request;
};
/// The upstream refuses the n-th request. Ignored for one that has not departed.
struct Refuse {
  Time at;
  std::size_t request;
};
/// The answer to the n-th request says that the upstream has counted so many units in its window, which ends at
/// `resets`. Ignored for one that has not departed.
struct Learn {
  Time at;
  std::size_t request;
  LimitIndex limit = 0;
  std::int64_t count = 0;
  Time resets = 0;
};
/// What the n-th request has cost is known. Ignored for one that has not departed, and if it is what was reserved.
struct Settle {
  Time at;
  std::size_t request;
  int cost = 1;
};
using Event = std::variant<Arrive, Change, Pause, GiveBack, LeaveLate, Refuse, Learn, Settle>;

struct Outcome {
  Time at = 0;               ///< when it leaves; meaningless if refused
  LimitIndex by = kNoLimit;  ///< the limit that made it wait, or refused it
  bool refused = false;
  bool operator==(const Outcome&) const = default;
};

struct Scenario {
  std::string_view name;
  std::vector<LimitConfig> limits;
  std::vector<Event> events;
  std::vector<Outcome> outcomes;  ///< of the requests, in order of arrival
};

inline LimitConfig limit(LimitConfig::Kind kind) { return {.kind = kind, .name = std::string(limit_key(kind))}; }
inline LimitConfig permits_of(int capacity) { return limit(SemaphoreConfig{.capacity = capacity}); }
inline LimitConfig pacer(double qps, int burst = 0, double factor = 0.5) {
  return limit(PacerConfig{.qps = qps, .max_burst = burst, .burst_allowance_factor = factor});
}
inline LimitConfig window(int reservoir, Time interval) {
  return limit(WindowConfig{.reservoir = reservoir, .interval = Duration(interval)});
}
inline LimitConfig spread(int reservoir, Time interval) {
  return limit(WindowConfig{.reservoir = reservoir, .interval = Duration(interval), .spread = true});
}
inline LimitConfig sliding(int max, Time interval) {
  return limit(SlidingWindowConfig{.max = max, .interval = Duration(interval)});
}
inline LimitConfig bucket(int capacity, int refill, Time frequency) {
  return limit(
      TokenBucketConfig{.capacity = capacity, .refill_amount = refill, .refill_frequency = Duration(frequency)});
}
inline LimitConfig counter(int max, Time period) {
  return limit(CounterConfig{.max = max, .period = Duration(period)});
}
inline LimitConfig adaptive(double min, double max) { return limit(AdaptiveConfig{.min = min, .max = max}); }
inline LimitConfig per_group(LimitConfig config) {
  config.per = LimitConfig::Per::group;
  config.name += "-of-group";
  return config;
}
inline LimitConfig of_tokens(LimitConfig config) {
  config.unit = "tokens";
  return config;
}
inline LimitConfig named(std::string_view name, LimitConfig config) {
  config.name = name;
  return config;
}
inline LimitConfig refusing(LimitConfig config) {
  config.mode = LimitConfig::Mode::refuse;
  return config;
}

inline Outcome at(Time time, LimitIndex by = kNoLimit) { return {time, by}; }
inline Outcome refused(LimitIndex by) { return {.by = by, .refused = true}; }
inline std::vector<Outcome> times(int count, Outcome outcome) {
  return std::vector<Outcome>(static_cast<std::size_t>(count), outcome);
}
inline std::vector<Outcome> operator+(std::vector<Outcome> first, const std::vector<Outcome>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace penstock::scenarios
