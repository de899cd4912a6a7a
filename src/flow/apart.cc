// SPDX-License-Identifier: Apache-2.0
// Pauses of only those requests that have no credentials. During a pause they wait apart from their lane, so that no
// other request waits behind them; afterwards they return to their places in order of arrival. The pause is checked
// when such a request arrives and when its lane asks; a departure that is booked already is taken.
#include <algorithm>

#include "flow/scheduler.h"

namespace penstock::flow {

bool Scheduler::must_wait_apart(Time now, const Arrival& arrival, const Lane& lane) const {
  if (!arrival.anonymous) return false;
  return !lane.apart().empty() || limiter_->anonymous_paused_until(arrival.group) > now;
}

Ticket Scheduler::wait_apart(Time now, const Arrival& arrival, Lane& lane, Commands& commands) {
  lane.apart_until = std::max(lane.apart_until, limiter_->anonymous_paused_until(arrival.group));
  if (lane.has_anonymous()) {  // they arrived earlier, and go first
    lane.set_apart(requests_);
    refuse_overdue_apart(now, lane, commands);
  }
  const Time deadline = now + patience_of(arrival);
  const bool too_long = deadline <= now || lane.apart_until > deadline;
  Ticket ticket;
  if (too_long || !has_place(arrival, &lane)) {
    refuse_arrival(now, arrival, too_long ? Refused::wait_over : Refused::queue_full, kPause, commands);
  } else {
    if (queue_full()) make_room(now, arrival, commands);
    ticket = keep_waiting(now, arrival, lane, {.deadline = deadline, .apart = Apart::now});
  }
  refresh(now, lane, commands);
  run_until_stable(now, commands);
  return ticket;
}

// False if there is no such pause. The lane may be deleted by this.
bool Scheduler::set_apart(Time now, Lane& lane, Commands& commands) {
  const Time until = limiter_->anonymous_paused_until(lane.group());
  if (until <= now) return false;
  lane.set_apart(requests_);
  lane.apart_until = std::max(lane.apart_until, until);
  refuse_overdue_apart(now, lane, commands);
  refresh(now, lane, commands);
  return true;
}

void Scheduler::rejoin(Time now, Lane& lane, Commands& commands) {
  lane.apart_until = std::max(lane.apart_until, limiter_->anonymous_paused_until(lane.group()));
  if (lane.apart_until > now) return refuse_overdue_apart(now, lane, commands);
  lane.rejoin(requests_, for_slots(now, lane));
}

void Scheduler::refuse_overdue_apart(Time now, Lane& lane, Commands& commands) {
  std::uint32_t index = lane.apart().front();
  for (std::size_t left = lane.apart().size(); left > 0; --left) {
    const std::uint32_t next = requests_[index].next;
    if (requests_[index].deadline < lane.apart_until) refuse(now, index, Refused::wait_over, kPause, commands);
    index = next;
  }
}

}  // namespace penstock::flow
