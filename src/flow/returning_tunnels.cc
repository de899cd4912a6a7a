// SPDX-License-Identifier: Apache-2.0
// Requests that have taken off already: those to be sent once more, and tunnels that rest and resume. A resting tunnel
// gives up its slot and its permits. The number of open tunnels is bounded; a tunnel beyond it waits outside its lane,
// so that requests behind it need not wait, too.
#include <algorithm>

#include "flow/scheduler.h"

namespace penstock::flow {

void Scheduler::requeue(Time now, Ticket ticket, Commands& commands) {
  if (requests_.stage(ticket) != Stage::flying) return;
  time_passed(now);
  Request& request = requests_[ticket.index];
  Lane& lane = *request.lane;
  request.stage = Stage::returned;
  lane.join(requests_, ticket.index);
  lane.await_none();  // the request holds a slot, so its lane may ask at once, even for permits others are called for
  --lane.flying;
  if (limiter_->landed(now, lane.group())) permit_came(now, lane);
  refresh(now, lane, commands);
  run_until_stable(now, commands);
}

// ---- slots ----------------------------------------------------------------------------------------------------------

void Scheduler::take_slot(Time now, Request& request) {
  request.took_off = now;
  took_off_ += now;
  ++in_flight_;
  busy_tunnels_ += request.tunnel ? 1 : 0;
}

void Scheduler::leave_slot(Request& request) {
  took_off_ -= request.took_off;
  --in_flight_;
  busy_tunnels_ -= request.tunnel ? 1 : 0;
}

/// The request must have been removed from its lane or list before.
void Scheduler::release(std::uint32_t index) {
  if (requests_[index].tunnel && !requests_[index].outside) --tunnels_;
  requests_[index].outside = requests_[index].spare = false;
  requests_.release(index);
}

RequestList* Scheduler::list_elsewhere(const Request& request) {
  if (request.outside) return &outside_;
  if (request.stage == Stage::resting) return request.spare ? &spare_ : &resting_;
  return request.stage == Stage::resuming ? &resuming_ : nullptr;
}

// ---- rest and resume ------------------------------------------------------------------------------------------------

void Scheduler::park(Time now, Ticket ticket, Commands& commands) {
  time_passed(now);
  if (requests_.stage(ticket) == Stage::resting) {
    RequestList& list = *list_elsewhere(requests_[ticket.index]);
    list.remove(requests_, ticket.index);
    list.push_back(requests_, ticket.index);
    requests_[ticket.index].deadline = now;
    return;
  }
  if (requests_.stage(ticket) != Stage::flying || !requests_[ticket.index].tunnel) return;
  Request& request = requests_[ticket.index];
  Lane& lane = *request.lane;
  flights_.landed(now, now - request.took_off);
  leave_slot(request);
  --lane.flying;
  ++lane.elsewhere;
  request.stage = Stage::resting;
  request.deadline = now;
  list_elsewhere(request)->push_back(requests_, ticket.index);
  if (limiter_->landed(now, lane.group())) permit_came(now, lane);
  refresh(now, lane, commands);
  run_until_stable(now, commands);
}

void Scheduler::mark_spare(Time now, Ticket ticket, Commands& commands) {
  time_passed(now);
  const Stage stage = requests_.stage(ticket);
  if (stage == Stage::released || !requests_[ticket.index].tunnel) return;
  Request& request = requests_[ticket.index];
  if (stage == Stage::resting) list_elsewhere(request)->remove(requests_, ticket.index);
  request.spare = true;
  if (stage == Stage::resting) list_elsewhere(request)->push_back(requests_, ticket.index);
  run_until_stable(now, commands);
}

void Scheduler::resume(Time now, Ticket ticket, Commands& commands) {
  time_passed(now);
  if (requests_.stage(ticket) != Stage::resting) return;
  Request& request = requests_[ticket.index];
  list_elsewhere(request)->remove(requests_, ticket.index);
  request.stage = Stage::resuming;
  resuming_.push_back(requests_, ticket.index);
  ++request.lane->resuming;
  run_until_stable(now, commands);
}

void Scheduler::resume_rested(Time now, Commands& commands) {
  if (now >= resume_at_) resume_at_ = 0;
  while (const auto next = next_to_resume(now)) {
    Lane& lane = *requests_[*next].lane;
    if (others_first(now, lane)) break;
    ask_to_resume(now, lane, commands);
  }
}

/// The first tunnel for which there may be a slot and a permit: the first of all, unless permits are short.
std::optional<std::uint32_t> Scheduler::next_to_resume(Time now) const {
  if (resuming_.empty() || free_slots() == 0 || no_permit_ || now < resume_at_) return std::nullopt;
  std::uint32_t index = resuming_.front();
  for (std::size_t left = resuming_.size(); left > 0; --left, index = requests_[index].next) {
    const Lane& lane = *requests_[index].lane;
    if (!lane.no_permit && !lane.asking()) return index;
  }
  return std::nullopt;
}

/// True if another lane's turn comes first. Within its own lane a tunnel that resumes goes first.
bool Scheduler::others_first(Time now, const Lane& lane) const {
  if (held(now) || wanting_.empty() || asks_are_rationed()) return false;
  const Lane& next = wanting_.front();
  return &next != &lane && next.last_served < lane.last_served;
}

void Scheduler::ask_to_resume(Time now, Lane& lane, Commands& commands) {
  booking_.clear();
  lane.asks_to_resume = true;
  lane.line.reset();
  if (limiter_->ask(now, {.group = lane.group(), .weight = 0}, booking_)) {
    return resume_answered(now, lane, booking_, commands);
  }
  ++under_way_;
  place(now, lane);
}

// The lane may be deleted by this.
void Scheduler::resume_answered(Time now, Lane& lane, const Booking& booking, Commands& commands) {
  lane.asks_to_resume = false;
  if (booking.departures.empty()) {
    // A shared limit in refuse mode has no line to wait in.
    const bool by_permit =
        booking.stop == Booking::Stop::permit || (booking.stop == Booking::Stop::refused && limiter_->patience() == 0);
    if (by_permit) {
      lane.line = booking.scope;
      (booking.scope == Booking::Scope::upstream ? no_permit_ : lane.no_permit) = true;
    } else {
      resume_at_ = std::max(booking.ask_again, now + kHorizon);
    }
  } else if (lane.resuming > 0) {
    std::uint32_t index = resuming_.front();
    while (requests_[index].lane != &lane) index = requests_[index].next;
    take_out(lane, index);
    Request& request = requests_[index];
    request.stage = Stage::flying;
    ++lane.flying;
    lane.last_served = ++turns_;
    take_slot(now, request);
    commands.resume.push_back(request.id);
  } else if (limiter_->landed(now, lane.group())) {  // the tunnel has left meanwhile
    permit_came(now, lane);
  }
  // Where permits are shared, a granted permit also ends the lane's place in the line: the lane must ask again.
  if (lane.awaits() && limiter_->patience() > 0 && !booking.departures.empty()) lane.forget_told();
  refresh(now, lane, commands);
}

// ---- how many may be open -------------------------------------------------------------------------------------------

Ticket Scheduler::wait_outside(Time now, const Arrival& arrival, Lane& lane, Commands& commands) {
  const Time patience = patience_of(arrival);
  if (!has_place(arrival, &lane) || patience <= 0) {
    const Refused why = patience > 0 ? Refused::queue_full : Refused::wait_over;
    const Ticket none = refuse_arrival(now, arrival, why, kTunnels, commands);
    refresh(now, lane, commands);
    return none;
  }
  const bool makes_room = queue_full();
  if (makes_room) make_room(now, arrival, commands);
  const std::uint32_t index = requests_.take();
  Request& request = requests_[index];
  request.id = arrival.id;
  request.weight = arrival.weight;
  request.arrived = now;
  request.deadline = now + patience;
  request.slots_before = for_slots(now, lane);
  request.lane = &lane;
  request.stage = Stage::waiting;
  request.beyond_queue = false;
  request.tunnel = request.outside = true;
  request.ms_outside = 0;
  request.anonymous = arrival.anonymous;
  request.apart = Apart::never;
  outside_.push_back(requests_, index);
  ++lane.elsewhere, ++lane.outside;
  lengths_.place(lane);
  ++pending_;
  deadlines_.add(request.deadline, requests_.ticket(index));
  const Ticket ticket = requests_.ticket(index);
  if (makes_room) run_until_stable(now, commands);  // a departure of the refused request may be granted to another
  return ticket;
}

void Scheduler::let_in(Time now, Commands& commands) {
  while (!outside_.empty() && room_for_tunnel(now, commands)) {
    const std::uint32_t index = outside_.front();
    Lane& lane = *requests_[index].lane;
    outside_.remove(requests_, index);
    --lane.elsewhere, --lane.outside;
    requests_[index].outside = false;
    requests_[index].ms_outside = static_cast<std::uint32_t>((now - requests_[index].arrived + 999) / 1'000);
    requests_[index].slots_before = for_slots(now, lane);  // outside it did not wait for a slot
    ++tunnels_;
    lane.join(requests_, index);
    lengths_.place(lane);
    refresh(now, lane, commands);
  }
}

bool Scheduler::may_have_room(Time now) const {
  if (tunnels_ < settings_.max_tunnels) return true;
  return free_slots() > 0 && !held(now) && makes_room_at().value_or(now + 1) <= now;
}

/// No resting tunnel is closed for a tunnel that would have to wait for a slot anyway.
bool Scheduler::room_for_tunnel(Time now, Commands& commands) {
  while (tunnels_ >= settings_.max_tunnels && may_have_room(now)) close_longest_rested(now, commands);
  return tunnels_ < settings_.max_tunnels;
}

std::optional<Time> Scheduler::makes_room_at() const {
  if (!spare_.empty()) return requests_[spare_.front()].deadline;
  return resting_.empty() ? std::nullopt : std::optional(requests_[resting_.front()].deadline + kRestsLong);
}

void Scheduler::close_longest_rested(Time now, Commands& commands) {
  const std::uint32_t index = (spare_.empty() ? resting_ : spare_).front();
  Lane& lane = *requests_[index].lane;
  commands.close.push_back(requests_[index].id);
  take_out(lane, index);
  release(index);
  refresh(now, lane, commands);
}

}  // namespace penstock::flow
