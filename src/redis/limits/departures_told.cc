// SPDX-License-Identifier: Apache-2.0
// What becomes of departures that were granted: they are given back to the limiter, or leave late. See
// shared_limiter.h.
#include <utility>

#include "redis/limits/limiter_owner.h"
#include "redis/limits/shared_limiter.h"

namespace penstock::redis {

using flow::Time;

void SharedLimiter::give_back(Time now, std::string_view group, const flow::Departure& departure) {
  shadow_.give_back(now, group, departure);
  semaphores_.ended(group);
  if (!alone() && departure.in_redis != 0) send_give_back(group, departure.in_redis, departure.weight, departure.epoch);
}

/// The shadow is told at once. If Redis is lost within the millisecond of LateReports, it is never told: there the
/// departure counts as if it had left on time.
flow::Departure SharedLimiter::report_late(std::string_view group, flow::Departure departure, Time at) {
  departure = shadow_.report_late(group, departure, at);
  move_in_redis(group, departure);
  return departure;
}

/// Moves it from exactly where Redis has it. The original time, mapped again by what is known of the clocks by now,
/// might fall into another window, and count twice.
void SharedLimiter::move_in_redis(std::string_view group, flow::Departure& departure) {
  if (!looks_back_ || departure.in_redis == 0 || alone() || !clock_.known()) return;
  const std::int64_t from = std::exchange(departure.in_redis, clock_.to_script(departure.at));
  recent_.add(departure.in_redis, departure.weight);  // in another window it counts once more
  late_.add(looks_back_on_groups_ ? group : std::string_view(), {from, departure.in_redis, departure.weight});
}

}  // namespace penstock::redis
