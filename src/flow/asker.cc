// SPDX-License-Identifier: Apache-2.0
// Asks and answers.
#include "flow/asker.h"

#include <algorithm>
#include <utility>

namespace penstock::flow {

namespace {

/// Another lane waits for a permit that this one had, and has a slot already.
bool is_awaited_with_slot(const Lanes& lanes, const Lane& lane) {
  bool found = lanes.any_awaits_permit(lane.route, true);
  lanes.each_of_group(lane.group(), [&](const Lane& one) {
    found |= one.ask.awaits() == Booking::Scope::group && one.wants_no_slot() > 0;
  });
  return found;
}

}  // namespace

// ---- asks -----------------------------------------------------------------------------------------------------------

bool Asker::put(Time now, const Ask& ask) {
  booking_.clear();
  const bool answered = limiter_->ask(now, ask, booking_);
  if (!answered) stop_.ask_begins();
  return answered;
}

bool Asker::ask(Time now, Lane& lane, std::size_t count, const Load& load) {
  if (gates_.any()) count = admit(now, lane, count);
  if (count == 0) {
    lane.ask.told_for(load);
    booking_.clear();
    return true;
  }
  lane.ask.leave_line();
  stop_.not_reserved();
  const Ask ask = ask_of(lane, count, load);
  lane.ask.begin(count, load);
  lane.grew = false;
  return put(now, ask);
}

bool Asker::ask_to_resume(Time now, Lane& lane) {
  lane.ask.begin_to_resume();
  lane.ask.leave_line();
  const LaneKey key = lane.key();
  return put(now, {.group = key.group, .route = key.route, .weight = 0});
}

// The usual case, a free slot and no request ahead, needs no list and no heap. Any other answer is kept in the lane.
Asker::Asked Asker::ask_for_arrival(Time now, Lane& lane, const Load& load) {
  if (const Booking* refused = lane.wants() == 0 ? refused_before(now, lane, load) : nullptr) {
    lane.ask.stopped_by(refused->limited_by, now);
    return Asked::refused;
  }
  if (slots_.free() == 0 || stop_.holds(now) || !lane.at_rest()) return Asked::no;
  if (lanes_.any_awaits_permit(lane.route) || held_back(now, lane)) return Asked::no;
  if (gates_.any() && admit(now, lane, 1) == 0) {
    lane.ask.told_for(load);
    return gates_.asks() ? Asked::to_probe : Asked::no;
  }
  const bool answered = put(now, ask_of(lane, 1, load));
  if (answered && booking_.departures.size() == 1 && booking_.departures.front().at <= now) {
    booking_.departures.front().gates = gates_.pass(lane.group(), 1);
    return Asked::granted;
  }
  lane.ask.begin(1, load);
  lane.grew = false;
  if (!answered) return Asked::under_way;
  if (!book(now, lane, lane.ask.end(), booking_)) return Asked::refused;
  const bool pause_is_over = booking_.limited_by == kPause && booking_.departures.empty() && booking_.not_before <= now;
  return pause_is_over && admit(now, lane, 1) == 0 && gates_.asks() ? Asked::to_probe : Asked::to_wait;
}

const Booking* Asker::refused_before(Time now, const Lane& lane, const Load& load) {
  const LastRefusal& own = lane.ask.forbidden();
  const LastRefusal& last = own.covers(now, load) ? own : stop_.forbidden();
  if (!last.covers(now, load)) return nullptr;
  booking_.clear();
  booking_.stop = Booking::Stop::refused;
  booking_.limited_by = last.by;
  booking_.ask_again = last.until;
  return &booking_;
}

// `more` and `others` count only requests for which slots are left free by this ask.
Ask Asker::ask_of(const Lane& lane, std::size_t count, const Load& load) const {
  const Wants &own = lane.counted.wants, &all = lanes_.wants();
  const std::size_t left = all.requests - std::min(own.requests, count);
  const std::size_t slots = slots_.free() - (lane.wants_no_slot() > 0 ? 0 : std::min(slots_.free(), count));
  const auto with_slots = [&](std::int64_t units) {
    return left <= slots ? units : units * static_cast<std::int64_t>(slots) / static_cast<std::int64_t>(left);
  };
  const std::int64_t asked = std::min(own.units, static_cast<std::int64_t>(count) * load.weight);
  const std::int64_t behind = lane.route ? lane.route->unbooked_units - lane.counted.unbooked_units : 0;
  const LaneKey key = lane.key();
  return {.group = key.group,
          .route = key.route,
          .count = count,
          .weight = load.weight,
          .more = with_slots(own.units - asked),
          .others = with_slots(all.units - own.units),
          .of_route = std::min(behind, static_cast<std::int64_t>(slots)),
          .cost = load.cost};
}

// ---- answers --------------------------------------------------------------------------------------------------------

bool Asker::book(Time now, Lane& lane, std::size_t asked_for, const Booking& booking) {
  const std::size_t usable = std::min(asked_for, booking.departures.size());
  learn_pause(now, lane, booking);
  const std::size_t granted = gates_.any() && usable > 0 ? admit(now, lane, usable) : usable;
  // Any answer but "wait for a permit" means that the lane has lost its place in the line for a permit.
  if (lane.has_resuming() && (granted == asked_for || booking.stop != Booking::Stop::permit)) permit_may_be_free(lane);
  if (granted > 0) add_departures(now, lane, std::span(booking.departures).first(granted));
  give_back(now, lane.key(), std::span(booking.departures).subspan(granted));
  if (granted < usable) permit_may_be_free(lane), departures_came(now, lane.group(), usable - granted);
  const bool may_wait = granted == asked_for || granted < usable || note_stop(now, lane, booking);
  // Only when it is known what stops the route: else the next lane would ask in vain.
  if (granted > 0) lanes_.ask_for_route_no_more(now, lane);
  lane.ask.use_permits(granted);
  if (booking.stop == Booking::Stop::permit) lane.ask.take_permits(booking.scope);
  if (granted < asked_for) lanes_.pass_permits_on(now, lane);
  return may_wait;
}

void Asker::add_departures(Time now, Lane& lane, std::span<const Departure> granted) {
  const std::uint32_t gates = gates_.pass(lane.group(), granted.size());
  // A departure granted for now was held, if at all, by the limit of an earlier answer, not by the one named here.
  const LimitIndex held_by =
      lane.wants() > 0 ? reasons_.last_limit(requests_[lane.first_wanting(requests_)]) : kNoLimit;
  for (Departure departure : granted) {
    if (departure.limited_by == kNoLimit) departure.limited_by = held_by;
    departure.gates = gates;
    lane.departures.add(departure);
  }
  lanes_.served(lane);
  if (granted.front().at > now) return;
  stop_.granted_at_once();
  if (lane.route) lane.route->granted_at_once();
}

// False: the next request must be refused.
bool Asker::note_stop(Time now, Lane& lane, const Booking& booking) {
  const bool of_all = booking.scope == Booking::Scope::upstream;
  lane.ask.stopped_by(booking.limited_by, now);
  if (of_all) stop_.stopped_by(lane.ask.limited());
  if (booking.scope == Booking::Scope::route) lane.route->stopped_by(lane.ask.limited());
  if (booking.stop == Booking::Stop::refused) {
    const LastRefusal refusal{booking.limited_by, lane.ask.load(), booking.ask_again};
    of_all ? stop_.forbid(refusal) : lane.ask.forbid(refusal);
    return false;
  }
  if (booking.stop == Booking::Stop::unavailable) return false;
  tell(now, lane, booking);
  return true;
}

void Asker::tell(Time now, Lane& lane, const Booking& booking) {
  if (booking.stop == Booking::Stop::permit) {
    lanes_.ask_for_route_no_more(now, lane);
    lane.ask.enter_line(booking.scope);
    // It asks again, so that all are in the line; but what is beyond a full queue waits for this answer alone.
    if (std::exchange(lane.grew, false) && lane.queue.beyond() == 0) return;
    return lane.ask.await_permit(booking.scope);
  }
  if (booking.ask_again == 0 && !booking.departures.empty()) {  // the lane asks when its last departure is near
    if (booking.not_before <= now) return;
    if (booking.scope == Booking::Scope::upstream) return stop_.reserved();
    if (booking.scope == Booking::Scope::route) lane.route->reserved();
    return lane.ask.enter_line(booking.scope);
  }
  const Time named = booking.ask_again != 0 ? booking.ask_again : now + kHorizon;
  const Time ask_again = std::max(named, now + 1);  // time must pass in between
  if (booking.scope == Booking::Scope::group) {
    lanes_.ask_for_route_no_more(now, lane);
    lane.ask.enter_line(booking.scope);
    return lane.ask.ask_later(ask_again, std::max(booking.not_before, now));
  }
  if (booking.scope == Booking::Scope::route) {
    lane.ask.enter_line(booking.scope);
    const bool in_vain = booking.departures.empty();
    return lanes_.stop_route(now, lane, ask_again, std::max(booking.not_before, now), in_vain);
  }
  stop_.reserved();
  stop_.stop(lane, ask_again, booking.not_before);
}

bool Asker::book_permits(Time now, Lane& lane, const Booking& booking) {
  lane.ask.end();
  if (!booking.departures.empty()) return true;
  const bool refused = booking.stop == Booking::Stop::refused;
  // A shared limit in refuse mode has no line to wait in.
  const bool waits_in_line = booking.stop == Booking::Stop::permit || (refused && !asynchronous());
  const bool of_some = booking.scope != Booking::Scope::upstream && (waits_in_line || refused);
  const Time until = waits_in_line ? kUntilFree : std::max(booking.ask_again, now + kHorizon);
  if (waits_in_line) lane.ask.enter_line(booking.scope);
  if (of_some) {
    booking.scope == Booking::Scope::route ? lane.route->find_no_permit(until) : lane.ask.find_no_permit(until);
    if (!waits_in_line) stop_.some_resume_later(until);
  } else {
    waits_in_line ? stop_.find_no_permit() : stop_.resume_later(until);
  }
  return false;
}

// ---- gates of pauses ------------------------------------------------------------------------------------------------

/// How many departures the gates let pass. If fewer than `count`, the lane, or all of them, are told to wait.
std::size_t Asker::admit(Time now, Lane& lane, std::size_t count) {
  Booking stop;
  const std::size_t admitted = gates_.admit(now, lane.group(), count, stop);
  if (admitted == count) return count;
  if (admitted > 0) return admitted;  // the lane asks again, and is told then
  lane.ask.stopped_by(kPause, now);
  if (stop.scope == Booking::Scope::upstream) {
    stop_.stopped_by(lane.ask.limited());
    stop_.stop(lane, stop.ask_again, stop.not_before);
  } else {
    lanes_.ask_for_route_no_more(now, lane);
    lane.ask.ask_later(stop.ask_again, stop.not_before);
  }
  lanes_.pass_permits_on(now, lane);
  return 0;
}

/// The limiter tells of a pause that another process has drawn: by what stops the lane, or by when it departs. The
/// latter does not say whose pause it is: other lanes will be told if it is theirs too. It may be over: then it is to
/// be probed.
void Asker::learn_pause(Time now, const Lane& lane, const Booking& booking) {
  const bool departs = !booking.departures.empty();
  const LimitIndex by = departs ? booking.departures.front().limited_by : booking.limited_by;
  const Time until = departs ? booking.departures.front().at : booking.not_before;
  if (by != kPause || (departs && until <= now)) return;
  const bool of_all = !departs && booking.scope == Booking::Scope::upstream;
  gates_.learn(now, of_all ? std::string_view{} : lane.group(), until);
}

void Asker::leave_gates(Time now, Request& request, std::uint32_t index, bool answered) {
  if (!request.gated) return;
  request.gated = false;
  const std::string_view group = request.lane->group();
  if (!gates_.leave(group, index, answered)) return;
  gate_changes(now, {});
  gate_changes(now, group);
}

void Asker::gate_changes(Time now, std::string_view group) {
  if (group.empty()) return stop_.lift(now);
  lanes_.each_of_group(group, [&](Lane& lane) {
    if (lane.ask.told_to_wait()) lane.ask.forget_told();
    lanes_.rest(now, lane);
  });
}

// ---- departures and permits -----------------------------------------------------------------------------------------

Departure Asker::take_departure(Time now, Lane& lane) {
  const Departure departure = lane.departures.pop_front();
  // The process stood still meanwhile. The limiter must know before any lane asks for the same time.
  return now > departure.at + kOnTime ? limiter_->report_late(lane.key(), departure, now) : departure;
}

void Asker::give_back(Time now, LaneKey lane, std::span<const Departure> departures) {
  for (const Departure& departure : departures) limiter_->give_back(now, lane, departure);
}

void Asker::return_departure(Time now, const Lane& lane, const Departure& departure) {
  if (departure.gates != 0) gates_.give_back(lane.group(), departure);
  limiter_->give_back(now, lane.key(), departure);
}

// Earlier answers are void, as they assumed these departures. The permits are the lane's to ask for, unless it may find
// no slot to ask for while another lane has one.
void Asker::give_all_back(Time now, Lane& lane) {
  lane.ask.offer_permits(Booking::Scope::upstream, lane.departures.size());
  lane.ask.offer_permits(Booking::Scope::group, lane.departures.size());
  if (lane.route) lane.ask.offer_permits(Booking::Scope::route, lane.departures.size());
  while (!lane.departures.empty()) return_departure(now, lane, lane.departures.pop_back());
  lane.ask.forget_told();
  if (lane.queue.returned() == 0 && is_awaited_with_slot(lanes_, lane)) lanes_.pass_permits_on(now, lane);
}

void Asker::landed(Time now, Lane& lane, const Departure* unused) {
  if (unused) {
    limiter_->give_back(now, lane.key(), *unused);
    permit_may_be_free(lane);
    return departures_came(now, lane.group(), 1);
  }
  if (!limiter_->landed(now, lane.key())) return;
  permit_may_be_free(lane);
  stop_.resume_now(now);  // a tunnel that was refused a permit waits in no line for it
  lanes_.permit_came(now, lane);
}

void Asker::permit_may_be_free(Lane& lane) {
  lane.ask.permit_may_be_free();
  if (lane.route) lane.route->permit_may_be_free();
  stop_.permit_may_be_free();
}

// A departure that one lane gave back may be granted to another, earlier than that lane was told. So may the permit
// that it held, also to a tunnel that resumes, which waits in no line for it.
void Asker::departures_came(Time now, std::string_view group, std::size_t count) {
  if (count == 0) return;
  stop_.lift(now);
  stop_.resume_now(now);
  lanes_.departures_came(now, group, count);
}

// ---- changes to lanes -----------------------------------------------------------------------------------------------

void Asker::settle(Time now, Lane& lane) {
  std::size_t given_back = 0;
  for (; lane.has_surplus(); ++given_back) return_departure(now, lane, lane.departures.pop_back());
  if (given_back > 0) permit_may_be_free(lane);
  if (lane.queue.empty() && !lane.has_resuming() && lane.ask.line()) {
    // For itself alone: other lanes may still wait, for a permit or for what all of them or its route were told.
    limiter_->cancel_wait(now, Booking::Scope::group, lane.key());
    lane.ask.leave_line();
    permit_may_be_free(lane);  // tunnels that resume relied on the lane's place in the line, too
  }
  if (lane.queue.empty()) lane.ask.forget_told();
  if (lane.queue.empty() || (lane.wants() == 0 && !lane.ask.under_way())) lanes_.pass_permits_on(now, lane);
  lanes_.place(now, lane);
  if (stop_.has_reservation() && lanes_.none_wants() && !stop_.asks_under_way()) {
    stop_.not_reserved();
    stop_.lift(now);
    limiter_->cancel_wait(now, Booking::Scope::upstream, lane.key());
  }
  // While a lane asks for the route, a request that arrives may stand in no queue yet.
  const bool route_wants = lane.route && (lane.route->unbooked_units > 0 || lane.route->asking.lanes > 0);
  if (lane.route && lane.route->has_reservation() && !route_wants) {
    lane.route->not_reserved();
    lane.route->lift(now);
    limiter_->cancel_wait(now, Booking::Scope::route, lane.key());
  }
  departures_came(now, lane.group(), given_back);
  lanes_.forget_unused(lane);
}

void Asker::forget_if_lighter(Time now, Lane& lane) {
  if (lane.wants() > 0 && as_heavy(load_of(requests_[lane.first_wanting(requests_)]), lane.ask.load())) return;
  if (lane.ask.told_to_wait()) lane.ask.forget_told();
  stop_.lift_if_told(now, lane);
  if (lane.route && lane.route->told_to(lane)) lanes_.lift(now, *lane.route);
}

void Asker::retry(Time now, Booking::Scope scope, LaneKey key) {
  const auto rest = [&](Lane& lane) {
    lane.ask.permit_may_be_free();
    lane.ask.forbid({});
    lanes_.rest(now, lane);
  };
  if (scope == Booking::Scope::upstream) {
    stop_.retry(now);
    lanes_.retry(now, {});
  } else if (scope == Booking::Scope::route) {
    lanes_.retry(now, key.route);
  } else if (key.route.empty()) {
    lanes_.each_of_group(key.group, rest);
  } else if (Lane* lane = lanes_.find(key)) {
    rest(*lane);
  }
}

void Asker::change(Time now, std::span<const LimitIndex> moved) {
  stop_.change(now, moved);
  lanes_.change_routes(now, moved);
  lanes_.forget_told(now);
  lanes_.each([&](Lane& lane) {
    lane.renumber(moved);
    lane.ask.permit_may_be_free();
    const std::size_t granted = lane.flying() + lane.departures.size();
    if (granted > 0) limiter_->count_existing(now, lane.key(), granted);
    lanes_.rest(now, lane);  // also lanes that want nothing, which are in no list
  });
}

void Asker::replace(Limiter& limiter, bool knows_departures) {
  limiter_ = &limiter;
  lanes_.replace(limiter);
  stop_.not_reserved();
  lanes_.each([&](Lane& lane) {
    if (lane.ask.under_way()) lane.ask.end(), stop_.ask_ends();
    lane.ask.leave_line();
    lane.hand_over_departures(knows_departures);
  });
}

}  // namespace penstock::flow
