// SPDX-License-Identifier: Apache-2.0
// Rates, sizes and steps of the kinds of limits.
#include "simulation/kinds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "flow/limiter.h"

namespace penstock::simulation {

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

double seconds(Duration duration) { return static_cast<double>(duration.count()) / 1e6; }

struct RateOf {
  double operator()(const PacerConfig& pacer) const { return pacer.qps; }
  double operator()(const WindowConfig& window) const { return window.reservoir / seconds(window.interval); }
  double operator()(const SlidingWindowConfig& sliding) const {
    return sliding.max / (seconds(sliding.interval) + 2 * flow::kGuard / 1e6);
  }
  double operator()(const TokenBucketConfig& bucket) const {
    return bucket.refill_amount / seconds(bucket.refill_frequency);
  }
  double operator()(const SemaphoreConfig&) const { return kInfinite; }
  double operator()(const CounterConfig& counter) const { return counter.max / seconds(counter.period); }
  double operator()(const AdaptiveConfig& adaptive) const { return adaptive.max; }
};

struct SizeOf {
  double operator()(const PacerConfig& pacer) const { return pacer.max_burst; }
  double operator()(const WindowConfig& window) const { return window.reservoir; }
  double operator()(const SlidingWindowConfig& sliding) const { return sliding.max; }
  double operator()(const TokenBucketConfig& bucket) const { return bucket.capacity; }
  double operator()(const SemaphoreConfig& semaphore) const { return semaphore.capacity; }
  double operator()(const CounterConfig& counter) const { return counter.max; }
  double operator()(const AdaptiveConfig&) const { return 0; }
};

struct StepOf {
  Time operator()(const PacerConfig&) const { return 0; }
  Time operator()(const AdaptiveConfig&) const { return 0; }
  Time operator()(const WindowConfig& window) const {
    return window.spread ? window.interval.count() / window.reservoir : window.interval.count();
  }
  Time operator()(const SlidingWindowConfig& sliding) const { return sliding.interval.count(); }
  Time operator()(const TokenBucketConfig& bucket) const { return bucket.refill_frequency.count(); }
  Time operator()(const SemaphoreConfig&) const { return 0; }
  Time operator()(const CounterConfig& counter) const { return counter.period.count(); }
};

}  // namespace

double rate_of(const LimitConfig& limit) { return std::visit(RateOf{}, limit.kind); }
double size_of(const LimitConfig& limit) { return std::visit(SizeOf{}, limit.kind); }
Time step_of(const LimitConfig& limit) { return std::visit(StepOf{}, limit.kind); }

double slowest_rate(const std::vector<LimitConfig>& limits) {
  double slowest = kInfinite;
  for (const auto& limit : limits) slowest = std::min(slowest, rate_of(limit));
  return slowest;
}

Time longest_step(const std::vector<LimitConfig>& limits) {
  Time longest = 0;
  for (const auto& limit : limits) longest = std::max(longest, step_of(limit));
  return longest;
}

Time telling_length(const std::vector<LimitConfig>& limits) {
  const double rate = slowest_rate(limits);
  const Time units = rate == kInfinite ? 0 : static_cast<Time>(20e6 / rate);
  return std::max({2 * kSecond, 20 * longest_step(limits), units});
}

double grant(const std::vector<LimitConfig>& limits, int heaviest, std::size_t processes) {
  const double rate = slowest_rate(limits);
  if (rate == kInfinite) return heaviest;
  const double horizon = rate * static_cast<double>(flow::kHorizon) / 1e6;
  const double part = std::floor(horizon / static_cast<double>(std::max<std::size_t>(processes, 1)));
  return std::max<double>(heaviest, std::min(std::floor(horizon / 2) + 1, std::max(part, 6.0)));
}

}  // namespace penstock::simulation
