// SPDX-License-Identifier: Apache-2.0
// A newcomer: it starts at once, waits, or is turned away.
#include <algorithm>

#include "flow/upstream.h"

namespace penstock::flow {

// The usual way, with a slot free and nobody before it: no list, no heap. Any other answer stays in the lane.
Upstream::Asked Upstream::ask_for(Time now, const Newcomer& newcomer, Lane& lane) {
  const LastRefusal& forbidden = forbidding(now, lane, newcomer.weight);
  if (forbidden.covers(now, newcomer.weight) && lane.wants() == 0) {
    booking_.clear();
    booking_.stop = Booking::Stop::refused;
    booking_.ask_again = forbidden.until;
    lane.limited = {forbidden.by, now};
    return Asked::refused;
  }
  if (free_slots() == 0 || held(now) || !lane.at_rest() || !awaiting_.empty()) return Asked::no;
  booking_.clear();
  if (!booker_->ask(now, ask_of(lane, 1, newcomer.weight), booking_)) {
    lane.asked(1, newcomer.weight);
    ++under_way_;
    return Asked::under_way;
  }
  if (booking_.departures.size() == 1 && booking_.departures.front().at <= now) return Asked::granted;
  lane.asked(1, newcomer.weight);
  return book(now, lane, lane.answered(), booking_) ? Asked::to_wait : Asked::refused;
}

std::optional<Refused> Upstream::refusal(Time now, const Newcomer& newcomer, const Lane& lane, Time deadline) const {
  if (!has_place(newcomer, &lane)) return Refused::queue_full;
  if (deadline <= now || nobody_leaves_before(now, lane).value_or(now) > deadline) return Refused::wait_over;
  if (lane.asking() || lane.unbooked_units() == 0) return std::nullopt;
  const Time own = booker_->ahead(now, newcomer.group, lane.unbooked_units() + newcomer.weight - 1, 0);
  return own > deadline ? std::optional(Refused::wait_over) : std::nullopt;
}

Ticket Upstream::turn_away(Time now, const Newcomer& newcomer, Refused why, LimitIndex by, Commands& commands) {
  const Time paused_until = newcomer.anonymous ? booker_->anonymous_paused_until(newcomer.group) : 0;
  const Time wait = retry_after(now, newcomer.group, newcomer.weight, paused_until);
  commands.refuse.push_back({newcomer.id, why, 0, wait, by});
  if (why == Refused::limited) commands.refuse.back().not_before(now, booking_.ask_again);
  return {};
}

Time Upstream::patience_of(const Newcomer& newcomer) const {
  return std::max<Time>(0, std::min(settings_.max_wait, newcomer.max_wait.value_or(settings_.max_wait)));
}

Ticket Upstream::start_newcomer(Time now, const Newcomer& newcomer, Lane& lane, Commands& commands) {
  const std::uint32_t index = requests_.take();
  Request& request = requests_[index];
  request.id = newcomer.id;
  request.weight = newcomer.weight;
  request.arrived = now;
  request.lane = &lane;
  request.stage = Stage::flying;
  request.tunnel = newcomer.tunnel;
  request.ms_outside = 0;
  tunnels_ += newcomer.tunnel ? 1 : 0;
  request.anonymous = newcomer.anonymous;
  request.apart = Apart::never;
  lane.last_served = ++turns_;
  ++lane.flying;
  take_slot(now, request);
  commands.start.push_back({newcomer.id, 0, kNoLimit, booking_.departures.front(), booking_.departures.front().at});
  return requests_.ticket(index);
}

Ticket Upstream::keep_waiting(Time now, const Newcomer& newcomer, Lane& lane, const Wait& wait) {
  const std::uint32_t index = requests_.take();
  Request& request = requests_[index];
  request.id = newcomer.id;
  request.weight = newcomer.weight;
  request.arrived = now;
  request.deadline = wait.deadline;
  request.slots_before = for_slots(now, lane);
  request.lane = &lane;
  request.stage = Stage::waiting;
  request.beyond_queue = wait.beyond_queue;
  request.tunnel = newcomer.tunnel;
  request.ms_outside = 0;
  tunnels_ += newcomer.tunnel ? 1 : 0;
  request.anonymous = newcomer.anonymous;
  request.apart = wait.apart;
  lane.join(requests_, index);
  lengths_.place(lane);
  ++pending_;
  deadlines_.add(wait.deadline, requests_.ticket(index));
  // Where other processes wait for the same permits, who comes now must stand in their line from now on.
  if (lane.awaits() && booker_->patience() > 0) lane.forget_told();
  return requests_.ticket(index);
}

}  // namespace penstock::flow
