// SPDX-License-Identifier: Apache-2.0
// An arriving request: it starts at once, waits, or is refused.
#include <algorithm>

#include "flow/scheduler.h"

namespace penstock::flow {

// The usual case, a free slot and no request ahead, needs no list and no heap. Any other answer is kept in the lane.
Scheduler::Asked Scheduler::ask_for(Time now, const Arrival& arrival, Lane& lane) {
  const LastRefusal& forbidden = forbidding(now, lane, arrival.weight);
  if (forbidden.covers(now, arrival.weight) && lane.wants() == 0) {
    booking_.clear();
    booking_.stop = Booking::Stop::refused;
    booking_.ask_again = forbidden.until;
    lane.limited = {forbidden.by, now};
    return Asked::refused;
  }
  if (free_slots() == 0 || held(now) || !lane.at_rest() || !awaiting_.empty()) return Asked::no;
  booking_.clear();
  if (!limiter_->ask(now, ask_of(lane, 1, arrival.weight), booking_)) {
    lane.asked(1, arrival.weight);
    ++under_way_;
    return Asked::under_way;
  }
  if (booking_.departures.size() == 1 && booking_.departures.front().at <= now) return Asked::granted;
  lane.asked(1, arrival.weight);
  return book(now, lane, lane.answered(), booking_) ? Asked::to_wait : Asked::refused;
}

std::optional<Refused> Scheduler::refusal(Time now, const Arrival& arrival, const Lane& lane, Time deadline) const {
  if (!has_place(arrival, &lane)) return Refused::queue_full;
  if (deadline <= now || nobody_leaves_before(now, lane).value_or(now) > deadline) return Refused::wait_over;
  if (lane.asking() || lane.unbooked_units() == 0) return std::nullopt;
  const Time own = limiter_->ahead(now, arrival.group, lane.unbooked_units() + arrival.weight - 1, 0);
  return own > deadline ? std::optional(Refused::wait_over) : std::nullopt;
}

Ticket Scheduler::refuse_arrival(Time now, const Arrival& arrival, Refused why, LimitIndex by, Commands& commands) {
  const Time paused_until = arrival.anonymous ? limiter_->anonymous_paused_until(arrival.group) : 0;
  const Time wait = retry_after(now, arrival.group, arrival.weight, paused_until);
  commands.refuse.push_back({arrival.id, why, 0, wait, by});
  if (why == Refused::limited) commands.refuse.back().not_before(now, booking_.ask_again);
  return {};
}

Time Scheduler::patience_of(const Arrival& arrival) const {
  return std::max<Time>(0, std::min(settings_.max_wait, arrival.max_wait.value_or(settings_.max_wait)));
}

Ticket Scheduler::start_arrival(Time now, const Arrival& arrival, Lane& lane, Commands& commands) {
  const std::uint32_t index = requests_.take();
  Request& request = requests_[index];
  request.id = arrival.id;
  request.weight = arrival.weight;
  request.arrived = now;
  request.lane = &lane;
  request.stage = Stage::flying;
  request.tunnel = arrival.tunnel;
  request.ms_outside = 0;
  tunnels_ += arrival.tunnel ? 1 : 0;
  request.anonymous = arrival.anonymous;
  request.apart = Apart::never;
  lane.last_served = ++turns_;
  ++lane.flying;
  take_slot(now, request);
  commands.start.push_back({arrival.id, 0, kNoLimit, booking_.departures.front(), booking_.departures.front().at});
  return requests_.ticket(index);
}

Ticket Scheduler::keep_waiting(Time now, const Arrival& arrival, Lane& lane, const Wait& wait) {
  const std::uint32_t index = requests_.take();
  Request& request = requests_[index];
  request.id = arrival.id;
  request.weight = arrival.weight;
  request.arrived = now;
  request.deadline = wait.deadline;
  request.slots_before = for_slots(now, lane);
  request.lane = &lane;
  request.stage = Stage::waiting;
  request.beyond_queue = wait.beyond_queue;
  request.tunnel = arrival.tunnel;
  request.ms_outside = 0;
  tunnels_ += arrival.tunnel ? 1 : 0;
  request.anonymous = arrival.anonymous;
  request.apart = wait.apart;
  lane.join(requests_, index);
  lengths_.place(lane);
  ++pending_;
  deadlines_.add(wait.deadline, requests_.ticket(index));
  // If other processes wait for the same permits, this request must be in their line from now on: the lane asks again.
  if (lane.awaits() && limiter_->patience() > 0) lane.forget_told();
  return requests_.ticket(index);
}

}  // namespace penstock::flow
