// SPDX-License-Identifier: Apache-2.0
// A request would leave at the latest of the limits' frontiers, and counts from then on: so a queue that would be there
// holds those behind it.
#include "flow/shadow_limits.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace penstock::flow {

namespace {
constexpr ConfigEpoch kAll = 0;  // every departure counts in every limit
constexpr int kMostRounds = 8;   // until the moment is off the edges of all windows
}  // namespace

ShadowLimits::ShadowLimits(std::vector<LimitConfig> limits, Instant at_zero) : clock_{std::floor(at_zero)} {
  limits_.replace(std::move(limits), kAll);
}

void ShadowLimits::change(Time now, std::vector<LimitConfig> limits) {
  limits_.replace(std::move(limits), kAll);
  limits_.refreshed(clock_.instant(now), {});
}

Frontier ShadowLimits::first_departure(Instant at, const LimitSet::Group* group, std::string_view route,
                                       const Load& load) const {
  Frontier first{.at = at};
  limits_.each(group, route, [&](const Limit& limit, const LimitSet::Rule& rule, LimitIndex index) {
    const int weight = rule.needs(load);
    const Instant opens = limit.admits(weight) ? limit.frontier(weight) : kNever;
    first.raise(opens == kNever && limit.admits(weight) ? limit.reset_at() + kGuard : opens, index);
  });
  if (first.at == kNever) return first;  // heavier than a limit allows
  for (int round = 0; round < kMostRounds; ++round) {
    const Instant before = first.at;
    limits_.each(group, route, [&](const Limit& limit, const LimitSet::Rule&, LimitIndex index) {
      first.raise(limit.after_guard(first.at), index);
    });
    if (first.at == before) break;
  }
  return first;
}

ShadowLimits::Held ShadowLimits::took_off(Time now, LaneKey lane, const Load& load, Time most) {
  const Instant at = clock_.instant(now);
  const Frontier first = first_departure(at, limits_.refreshed(at, lane), lane.route, load);
  if (first.at > at + static_cast<Instant>(most)) return {.wait = most, .by = first.by};
  limits_.commit(first.at, lane, limits_.refreshed(first.at, lane), load, kAll);
  return {.wait = clock_.time(first.at) - now, .by = first.by};
}

}  // namespace penstock::flow
