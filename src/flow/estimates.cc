// SPDX-License-Identifier: Apache-2.0
// By the slots and by the limits.
#include "flow/estimates.h"

#include <algorithm>

#include "flow/commands.h"

namespace penstock::flow {

OtherUnits Estimates::others(LaneKey key, const Lane* lane) const {
  const std::int64_t own = lane ? lane->counted.unbooked_units : 0;
  OtherUnits others(lanes_.unbooked_units() - own);
  if (const RouteLanes* route = lanes_.route(key.route)) others.of_route = route->unbooked_units - own;
  if (lanes_.any_routes()) {
    lanes_.each_of_group(key.group, [&](const Lane& one) { others.of_group += one.counted.unbooked_units; });
    others.of_group -= own;
  }
  return others;
}

Estimates::Wait Estimates::wait(Time now, const Limiter& limiter, LaneKey key, const Load& load) const {
  const std::size_t ahead = queue_.pending() == 0 && slots_.free() == 0 ? 1 : queue_.pending();
  const Lane* lane = lanes_.find(key);
  const std::int64_t units = lane ? lane->unbooked_units() : 0;
  return {.for_slots = slots_.time_for(now, ahead),
          .for_limits = limiter.expected(now, key, load, units, others(key, lane)) - now};
}

Time Estimates::retry_after(Time now, const Limiter& limiter, LaneKey key, const Load& load, Time not_before) const {
  constexpr Time kSecond = 1'000'000;
  const Wait its = wait(now, limiter, key, load);
  const Time by_slots = its.for_slots, by_limits = std::max(its.for_limits, not_before - now);
  // Rounded up to seconds: a client that retried every few milliseconds would only be refused again.
  const Time estimated = std::max((by_slots + kSecond - 1) / kSecond, Time{1}) * kSecond;
  return std::clamp(by_limits > by_slots ? by_limits : estimated, kSecond / 1'000, kLongestRetry);
}

}  // namespace penstock::flow
