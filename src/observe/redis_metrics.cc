// SPDX-License-Identifier: Apache-2.0
// See redis_metrics.h.
#include "observe/redis_metrics.h"

#include <algorithm>

namespace penstock::observe {
namespace {
// Kinds whose series exist from the start; rarer kinds begin with their first error.
constexpr const char* kUsualErrors[] = {"unreachable", "timeout", "lost", "error"};
}  // namespace

RedisMetrics::RedisMetrics(RedisFamilies& families)
    : families_(families),
      round_trip_(families.round_trip.Add({}, lag_bounds())),
      up_(families.up.Add({})),
      degraded_(families.degraded.Add({})),
      limits_differ_(families.limits_differ.Add({})),
      calls_{&families.calls.Add({})} {
  for (const char* kind : kUsualErrors) errors(kind);
}

void RedisMetrics::round_trip(Duration took) { round_trip_.Observe(seconds(took)); }

void RedisMetrics::set(const RedisSnapshot& redis) {
  up_.Set(redis.up);
  degraded_.Set(redis.degraded);
  limits_differ_.Set(static_cast<double>(redis.limits_differ.size()));
  calls_.follow(redis.calls);
  for (const auto& [kind, total] : redis.errors) errors(kind).follow(total);
}

void RedisMetrics::Followed::follow(std::uint64_t total) {
  counter->Increment(static_cast<double>(total - std::exchange(counted, total)));
}

RedisMetrics::Followed& RedisMetrics::errors(const std::string& kind) {
  const auto known = std::ranges::find(errors_, kind, [](const auto& one) -> const std::string& { return one.first; });
  if (known != errors_.end()) return known->second;
  return errors_.emplace_back(kind, Followed{&families_.errors.Add({{"kind", kind}})}).second;
}

}  // namespace penstock::observe
