// SPDX-License-Identifier: Apache-2.0
// The rules by which lanes are served. After any change to a lane, requests that cannot leave in time are refused, and
// the lane is put where it belongs.
#include "flow/lane_server.h"

#include <algorithm>

namespace penstock::flow {

// ---- the steps of a call --------------------------------------------------------------------------------------------

void LaneServer::do_due(Time now, Lane& lane, Commands& commands) {
  if (lane.departures.due_by(now)) {
    start_head(now, lane, commands);
  } else {
    lane.ask.forget_told();
  }
  refresh(now, lane, commands);
}

void LaneServer::serve_in_turn(Time now, Commands& commands) {
  while (some_return(now)) ask(now, lanes_.returning().front(), slots_.total(), commands);
  for (std::size_t lanes = lanes_.wanting().size(); lanes > 0 && may_ask(now); --lanes) {
    ask(now, lanes_.wanting().front(), (slots_.free() + lanes - 1) / lanes, commands);
  }
}

std::optional<Time> LaneServer::wake_at() const {
  std::optional<Time> next = lanes_.next_due();
  const auto at = [&next](Time moment) { next = next ? std::min(*next, moment) : moment; };
  if (const auto deadline = queue_.next_deadline()) at(*deadline);
  const bool some_ask = slots_.free() > 0 && !lanes_.wanting().empty() && !stop_.asks_are_rationed();
  if (some_ask || !lanes_.returning().empty()) at(stop_.until());
  return next;
}

// ---- a lane asks, is answered, and starts or loses the request at its head ------------------------------------------

void LaneServer::ask(Time now, Lane& lane, std::size_t share, Commands& commands) {
  if (lanes_.hold_back(now, lane)) return;
  const LaneQueue::Run run = lane.next_run(requests_);
  if (const Booking* refused = asker_.refused_before(now, lane, run.load)) {
    lanes_.pass_permits_on(now, lane);
    return refuse_next(now, lane, *refused, commands);
  }
  LaneList::move(lane, nullptr);  // it comes last in its list if it wants more afterwards
  if (!asker_.ask(now, lane, std::min(share, run.count), run.load)) return refresh(now, lane, commands);
  apply(now, lane, lane.ask.end(), asker_.answer(), commands);
}

void LaneServer::apply(Time now, Lane& lane, std::size_t asked_for, const Booking& booking, Commands& commands) {
  const bool to_refuse = !asker_.book(now, lane, asked_for, booking);
  while (!lane.queue.empty() && lane.departures.due_by(now)) start_head(now, lane, commands);
  // With an asynchronous limiter another ask would be under way when it departs, again for the lighter requests behind.
  const bool too_light = asker_.asynchronous() && !lane.queue.empty() && !lane.departures.empty() &&
                         !as_heavy(lane.departures.front().load(), load_of(requests_[lane.queue.head()]));
  if (too_light) asker_.give_all_back(now, lane);
  if (to_refuse && lane.wants() > 0) return refuse_next(now, lane, booking, commands);
  lane.ask.keep_precedence(booking.departures.empty() && stop_.holds(now));
  refresh(now, lane, commands);
}

void LaneServer::refuse_next(Time now, Lane& lane, const Booking& booking, Commands& commands) {
  const std::uint32_t index = lane.first_wanting(requests_);
  lane.ask.told_for(load_of(requests_[index]));
  if (requests_[index].stage == Stage::returned) {
    lanes_.ask_for_route_no_more(now, lane);  // requests of other lanes are to be refused meanwhile
    lane.ask.ask_later(std::max(booking.ask_again, now + kHorizon), now);  // it has been accepted: it waits
  } else {
    const bool limited = booking.stop == Booking::Stop::refused;
    take_out(now, index, limited ? Refused::limited : Refused::unavailable, booking.limited_by, commands);
    if (limited) commands.refuse.back().not_before(now, booking.ask_again);
  }
  refresh(now, lane, commands);
}

void LaneServer::start_head(Time now, Lane& lane, Commands& commands) {
  const std::uint32_t index = lane.queue.head();
  if (!as_heavy(lane.departures.front().load(), load_of(requests_[index]))) return asker_.give_all_back(now, lane);
  const Time booked = lane.departures.front().at;
  const Departure departure = asker_.take_departure(now, lane);
  queue_.remove(index);
  Request& request = requests_[index];
  request.gated = asker_.pass_gates(lane, index, departure);
  if (request.stage == Stage::waiting) slots_.take(now, request);
  lane.change_stage(request, Stage::flying);
  const LimitIndex by = reasons_.at_take_off(now, request, departure.limited_by);
  commands.start.push_back({request.id, now - request.arrived, by, departure, booked});
}

// ---- refusals -------------------------------------------------------------------------------------------------------

void LaneServer::refuse(Time now, std::uint32_t index, Refused why, Commands& commands) {
  Lane& lane = *requests_[index].lane;
  take_out(now, index, why, reasons_.of(now, requests_[index]), commands);
  refresh(now, lane, commands);
}

void LaneServer::take_out(Time now, std::uint32_t index, Refused why, LimitIndex by, Commands& commands) {
  const Request& request = requests_[index];
  Lane& lane = *request.lane;
  queue_.remove(index);
  const Time paused = asker_.paused_until(lane.group());
  const Time wait = estimates_.retry_after(now, asker_.limiter(), lane.key(), load_of(request), paused);
  commands.refuse.push_back({request.id, why, now - request.arrived, wait, by});
  lane.forget(requests_, index);
}

void LaneServer::refresh(Time now, Lane& lane, Commands& commands) {
  const auto waits_too_long = [&](std::uint32_t index) {
    asker_.forget_what_heavier_was_told(now, lane);
    return requests_[index].deadline < asker_.nobody_leaves_before(now, lane).value_or(now);
  };
  while (!lane.queue.waiting().empty() && waits_too_long(lane.queue.waiting().front())) {
    const std::uint32_t index = lane.queue.waiting().front();
    take_out(now, index, Refused::wait_over, reasons_.of(now, requests_[index]), commands);
  }
  asker_.forget_what_heavier_was_told(now, lane);
  asker_.settle(now, lane);
}

}  // namespace penstock::flow
