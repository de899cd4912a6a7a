// SPDX-License-Identifier: Apache-2.0
// The course of a call. Each makes its change, refreshes the lane it touched, and runs until stable: overdue requests
// are refused, due departures taken, free slots offered to tunnels and to the lanes in turn, until nothing more changes
// now.
#include "flow/scheduler.h"

#include <utility>

namespace penstock::flow {

Scheduler::Scheduler(const Settings& settings, Limiter& limiter)
    : slots_(slots_of(settings)),
      lanes_(limiter, slots_),
      asker_(limiter, requests_, slots_, lanes_, stop_, gates_, reasons_) {
  set(settings);
}

void Scheduler::set(const Settings& settings) {
  slots_.resize(slots_of(settings));
  queue_.resize(settings.max_pending);
  tunnels_.resize(settings.max_tunnels);
  arrivals_.change_max_wait(settings.max_wait);
}

void Scheduler::run_until_stable(Time now, Commands& commands) {
  server_.refuse_overdue(now - 1, now, commands);
  do {
    server_.take_off_due(now, commands);
    tunnels_.serve(now, commands);
    server_.serve(now, commands);
    // A booked departure may be too light for a returned request: its lane gives it back and must ask again.
  } while (server_.refuse_overdue(now, now, commands) || server_.some_return(now) || tunnels_.has_more_to_do(now));
  gates_.tend(now);
  gates_.tell(commands.probe);
}

std::optional<Time> Scheduler::wake_at() const {
  const Time next =
      std::min({server_.wake_at().value_or(Gate::kNever), tunnels_.wake_at().value_or(Gate::kNever), gates_.tend_at()});
  return next == Gate::kNever ? std::nullopt : std::optional(next);
}

void Scheduler::advance(Time now, Commands& commands) {
  time_passed(now);
  run_until_stable(now, commands);
}

// ---- a request arrives, ends, or is sent once more ------------------------------------------------------------------

Ticket Scheduler::arrive(Time now, const Arrival& arrival, Commands& commands) {
  time_passed(now);
  run_until_stable(now, commands);
  if (arrivals_.refuse_at_once(now, arrival, commands)) return {};
  const Ticket ticket = arrivals_.accept(now, arrival, commands);
  if (requests_.stage(ticket) != Stage::flying) run_until_stable(now, commands);
  return ticket;
}

void Scheduler::cancel(Time now, Ticket ticket, Commands& commands, const Departure* unused) {
  if (requests_.stage(ticket) == Stage::released) return;
  end(now, ticket.index, commands, unused);
}

void Scheduler::land(Time now, Ticket ticket, Commands& commands) {
  const Stage stage = requests_.stage(ticket);
  if (stage == Stage::released) return;
  if (stage == Stage::flying) slots_.landed(now, requests_[ticket.index]);
  end(now, ticket.index, commands);
}

void Scheduler::end(Time now, std::uint32_t index, Commands& commands, const Departure* unused) {
  time_passed(now);
  Request& request = requests_[index];
  const Stage stage = request.stage;
  Lane& lane = *request.lane;
  if (stage == Stage::flying) {
    asker_.leave_gates(now, request, index);
    asker_.landed(now, lane, unused);
  } else if (stage == Stage::resting || stage == Stage::resuming) {
    tunnels_.remove(index);
  } else {
    queue_.remove(index);
  }
  if (stage == Stage::flying || stage == Stage::returned) slots_.leave(request);
  lane.forget(requests_, index);
  server_.refresh(now, lane, commands);
  run_until_stable(now, commands);
}

void Scheduler::requeue(Time now, Ticket ticket, Commands& commands) {
  if (requests_.stage(ticket) != Stage::flying) return;
  time_passed(now);
  Request& request = requests_[ticket.index];
  Lane& lane = *request.lane;
  asker_.leave_gates(now, request, ticket.index);
  lane.change_stage(request, Stage::returned);
  lane.queue.join(requests_, ticket.index);
  lane.ask
      .await_none();  // the request holds a slot, so its lane may ask at once, even for permits others are called for
  asker_.landed(now, lane);
  server_.refresh(now, lane, commands);
  run_until_stable(now, commands);
}

void Scheduler::send_back(Time now, Ticket ticket, Time deadline, std::string_view group, Commands& commands) {
  if (requests_.stage(ticket) != Stage::flying) return;
  time_passed(now);
  Request& request = requests_[ticket.index];
  Lane& from = *request.lane;
  asker_.leave_gates(now, request, ticket.index);
  slots_.leave(request);
  from.change_stage(request, Stage::released);
  asker_.landed(now, from);
  request.deadline = deadline;
  request.beyond_queue = false;  // it has been accepted
  wait_in(now, ticket.index, from, lanes_.of(LaneKey(group, from.key().route)), commands);
}

void Scheduler::move(Time now, Ticket ticket, std::string_view group, Commands& commands) {
  if (requests_.stage(ticket) != Stage::waiting) return;
  Request& request = requests_[ticket.index];
  Lane& from = *request.lane;
  if (request.outside || from.group() == group) return;
  time_passed(now);
  queue_.remove(ticket.index);
  from.change_stage(request, Stage::released);
  wait_in(now, ticket.index, from, lanes_.of(LaneKey(group, from.key().route)), commands);
}

/// The request, which has left the one lane, takes its place by arrival in the other, which may be the same. Each may
/// be deleted by its refresh.
void Scheduler::wait_in(Time now, std::uint32_t index, Lane& from, Lane& to, Commands& commands) {
  Request& request = requests_[index];
  request.lane = &to;
  request.slots_before = to.slot_wait.so_far(slots_.full_time());
  to.change_stage(request, Stage::waiting);
  queue_.add_again(index);
  if (&from != &to) server_.refresh(now, from, commands);
  server_.refresh(now, to, commands);
  run_until_stable(now, commands);
}

// ---- pauses ---------------------------------------------------------------------------------------------------------

Time Scheduler::pause(Time now, std::string_view group, std::optional<Time> length, Time most, Ticket by, bool alone) {
  const bool flies = requests_.stage(by) == Stage::flying;
  const Time until = gates_.close(now, group, {length, most, flies ? std::optional(by.index) : std::nullopt, alone});
  asker_.gate_changes(now, group);
  return until;
}

void Scheduler::left(Time now, Ticket ticket) {
  if (requests_.stage(ticket) != Stage::flying || !requests_[ticket.index].gated) return;
  gates_.left(now, requests_[ticket.index].lane->group(), ticket.index);
}

bool Scheduler::shorten_pauses(Time now, Time latest, Commands& commands) {
  time_passed(now);
  const bool some = gates_.shorten(latest);
  asker_.forget_told(now);
  run_until_stable(now, commands);
  return some;
}

std::vector<RequestId> Scheduler::waiting_at_no_gate() const {
  std::vector<RequestId> ids;
  lanes_.each([&](const Lane& lane) {
    if (!lane.group().empty() && gates_.has(lane.group())) return;
    std::uint32_t index = lane.queue.waiting().front();
    for (std::size_t left = lane.queue.waiting().size(); left > 0; --left, index = requests_[index].next) {
      ids.push_back(requests_[index].id);
    }
  });
  return ids;
}

bool Scheduler::answered(Time now, Ticket ticket, Commands& commands) {
  if (requests_.stage(ticket) != Stage::flying || !requests_[ticket.index].gated) return false;
  time_passed(now);
  asker_.leave_gates(now, requests_[ticket.index], ticket.index, true);
  run_until_stable(now, commands);
  return true;
}

void Scheduler::hear(Time now, const PauseNews& news, Commands& commands) {
  time_passed(now);
  gates_.hear(now, news);
  asker_.gate_changes(now, news.group);
  run_until_stable(now, commands);
}

// ---- tunnels --------------------------------------------------------------------------------------------------------

void Scheduler::park(Time now, Ticket ticket, Commands& commands) {
  time_passed(now);
  const Stage stage = requests_.stage(ticket);
  if (stage == Stage::resting) return tunnels_.rest_again(now, ticket.index);
  if (stage != Stage::flying || !requests_[ticket.index].tunnel) return;
  Lane& lane = *requests_[ticket.index].lane;
  tunnels_.park(now, ticket.index);
  server_.refresh(now, lane, commands);
  run_until_stable(now, commands);
}

void Scheduler::mark_spare(Time now, Ticket ticket, Commands& commands) {
  time_passed(now);
  if (requests_.stage(ticket) == Stage::released || !requests_[ticket.index].tunnel) return;
  tunnels_.mark_spare(ticket.index);
  run_until_stable(now, commands);
}

void Scheduler::resume(Time now, Ticket ticket, Commands& commands) {
  time_passed(now);
  if (requests_.stage(ticket) != Stage::resting) return;
  tunnels_.resume(ticket.index);
  run_until_stable(now, commands);
}

// ---- the limiter ----------------------------------------------------------------------------------------------------

void Scheduler::answer(Time now, LaneKey key, const Booking& booking, Commands& commands) {
  time_passed(now);
  const std::size_t reserved = slots_.reserved();
  server_.refuse_overdue(now - 1, now, commands);
  const std::size_t given_back = reserved - slots_.reserved();
  Lane* lane = lanes_.find(key);
  if (!lane || !lane->ask.under_way()) return asker_.give_back(now, key, booking.departures);
  stop_.ask_ends();
  if (lane->ask.to_resume()) {
    tunnels_.apply(now, *lane, booking, commands);
  } else {
    server_.apply(now, *lane, lane->ask.end(), booking, commands);
  }
  for (const LimitIndex semaphore : booking.freed) lanes_.permit_freed(now, semaphore);
  // The limiter answered before these departures were given back.
  asker_.departures_came(now, key.group, given_back);
  run_until_stable(now, commands);
  if (!queue_.overfull()) return;
  arrivals_.refuse_excess(now, key, commands);
  run_until_stable(now, commands);
}

void Scheduler::retry(Time now, Booking::Scope scope, LaneKey key, Commands& commands) {
  time_passed(now);
  server_.refuse_overdue(now - 1, now, commands);
  asker_.retry(now, scope, key);
  run_until_stable(now, commands);
}

void Scheduler::change(Time now, const Settings& settings, std::span<const LimitIndex> moved, Commands& commands) {
  time_passed(now);
  set(settings);
  // No waiting request is refused because the queue became shorter.
  lanes_.each([&](Lane& lane) { lane.queue.admit_all(requests_); });
  asker_.change(now, moved);
  run_until_stable(now, commands);
}

LimitIndex Scheduler::limited_by(Time now, Ticket ticket) const {
  return requests_.stage(ticket) == Stage::released ? kNoLimit : reasons_.of(now, requests_[ticket.index]);
}

void units_came(Scheduler& scheduler, Time now, LaneKey lane, Commands& commands) {
  using Scope = Booking::Scope;
  scheduler.retry(now, Scope::upstream, {}, commands);
  scheduler.retry(now, Scope::group, LaneKey(lane.group), commands);
  if (!lane.route.empty()) scheduler.retry(now, Scope::route, lane, commands);
}

}  // namespace penstock::flow
