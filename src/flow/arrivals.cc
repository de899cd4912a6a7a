// SPDX-License-Identifier: Apache-2.0
// Judges arrivals, and gives those that may wait their place.
#include "flow/arrivals.h"

#include <algorithm>
#include <utility>

namespace penstock::flow {

bool Arrivals::refuse_at_once(Time now, const Arrival& arrival, Commands& commands) {
  const LimitIndex forbidding = asker_.limiter().forbids(arrival.load(), arrival.route);
  if (forbidding != kNoLimit) return refuse(now, arrival, Refused::too_heavy, forbidding, commands), true;
  if (slots_.free() > 0) return false;
  const Lane* known = std::as_const(lanes_).find(arrival.lane());
  if (has_place(arrival, known)) return false;
  return refuse(now, arrival, Refused::queue_full, reasons_.of_arrival(now, known), commands), true;
}

Ticket Arrivals::accept(Time now, const Arrival& arrival, Commands& commands) {
  if (arrival.tunnel && !tunnels_.make_room(now, commands)) return wait_outside(now, arrival, commands);
  Lane& lane = lanes_.of(arrival.lane());
  const Asker::Asked asked = asker_.ask_for_arrival(now, lane, arrival.load());
  if (asked == Asker::Asked::granted) return start(now, arrival, lane, commands);
  return wait_or_refuse(now, arrival, lane, asked, commands);
}

Ticket Arrivals::start(Time now, const Arrival& arrival, Lane& lane, Commands& commands) {
  const std::uint32_t index = take(now, arrival, lane, Stage::flying);
  lanes_.served(lane);
  slots_.take(now, requests_[index]);
  const Departure& departure = asker_.answer().departures.front();
  requests_[index].gated = asker_.pass_gates(lane, index, departure);
  commands.start.push_back({arrival.id, 0, kNoLimit, departure, departure.at});
  return requests_.ticket(index);
}

// A request that may not wait is let in nevertheless, also beyond a full queue, if an answer is under way that may
// start it. Where the answer says only whether it may be a probe, it stays beyond a full queue no longer than that.
Ticket Arrivals::wait_or_refuse(Time now, const Arrival& arrival, Lane& lane, Asker::Asked asked, Commands& commands) {
  const bool refused = asked == Asker::Asked::refused, probes = asked == Asker::Asked::to_probe, full = queue_.full();
  const Time patience = patience_of(arrival);
  const Time answer_within = asker_.limiter().patience() + (probes ? Gate::kRightIsAnsweredIn : 0);
  const bool judged_later = answer_within > 0 && (probes || lane.ask.under_way()) && slots_.free() > 0 &&
                            (!full || lane.queue.size() < slots_.beside_flights());
  const bool waits_on = !judged_later || !(full && probes);
  const Time deadline = now + std::max(waits_on ? patience : 0, judged_later ? answer_within : 0);
  std::optional<Refused> why;
  if (refused) {
    why = asker_.answer().stop == Booking::Stop::refused ? Refused::limited : Refused::unavailable;
  } else if (!judged_later) {
    why = refusal(now, arrival, lane, deadline);
  }
  if (why) {
    refuse(now, arrival, *why, refused ? lane.ask.limited().by : reasons_.of_arrival(now, &lane), commands);
    if (*why == Refused::limited) commands.refuse.back().not_before(now, asker_.answer().ask_again);
    return server_.refresh(now, lane, commands), Ticket{};
  }
  Lane& its = full && !judged_later ? make_room(now, arrival, commands) : lane;
  const std::uint32_t index = take(now, arrival, its, Stage::waiting);
  requests_[index].beyond_queue = full && judged_later;
  const Ticket ticket = wait(index, deadline);
  server_.refresh(now, its, commands);
  return ticket;
}

Ticket Arrivals::wait_outside(Time now, const Arrival& arrival, Commands& commands) {
  const Time patience = patience_of(arrival);
  if (patience <= 0 || !has_place(arrival, std::as_const(lanes_).find(arrival.lane()))) {
    refuse(now, arrival, patience > 0 ? Refused::queue_full : Refused::wait_over, kTunnels, commands);
    return {};
  }
  Lane& lane = queue_.full() ? make_room(now, arrival, commands) : lanes_.of(arrival.lane());
  const std::uint32_t index = take(now, arrival, lane, Stage::waiting);
  requests_[index].outside = true;
  requests_[index].deadline = now + patience;
  queue_.add(index);
  return requests_.ticket(index);
}

std::uint32_t Arrivals::take(Time now, const Arrival& arrival, Lane& lane, Stage stage) {
  const std::uint32_t index = requests_.take(arrival.tunnel);
  Request& request = requests_[index];
  request.id = arrival.id;
  request.weight = arrival.weight;
  rank_ = now > last_ ? 0 : static_cast<std::uint16_t>(std::min(rank_ + 1, int{kLastRank}));
  request.rank = rank_;
  request.arrived = last_ = now;
  request.slots_before = lane.slot_wait.so_far(slots_.full_time());
  request.lane = &lane;
  request.beyond_queue = false;
  if (arrival.tunnel) {
    request.ms_outside = 0;
  } else {
    request.cost = arrival.cost;
  }
  lane.change_stage(request, stage);
  return index;
}

Ticket Arrivals::wait(std::uint32_t index, Time deadline) {
  requests_[index].deadline = deadline;
  queue_.add(index);
  // If other processes wait for the same permits, this request must be in their line from now on: the lane asks again.
  Lane& lane = *requests_[index].lane;
  lane.grew |= lane.ask.for_departures() && lane.wants() >= lane.ask.count();
  if (lane.ask.awaits() && asker_.asynchronous()) lane.ask.forget_told();
  return requests_.ticket(index);
}

// ---- refusals -------------------------------------------------------------------------------------------------------

std::optional<Refused> Arrivals::refusal(Time now, const Arrival& arrival, const Lane& lane, Time deadline) const {
  if (!has_place(arrival, &lane)) return Refused::queue_full;
  if (deadline <= now || asker_.nobody_leaves_before(now, lane).value_or(now) > deadline) return Refused::wait_over;
  const std::int64_t units = lane.unbooked_units();
  if (lane.ask.under_way() || units == 0) return std::nullopt;
  const Time own = asker_.limiter().ahead(now, arrival.lane(), units + arrival.weight - 1, 0);
  return own > deadline ? std::optional(Refused::wait_over) : std::nullopt;
}

void Arrivals::refuse(Time now, const Arrival& arrival, Refused why, LimitIndex by, Commands& commands) {
  const Time paused = asker_.paused_until(arrival.group);
  const Time wait = estimates_.retry_after(now, asker_.limiter(), arrival.lane(), arrival.load(), paused);
  commands.refuse.push_back({arrival.id, why, 0, wait, by});
}

Time Arrivals::patience_of(const Arrival& arrival) const {
  return std::max<Time>(0, std::min(max_wait_, arrival.max_wait.value_or(max_wait_)));
}

// ---- a full queue ---------------------------------------------------------------------------------------------------

bool Arrivals::has_place(const Arrival& arrival, const Lane* lane) const {
  return queue_.has_place(arrival.in_place_of, lane ? lane->queue.places() : 0);
}

/// Returns the arrival's lane: the one that it had may have been deleted with its last request.
Lane& Arrivals::make_room(Time now, const Arrival& arrival, Commands& commands) {
  const std::size_t reserved = slots_.reserved();
  server_.refuse(now, queue_.makes_room(arrival.in_place_of), Refused::queue_full, commands);
  Lane& lane = lanes_.of(arrival.lane());
  // If departures were given back: the limiter answered before, and the lane is in no list yet that learns of them.
  if (slots_.reserved() < reserved) lane.ask.forget_told();
  return lane;
}

void Arrivals::refuse_excess(Time now, LaneKey key, Commands& commands) {
  for (Lane* lane = lanes_.find(key); lane && !lane->ask.under_way() && lane->queue.beyond() > 0;
       lane = lanes_.find(key)) {
    if (!queue_.overfull()) {
      lane->queue.admit_all(requests_);
    } else if (queue_.may_make_room(lane->queue.places() - 1)) {
      server_.refuse(now, queue_.newest_of_longest(), Refused::queue_full, commands);
    } else {
      server_.refuse(now, lane->queue.newest_beyond(requests_), Refused::queue_full, commands);
    }
  }
}

}  // namespace penstock::flow
