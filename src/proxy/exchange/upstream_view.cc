// SPDX-License-Identifier: Apache-2.0
// See upstream_view.h.
#include "proxy/exchange/upstream_view.h"

#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <variant>

#include "base/duration_text.h"

namespace penstock::proxy {

namespace {
/// As files have it: `15/s`, `300/15m`.
std::string rate_text(double count, Duration unit) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g/", count);
  const std::string length = base::duration_text(unit);
  const bool is_one = length.starts_with('1') && length.find_first_not_of("0123456789") == 1;
  return text + length.substr(is_one ? 1 : 0);
}

std::optional<Duration> whole(const std::optional<flow::Instant>& time) {
  return time ? std::optional(Duration{std::llround(*time)}) : std::nullopt;
}

struct Allows {
  std::string operator()(const PacerConfig& pacer) const {
    return pacer.keeps ? rate_text(pacer.keeps->count, pacer.keeps->unit) : rate_text(pacer.qps, 1s);
  }
  std::string operator()(const WindowConfig& window) const { return in(window.reservoir, window.interval); }
  std::string operator()(const SlidingWindowConfig& window) const {
    return window.beside_pacer ? "" : in(window.max, window.interval);
  }
  std::string operator()(const TokenBucketConfig& bucket) const { return std::to_string(bucket.capacity); }
  std::string operator()(const SemaphoreConfig& semaphore) const { return std::to_string(semaphore.capacity); }
  std::string operator()(const CounterConfig& counter) const { return in(counter.max, counter.period); }
  std::string operator()(const AdaptiveConfig&) const { return {}; }
  static std::string in(int units, Duration interval) {
    return std::to_string(units) + "/" + base::duration_text(interval);
  }
};
}  // namespace

LimitSnapshot limit_snapshot(const LimitConfig& limit, const flow::LimitReading& reading) {
  return {.name = std::string(limit_name(limit)),
          .kind = std::string(limit_key(limit.kind)),
          .allows = std::visit(Allows{}, limit.kind),
          .route = limit.route,
          .unit = limit.unit,
          .mode = limit.mode,
          .shared = reading.shared,
          .known = reading.known,
          .used = reading.used,
          .of = reading.of,
          .rate = reading.rate,
          .opens_in = whole(reading.opens_in),
          .resets_in = whole(reading.resets_in)};
}

std::string_view name_of_limit(const UpstreamSettings& settings, flow::LimitIndex limit) {
  if (limit >= 0) return limit_name(settings.limits[static_cast<std::size_t>(limit)]);
  switch (limit) {
    case flow::kPause: return "pause";
    case flow::kRedis: return "redis";
    case flow::kSlots: return "maxConcurrent";
    case flow::kTunnels: return "maxTunnels";
    default: return "";
  }
}

std::optional<HeadSnapshot> head_of(const flow::Scheduler& scheduler, flow::Time now, const NameOfLimit& name_of) {
  if (scheduler.pending() == 0) return std::nullopt;
  const auto longest = scheduler.forecast().longest(now, 1);
  if (longest.empty()) return std::nullopt;
  return HeadSnapshot{.limited_by = std::string(name_of(longest.front().limited_by)),
                      .since = Duration{now - longest.front().arrived},
                      .leaves_in = time_to(longest.front().leaves, now),
                      .last_leaves_in = time_to(scheduler.forecast().last_leaves(now), now)};
}

}  // namespace penstock::proxy
