// SPDX-License-Identifier: Apache-2.0
// What a request waited for, as users are told. One rule for all: a slot, if for half of its wait or more only a slot
// was missing; else the limit that held it last.
#include "flow/scheduler.h"

namespace penstock::flow {

LimitIndex Scheduler::limited_by(Time now, Ticket ticket) const {
  return requests_.stage(ticket) == Stage::released ? kNoLimit : limited_by(now, requests_[ticket.index]);
}

LimitIndex Scheduler::name_for(Time now, const Request& request, LimitIndex last) const {
  if (request.apart == Apart::now) return kPause;
  if (request.apart == Apart::before && last == kNoLimit) last = kPause;
  const Time outside = Time{1'000} * request.ms_outside;
  if (2 * outside >= now - request.arrived && outside > 0) return kTunnels;
  if (outside > 0 && last == kNoLimit) last = kTunnels;
  const Time waited_for_slots = for_slots(now, *request.lane) - request.slots_before;
  if (waited_for_slots <= 0) return last;
  return last == kNoLimit || 2 * waited_for_slots >= now - request.arrived ? kSlots : last;
}

// The limit that stopped its lane, or else all lanes, since the request arrived (or before, if that stop still held at
// its arrival); or else the limit of the departure that is booked for it, or for a request before it.
LimitIndex Scheduler::last_limit(const Request& request) const {
  const Lane& lane = *request.lane;
  // A request that was set apart counts as if it had arrived at the end of the pause.
  const Time since = request.apart == Apart::before ? std::max(request.arrived, lane.apart_until) : request.arrived;
  if (lane.stopped() || lane.limited.at >= since) return lane.limited.by;
  if (stopped_until_ > since || limited_.at >= since) return limited_.by;
  return lane.departures().empty() ? kNoLimit : lane.departures().back().limited_by;
}

// A clock that runs while all slots are taken and no limit of the upstream itself stops the lanes anyway. Neither
// condition changes between two calls, but for the end of the stop at stopped_until_.
Time Scheduler::full_time(Time now) const {
  return full() ? full_time_ + std::max<Time>(0, now - std::max(last_call_, stopped_until_)) : full_time_;
}

// For how long only slots were missing in that lane, since the lane was created.
Time Scheduler::for_slots(Time now, const Lane& lane) const {
  return lane.lacks_slot ? lane.for_slots + full_time(now) - lane.noted : lane.for_slots;
}

void Scheduler::time_passed(Time now) {
  full_time_ = full_time(now);
  last_call_ = now;
}

// What an arrival would wait for: what the head of its lane has waited for, or else what stops the lane now.
LimitIndex Scheduler::limiting(Time now, const Lane* lane, Asked asked) const {
  if (lane && asked == Asked::refused) return lane->limited.by;
  if (lane && !lane->waiting().empty()) {
    const LimitIndex by = limited_by(now, requests_[lane->waiting().front()]);
    if (by != kNoLimit) return by;
  }
  if (lane && lane->stopped()) return lane->limited.by;
  if (held(now) || !awaiting_.empty()) return limited_.by;
  if (lane && !lane->departures().empty()) return lane->departures().back().limited_by;
  return full() ? kSlots : kNoLimit;
}

}  // namespace penstock::flow
