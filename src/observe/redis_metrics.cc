// SPDX-License-Identifier: Apache-2.0
// See redis_metrics.h.
#include "observe/redis_metrics.h"

#include <algorithm>
#include <utility>

namespace penstock::observe {
namespace {
// Kinds whose series exist from the start; rarer kinds begin with their first error.
constexpr const char* kUsualErrors[] = {"unreachable", "timeout", "lost", "error"};
}  // namespace

RedisMetrics::RedisMetrics(RedisFamilies& families, std::string name)
    : families_(families),
      name_(std::move(name)),
      round_trip_(families.round_trip.Add({{"redis", name_}}, lag_bounds())),
      up_(families.up.Add({{"redis", name_}})),
      degraded_(families.degraded.Add({{"redis", name_}})),
      limits_differ_(families.limits_differ.Add({{"redis", name_}})),
      counters_led_(families.counters_led.Add({{"redis", name_}})),
      counter_resets_{&families.counter_resets.Add({{"redis", name_}})},
      calls_{&families.calls.Add({{"redis", name_}})} {
  for (const char* kind : kUsualErrors) errors(kind);
}

RedisMetrics::~RedisMetrics() {
  families_.round_trip.Remove(&round_trip_);
  families_.up.Remove(&up_);
  families_.degraded.Remove(&degraded_);
  families_.limits_differ.Remove(&limits_differ_);
  families_.counters_led.Remove(&counters_led_);
  families_.counter_resets.Remove(counter_resets_.counter);
  families_.calls.Remove(calls_.counter);
  for (const auto& [kind, followed] : errors_) families_.errors.Remove(followed.counter);
  for (const auto& [name, gauge] : nodes_) families_.node_up.Remove(gauge);
}

void RedisMetrics::round_trip(Duration took) { round_trip_.Observe(seconds(took)); }

void RedisMetrics::set(const RedisSnapshot& redis) {
  up_.Set(redis.up);
  show(redis.nodes);
  degraded_.Set(redis.degraded);
  limits_differ_.Set(static_cast<double>(redis.limits_differ.size()));
  counters_led_.Set(static_cast<double>(redis.counters_led));
  counter_resets_.follow(redis.counter_resets);
  calls_.follow(redis.calls);
  for (const auto& [kind, total] : redis.errors) errors(kind).follow(total);
}

/// A node that is no longer one, such as a master before the present one, has no series any more.
void RedisMetrics::show(const std::vector<RedisNodeSnapshot>& nodes) {
  std::erase_if(nodes_, [&](const auto& shown) {
    const bool gone = std::ranges::find(nodes, shown.first, &RedisNodeSnapshot::name) == nodes.end();
    if (gone) families_.node_up.Remove(shown.second);
    return gone;
  });
  for (const auto& [name, up] : nodes) {
    auto shown = std::ranges::find(nodes_, name, [](const auto& one) -> const std::string& { return one.first; });
    if (shown == nodes_.end())
      shown = nodes_.emplace(shown, name, &families_.node_up.Add({{"redis", name_}, {"node", name}}));
    shown->second->Set(up);
  }
}

void RedisMetrics::Followed::follow(std::uint64_t total) {
  counter->Increment(static_cast<double>(total - std::exchange(counted, total)));
}

RedisMetrics::Followed& RedisMetrics::errors(const std::string& kind) {
  const auto known = std::ranges::find(errors_, kind, [](const auto& one) -> const std::string& { return one.first; });
  if (known != errors_.end()) return known->second;
  return errors_.emplace_back(kind, Followed{&families_.errors.Add({{"redis", name_}, {"kind", kind}})}).second;
}

}  // namespace penstock::observe
