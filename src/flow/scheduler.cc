// SPDX-License-Identifier: Apache-2.0
// The rules of the scheduler. Each call makes its change, refreshes the lane it touched, and runs until stable: overdue
// requests are refused, due departures taken, free slots offered to the lanes in turn, until nothing more changes now.
#include "flow/scheduler.h"

#include <algorithm>
#include <utility>

namespace penstock::flow {

Scheduler::Scheduler(Settings settings, Limiter& limiter)
    : settings_(settings), slots_(slots_of(settings)), limiter_(&limiter), nameless_({}) {}

Scheduler::~Scheduler() = default;

// ---- calls ----------------------------------------------------------------------------------------------------------

Ticket Scheduler::arrive(Time now, const Arrival& arrival, Commands& commands) {
  time_passed(now);
  run_until_stable(now, commands);
  const LimitIndex forbidding = limiter_->forbids(arrival.weight);
  if (forbidding != kNoLimit) return refuse_arrival(now, arrival, Refused::too_heavy, forbidding, commands);
  if (const Lane* known = find_lane(arrival.group); free_slots() == 0 && !has_place(arrival, known))
    return refuse_arrival(now, arrival, Refused::queue_full, limiting(now, known, Asked::no), commands);

  const bool no_room = arrival.tunnel && !room_for_tunnel(now, commands);
  Lane& lane = lane_of(arrival.group);
  if (no_room) return wait_outside(now, arrival, lane, commands);
  if (must_wait_apart(now, arrival, lane)) return wait_apart(now, arrival, lane, commands);
  const Asked asked = ask_for(now, arrival, lane);
  if (asked == Asked::granted) return start_arrival(now, arrival, lane, commands);

  const Time patience = patience_of(arrival);
  const bool judged_later = limiter_->patience() > 0 && (asked == Asked::under_way || lane.asking()) &&
                            free_slots() > 0 && (!queue_full() || lane.size() < slots_ - in_flight_);
  const Time deadline = now + (judged_later ? std::max(patience, limiter_->patience()) : patience);
  std::optional<Refused> why;
  if (asked == Asked::refused) {
    why = booking_.stop == Booking::Stop::refused ? Refused::limited : Refused::unavailable;
  } else if (!judged_later) {
    why = refusal(now, arrival, lane, deadline);
  }
  if (!why && !judged_later && queue_full()) make_room(now, arrival, commands);
  const Wait wait{.deadline = deadline, .beyond_queue = judged_later && queue_full()};
  const Ticket ticket = why ? refuse_arrival(now, arrival, *why, limiting(now, &lane, asked), commands)
                            : keep_waiting(now, arrival, lane, wait);
  refresh(now, lane, commands);
  run_until_stable(now, commands);
  return ticket;
}

void Scheduler::cancel(Time now, Ticket ticket, Commands& commands) {
  if (requests_.stage(ticket) == Stage::released) return;
  end(now, ticket.index, commands);
}

void Scheduler::land(Time now, Ticket ticket, Commands& commands) {
  const Stage stage = requests_.stage(ticket);
  if (stage == Stage::released) return;
  if (stage == Stage::flying) flights_.landed(now, now - requests_[ticket.index].took_off);
  end(now, ticket.index, commands);
}

void Scheduler::answer(Time now, std::string_view group, const Booking& booking, Commands& commands) {
  time_passed(now);
  const std::size_t reserved = reserved_;
  refuse_until(now - 1, now, commands);
  const std::size_t given_back = reserved - reserved_;
  Lane* lane = find_lane(group);
  if (!lane || !lane->asking()) {
    for (const Departure& departure : booking.departures) limiter_->give_back(now, group, departure);
    return;
  }
  --under_way_;
  if (lane->asks_to_resume) {
    resume_answered(now, *lane, booking, commands);
  } else {
    use(now, *lane, lane->answered(), booking, commands);
  }
  wake_told_lanes(now, given_back);  // the limiter answered before these departures were given back
  run_until_stable(now, commands);
  if (pending_ > settings_.max_pending) refuse_excess(now, group, commands);
}

void Scheduler::retry(Time now, Booking::Scope scope, std::string_view group, Commands& commands) {
  time_passed(now);
  refuse_until(now - 1, now, commands);
  if (scope == Booking::Scope::upstream) {
    no_permit_ = false;
    forbidden_ = {};
    stopped_until_ = now;
    while (!awaiting_.empty()) rest(now, awaiting_.front());
  } else if (Lane* lane = find_lane(group)) {
    lane->no_permit = false;
    lane->forbidden = {};
    rest(now, *lane);
  }
  run_until_stable(now, commands);
}

void Scheduler::advance(Time now, Commands& commands) {
  time_passed(now);
  run_until_stable(now, commands);
}

// ---- what can be read -----------------------------------------------------------------------------------------------

std::optional<Time> Scheduler::wake_at() const {
  std::optional<Time> next = due_.first_time();
  const auto at = [&next](Time moment) { next = next ? std::min(*next, moment) : moment; };
  if (!deadlines_.empty()) at(deadlines_.first_time());
  const bool somebody_may_ask = !returning_.empty() || (free_slots() > 0 && !wanting_.empty() && !asks_are_rationed());
  if (somebody_may_ask) at(stopped_until_);
  if (free_slots() > 0 && !resuming_.empty() && resume_at_ != 0) at(resume_at_);
  if (free_slots() > 0 && !outside_.empty() && makes_room_at()) at(std::max(*makes_room_at(), stopped_until_));
  return next;
}

// ---- the course of a call -------------------------------------------------------------------------------------------

void Scheduler::run_until_stable(Time now, Commands& commands) {
  refuse_until(now - 1, now, commands);
  do {
    take_off_due(now, commands);
    let_in(now, commands);
    resume_rested(now, commands);
    serve_lanes(now, commands);
    // A booked departure may be too light for a returned request: its lane gives it back and must ask again.
  } while (refuse_until(now, now, commands) || (!held(now) && !returning_.empty()) || next_to_resume(now) ||
           may_let_in(now));
}

bool Scheduler::refuse_until(Time deadline, Time now, Commands& commands) {
  bool refused = false;
  for (deadlines_.prune(requests_, pending_); !deadlines_.empty() && deadlines_.first_time() <= deadline;
       deadlines_.prune(requests_, pending_)) {
    const std::uint32_t index = deadlines_.first().index;
    Lane& lane = *requests_[index].lane;
    refuse(now, index, Refused::wait_over, limited_by(now, requests_[index]), commands);
    refresh(now, lane, commands);
    refused = true;
  }
  return refused;
}

void Scheduler::take_off_due(Time now, Commands& commands) {
  while (Lane* lane = due_.first_by(now)) {
    if (lane->rejoins_by(now)) {
      rejoin(now, *lane, commands);
    } else if (lane->departs_by(now)) {
      start_head(now, *lane, commands);
    } else {
      lane->forget_told();
    }
    refresh(now, *lane, commands);
  }
}

void Scheduler::serve_lanes(Time now, Commands& commands) {
  const auto may_go_on = [&] { return !held(now) && free_slots() > 0 && !wanting_.empty() && !asks_are_rationed(); };
  const auto some_return = [&] { return !held(now) && !returning_.empty(); };
  while (some_return() || may_go_on()) {
    while (some_return()) ask(now, returning_.front(), slots_, commands);
    for (std::size_t lanes = wanting_.size(); lanes > 0 && may_go_on(); --lanes) {
      ask(now, wanting_.front(), (free_slots() + lanes - 1) / lanes, commands);
    }
  }
}

void Scheduler::end(Time now, std::uint32_t index, Commands& commands) {
  time_passed(now);
  Lane& lane = *requests_[index].lane;
  const Stage stage = requests_[index].stage;
  if (stage == Stage::flying) {
    --lane.flying;
    if (limiter_->landed(now, lane.group())) permit_came(now, lane);
  } else {
    take_out(lane, index);
  }
  if (stage == Stage::flying || stage == Stage::returned) leave_slot(requests_[index]);
  release(index);
  refresh(now, lane, commands);
  run_until_stable(now, commands);
}

// ---- a lane asks, is answered, and starts or loses the request at its head ------------------------------------------

void Scheduler::ask(Time now, Lane& lane, std::size_t share, Commands& commands) {
  if (lane.has_anonymous() && set_apart(now, lane, commands)) return;
  const Lane::Run run = lane.next_run(requests_);
  if (const LastRefusal& forbidden = forbidding(now, lane, run.weight); forbidden.covers(now, run.weight)) {
    pass_permits_on(now, lane);
    return refuse_next(now, lane,
                       {.stop = Booking::Stop::refused, .limited_by = forbidden.by, .ask_again = forbidden.until},
                       commands);
  }
  const std::size_t count = std::min(share, run.count);
  LaneList::move(lane, nullptr);  // it comes last in its list if it wants more
  booking_.clear();
  lane.line.reset();
  has_reservation_ = false;
  const Ask ask = ask_of(lane, count, run.weight);
  lane.asked(count, run.weight);
  if (limiter_->ask(now, ask, booking_)) {
    use(now, lane, lane.answered(), booking_, commands);
  } else {
    ++under_way_;
    refresh(now, lane, commands);
  }
}

// `more` and `others` count only requests for which slots are left free by this ask.
Ask Scheduler::ask_of(const Lane& lane, std::size_t count, int weight) const {
  const Wants& own = lane.counted_wants;
  const std::size_t left = wants_.requests - std::min(own.requests, count);
  const std::size_t slots = free_slots() - (lane.wants_no_slot() > 0 ? 0 : std::min(free_slots(), count));
  const auto with_slots = [&](std::int64_t units) {
    return left <= slots ? units : units * static_cast<std::int64_t>(slots) / static_cast<std::int64_t>(left);
  };
  const std::int64_t asked = std::min(own.units, static_cast<std::int64_t>(count) * weight);
  return {.group = lane.group(),
          .count = count,
          .weight = weight,
          .more = with_slots(own.units - asked),
          .others = with_slots(wants_.units - own.units)};
}

// The lane may be deleted by this.
void Scheduler::use(Time now, Lane& lane, std::size_t asked_for, const Booking& booking, Commands& commands) {
  const bool to_refuse = !book(now, lane, asked_for, booking);
  const std::size_t granted = std::min(asked_for, booking.departures.size());
  lane.called -= std::min(lane.called, granted);
  if (booking.stop == Booking::Stop::permit && booking.scope == Booking::Scope::upstream) lane.called = 0;
  if (granted < asked_for) pass_permits_on(now, lane);
  while (!lane.empty() && lane.departs_by(now)) start_head(now, lane, commands);
  // With an asynchronous limiter another ask would be under way when it departs, again for the lighter requests behind.
  const bool too_light = limiter_->patience() > 0 && !lane.empty() && !lane.departures().empty() &&
                         requests_[lane.head()].weight > lane.departures().front().weight;
  if (too_light) give_all_back(now, lane);
  if (to_refuse && lane.wants() > 0) return refuse_next(now, lane, booking, commands);
  lane.keeps_reservation = booking.departures.empty() && held(now);
  refresh(now, lane, commands);
}

// False: the next request must be refused.
bool Scheduler::book(Time now, Lane& lane, std::size_t asked_for, const Booking& booking) {
  const std::size_t granted = std::min(asked_for, booking.departures.size());
  // Any answer but "wait for a permit" means that the lane has lost its place in the line for a permit.
  if (lane.resuming > 0 && (granted == asked_for || booking.stop != Booking::Stop::permit)) permit_may_be_free(lane);
  // A departure granted for now was held, if at all, by the limit of an earlier answer, not by the one named here.
  const LimitIndex held_by =
      granted > 0 && lane.wants() > 0 ? last_limit(requests_[lane.first_wanting(requests_)]) : kNoLimit;
  for (std::size_t i = 0; i < granted; ++i) {
    Departure departure = booking.departures[i];
    if (departure.limited_by == kNoLimit) departure.limited_by = held_by;
    lane.book(departure);
  }
  for (std::size_t i = granted; i < booking.departures.size(); ++i) {
    limiter_->give_back(now, lane.group(), booking.departures[i]);
  }
  if (granted > 0) lane.last_served = ++turns_;
  if (granted > 0 && booking.departures.front().at <= now) most_asks_ = std::min(kAnyNumber, 2 * most_asks_);
  if (granted == asked_for) return true;
  lane.limited = {booking.limited_by, now};
  if (booking.scope == Booking::Scope::upstream) limited_ = lane.limited;
  if (booking.stop == Booking::Stop::refused) {
    LastRefusal& last = booking.scope == Booking::Scope::upstream ? forbidden_ : lane.forbidden;
    last = {booking.limited_by, lane.asked_weight(), booking.ask_again};
    return false;
  }
  if (booking.stop == Booking::Stop::unavailable) return false;
  tell(now, lane, booking);
  return true;
}

void Scheduler::tell(Time now, Lane& lane, const Booking& booking) {
  if (booking.stop == Booking::Stop::permit) {
    lane.line = booking.scope;
    return lane.await_permit(booking.scope);
  }
  if (booking.ask_again == 0 && !booking.departures.empty()) {  // the lane asks when its last departure is near
    if (booking.not_before > now && booking.scope == Booking::Scope::upstream) has_reservation_ = true;
    return;
  }
  const Time named = booking.ask_again != 0 ? booking.ask_again : now + kHorizon;
  const Time ask_again = std::max(named, now + 1);  // time must pass in between
  if (booking.scope == Booking::Scope::group) {
    lane.line = booking.scope;
    return lane.ask_later(ask_again, std::max(booking.not_before, now));
  }
  has_reservation_ = true;
  most_asks_ = 1;
  stopped_lane_ = &lane;
  stopped_until_ = ask_again;
  stopped_not_before_ = booking.not_before;
}

// The lane may be deleted by this.
void Scheduler::refuse_next(Time now, Lane& lane, const Booking& booking, Commands& commands) {
  const std::uint32_t index = lane.first_wanting(requests_);
  lane.asked(0, requests_[index].weight);
  if (requests_[index].stage == Stage::returned) {
    lane.ask_later(std::max(booking.ask_again, now + kHorizon), now);  // it has been accepted: it waits
  } else {
    const bool limited = booking.stop == Booking::Stop::refused;
    refuse(now, index, limited ? Refused::limited : Refused::unavailable, booking.limited_by, commands);
    if (limited) commands.refuse.back().not_before(now, booking.ask_again);
  }
  refresh(now, lane, commands);
}

void Scheduler::start_head(Time now, Lane& lane, Commands& commands) {
  const std::uint32_t index = lane.head();
  if (requests_[index].weight > lane.departures().front().weight) return give_all_back(now, lane);
  Departure departure = lane.pop_departure();
  const Time booked = departure.at;
  take_out(lane, index);
  Request& request = requests_[index];
  if (request.stage == Stage::waiting) take_slot(now, request);
  request.stage = Stage::flying;
  ++lane.flying;
  const Time waited = now - request.arrived;
  const LimitIndex by = waited > 0 ? name_for(now, request, departure.limited_by) : kNoLimit;
  // The process stood still meanwhile. The limiter must know before any lane asks for the same time.
  if (now > booked + kOnTime) departure = limiter_->report_late(lane.group(), departure, now);
  commands.start.push_back({request.id, waited, by, departure, booked});
}

// The departures were booked for lighter requests, which left or were overtaken by a returned one: the lane asks again
// for the head, which weighs more, and then for the rest. Earlier answers are void, as they assumed these departures.
void Scheduler::give_all_back(Time now, Lane& lane) {
  for (; !lane.departures().empty(); ++lane.called) {
    limiter_->give_back(now, lane.group(), lane.drop_latest_departure());
  }
  lane.forget_told();
}

void Scheduler::take_out(Lane& lane, std::uint32_t index) {
  if (RequestList* list = list_elsewhere(requests_[index])) {
    list->remove(requests_, index);
    --lane.elsewhere;
    lane.resuming -= list == &resuming_ ? 1 : 0;
    lane.outside -= list == &outside_ ? 1 : 0;
  } else {
    lane.remove(requests_, index);
  }
  lengths_.place(lane);
  if (requests_[index].stage == Stage::waiting) --pending_;
}

void Scheduler::refuse(Time now, std::uint32_t index, Refused why, LimitIndex by, Commands& commands) {
  const Request& request = requests_[index];
  const Lane& lane = *request.lane;
  const Time not_before = request.apart == Apart::now ? lane.apart_until : 0;
  take_out(*request.lane, index);
  const Time wait = retry_after(now, lane.group(), request.weight, not_before);
  commands.refuse.push_back({request.id, why, now - request.arrived, wait, by});
  release(index);
}

// ---- after any change to a lane -------------------------------------------------------------------------------------

void Scheduler::refresh(Time now, Lane& lane, Commands& commands) {
  refuse_overdue(now, lane, commands);
  std::size_t given_back = 0;
  for (; lane.has_surplus(); ++given_back) limiter_->give_back(now, lane.group(), lane.drop_latest_departure());
  if (given_back > 0) permit_may_be_free(lane);
  if (lane.empty() && lane.resuming == 0 && lane.line) {
    limiter_->cancel_wait(now, *std::exchange(lane.line, std::nullopt), lane.group());
    permit_may_be_free(lane);  // tunnels that resume relied on the lane's place in the line, too
  }
  if (lane.empty()) lane.forget_told();
  if (lane.empty() || (lane.wants() == 0 && !lane.asking())) pass_permits_on(now, lane);
  place(now, lane);
  if (has_reservation_ && nobody_wants()) {
    has_reservation_ = false;
    stopped_until_ = std::min(stopped_until_, now);
    limiter_->cancel_wait(now, Booking::Scope::upstream, lane.group());
  }
  wake_told_lanes(now, given_back);
  const bool gone =
      lane.at_rest() && lane.apart().empty() && lane.flying == 0 && lane.elsewhere == 0 && &lane != &nameless_;
  if (gone) lanes_.erase(lanes_.find(lane.group()));
}

void Scheduler::refuse_overdue(Time now, Lane& lane, Commands& commands) {
  const auto waits_too_long = [&](std::uint32_t index) {
    forget_what_heavier_was_told(now, lane);
    return requests_[index].deadline < nobody_leaves_before(now, lane).value_or(now);
  };
  while (!lane.waiting().empty() && waits_too_long(lane.waiting().front())) {
    const std::uint32_t index = lane.waiting().front();
    refuse(now, index, Refused::wait_over, limited_by(now, requests_[index]), commands);
  }
  forget_what_heavier_was_told(now, lane);
}

std::optional<Time> Scheduler::nobody_leaves_before(Time now, const Lane& lane) const {
  const std::optional<Time> own = lane.nobody_leaves_before();
  return !own && held(now) && !lane.asking() ? std::optional(stopped_not_before_) : own;
}

void Scheduler::rest(Time now, Lane& lane) {
  lane.forget_told();
  place(now, lane);
}

void Scheduler::place(Time now, Lane& lane) {
  lane.for_slots = for_slots(now, lane);
  lane.noted = full_time_;
  lane.lacks_slot = false;
  reserved_ = reserved_ - lane.counted + lane.reserves();
  lane.counted = lane.reserves();
  unbooked_units_ += lane.unbooked_units() - lane.counted_units;
  lane.counted_units = lane.unbooked_units();
  const Wants lane_wants = lane.wants_for_limits();
  wants_.requests = wants_.requests - lane.counted_wants.requests + lane_wants.requests;
  wants_.units += lane_wants.units - lane.counted_wants.units;
  lane.counted_wants = lane_wants;
  const bool wants = lane.wants() > 0 && !lane.asking();
  if (wants && !lane.departures().empty() && !lane.was_told_to_wait()) {
    const Time last = lane.departures().back().at;
    if (last > now + limiter_->lead()) lane.ask_later(last - limiter_->lead(), now);
  }
  if (!wants) {
    lane.await_none();  // a lane in no list would not learn of the permit
    LaneList::move(lane, nullptr);
  } else if (lane.awaits() == Booking::Scope::upstream) {
    LaneList::move(lane, &awaiting_);
    if (lane.wants_no_slot() > 0) awaiting_.put_first(lane);  // other lanes need a slot too, and may not find one
  } else if (lane.awaits() || lane.was_told_to_wait()) {
    LaneList::move(lane, &told_);
  } else {
    LaneList& list = lane.wants_no_slot() > 0 ? returning_ : wanting_;
    lane.lacks_slot = &list == &wanting_;
    LaneList::move(lane, &list);
    if (std::exchange(lane.keeps_reservation, false)) list.put_first(lane);
  }
  due_.place(lane);
}

Lane& Scheduler::lane_of(std::string_view group) {
  if (Lane* known = find_lane(group)) return *known;
  auto lane = std::make_unique<Lane>(group);
  lane->last_served = ++turns_;
  const std::string_view name = lane->group();
  return *lanes_.emplace(name, std::move(lane)).first->second;
}

Lane* Scheduler::find_lane(std::string_view group) { return const_cast<Lane*>(std::as_const(*this).find_lane(group)); }

const Lane* Scheduler::find_lane(std::string_view group) const {
  if (group.empty()) return &nameless_;
  const auto found = lanes_.find(group);
  return found == lanes_.end() ? nullptr : found->second.get();
}

}  // namespace penstock::flow
