// SPDX-License-Identifier: Apache-2.0
// Finds the limit that held a request last, and weighs it against its wait for a slot.
#include "flow/limited_by.h"

#include <algorithm>

namespace penstock::flow {

LimitIndex WaitReasons::name(Time now, const Request& request, LimitIndex last) const {
  const Time outside = Time{1'000} * (request.tunnel ? request.ms_outside : 0);
  if (2 * outside >= now - request.arrived && outside > 0) return kTunnels;
  if (outside > 0 && last == kNoLimit) last = kTunnels;
  const Time for_slots = request.lane->slot_wait.so_far(slots_.full_time(now, stop_.until())) - request.slots_before;
  if (for_slots <= 0) return last;
  return last == kNoLimit || 2 * for_slots >= now - request.arrived ? kSlots : last;
}

// The limit that stopped its lane, or else those of its route, or all lanes, since the request arrived (or before, if
// that stop still held at its arrival); or else the limit of the departure that is booked for it, or for a request
// before it.
LimitIndex WaitReasons::last_limit(const Request& request) const {
  const Lane& lane = *request.lane;
  const Time since = request.arrived;
  if (lane.stopped() || lane.ask.limited().at >= since) return lane.ask.limited().by;
  if (lane.route && (lane.route->until() > since || lane.route->limited().at >= since)) return lane.route->limited().by;
  if (stop_.until() > since || stop_.limited().at >= since) return stop_.limited().by;
  return lane.departures.empty() ? kNoLimit : lane.departures.back().limited_by;
}

// What the head of its lane has waited for, or else what stops the lane now.
LimitIndex WaitReasons::of_arrival(Time now, const Lane* lane) const {
  if (lane && !lane->queue.waiting().empty()) {
    const LimitIndex by = of(now, requests_[lane->queue.waiting().front()]);
    if (by != kNoLimit) return by;
  }
  if (lane && lane->stopped()) return lane->ask.limited().by;
  if (lane && held_back(now, *lane)) return lane->route->limited().by;
  if (stop_.holds(now) || lanes_.any_awaits_permit(nullptr)) return stop_.limited().by;
  if (lane && !lane->departures.empty()) return lane->departures.back().limited_by;
  return slots_.full() ? kSlots : kNoLimit;
}

}  // namespace penstock::flow
