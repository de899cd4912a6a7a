// SPDX-License-Identifier: Apache-2.0
// See limit_words.h.
#include "app/limit_words.h"

#include "config/units.h"

namespace penstock::app {

namespace {

using config::write_duration;
using config::write_number;
using config::write_rate;

std::string unit_in_words(Duration unit) {
  if (unit == 1s) return "second";
  if (unit == 1min) return "minute";
  if (unit == 1h) return "hour";
  return unit == 24h ? "day" : write_duration(unit);
}

std::string in_milliseconds(Duration duration) {
  const auto tenths = std::to_string(duration / 100us);
  return tenths.substr(0, tenths.size() - 1) + "." + tenths.back() + " ms";
}

std::string in_words(const Rate& rate, double qps) {
  const auto spacing = 1000 / qps;
  const auto apart = spacing < 10'000 ? write_number(spacing) + " ms" : write_number(spacing / 1000) + " s";
  return write_rate(rate) + ", one every " + apart + ": " + std::to_string(kKeptForJitter / 1ms) + " ms of each " +
         unit_in_words(rate.unit) + " are kept for jitter";
}

struct InWords {
  std::string operator()(const PacerConfig& pacer) const {
    if (pacer.keeps) return in_words(*pacer.keeps, pacer.qps);
    const auto burst = pacer.max_burst == 0 ? "" : ", after a burst of " + std::to_string(pacer.max_burst);
    return write_rate(pacer.qps) + " evenly spread" + burst;
  }
  std::string operator()(const WindowConfig& window) const {
    const auto spread = window.spread ? ", spread over it" : "";
    return std::to_string(window.reservoir) + " in each window of " + write_duration(window.interval) + spread;
  }
  std::string operator()(const SlidingWindowConfig& window) const {
    const auto most = std::to_string(window.max) + " in any ";
    if (!window.beside_pacer) return most + write_duration(window.interval);
    return most + in_milliseconds(window.interval) + ", counted from when each has left";
  }
  std::string operator()(const TokenBucketConfig& bucket) const {
    return std::to_string(bucket.capacity) + " at once, then " + std::to_string(bucket.refill_amount) + " every " +
           write_duration(bucket.refill_frequency);
  }
  std::string operator()(const SemaphoreConfig& semaphore) const {
    return std::to_string(semaphore.capacity) + " in flight, lease " + write_duration(semaphore.lease);
  }
  std::string operator()(const CounterConfig& counter) const {
    return std::to_string(counter.max) + " between resets, " + write_duration(counter.period) + " apart";
  }
  std::string operator()(const AdaptiveConfig& adaptive) const {
    return "between " + write_rate(adaptive.min) + " and " + write_rate(adaptive.max) +
           ", learned from what the upstream refuses";
  }
};

}  // namespace

std::string limit_in_words(const LimitConfig& limit, bool redis) {
  std::string text{limit_name(limit)};
  if (text != limit_key(limit.kind)) text.append(" (").append(limit_key(limit.kind)).append(")");
  text += ": " + std::visit(InWords{}, limit.kind);
  if (!limit.unit.empty()) text += ", of " + limit.unit;
  if (limit.per == LimitConfig::Per::group) text += ", per group";
  const bool shadow = limit.mode == LimitConfig::Mode::shadow;
  text += redis && limit.shared && !shadow ? ", shared" : ", this process";
  if (limit.mode == LimitConfig::Mode::refuse) text += ", refuses with 429";
  if (shadow) text += ", only counts (shadow)";
  return text;
}

}  // namespace penstock::app
