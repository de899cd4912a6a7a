// SPDX-License-Identifier: Apache-2.0
// The rules of the heart. Each call makes its change, refreshes the lane it touched, and settles: overdue requests are
// refused, due departures taken, free slots offered to the lanes in turn, until nothing more happens at this moment.
#include "flow/upstream.h"

#include <algorithm>

namespace penstock::flow {

Upstream::Upstream(Settings settings, Booker& booker)
    : settings_(settings),
      slots_(static_cast<std::size_t>(std::max(settings.max_concurrent, 1))),
      booker_(booker),
      nameless_({}) {}

Upstream::~Upstream() = default;

// ---- calls ----------------------------------------------------------------------------------------------------------

Ticket Upstream::arrive(Time now, RequestId id, Commands& commands, std::optional<Time> max_wait,
                        std::string_view group) {
  settle(now, commands);
  const auto turn_away = [&](Refused why) {
    commands.refuse.push_back({id, why, 0, retry_after(now)});
    return Ticket{};
  };
  if (free_slots() == 0 && queue_full()) return turn_away(Refused::queue_full);

  Lane& lane = lane_of(group);
  if (may_start_now(now, lane)) return start_newcomer(now, id, lane, commands);

  const Time patience = std::max<Time>(0, std::min(settings_.max_wait, max_wait.value_or(settings_.max_wait)));
  const auto why = refusal(now, lane, now + patience);
  const Ticket ticket = why ? turn_away(*why) : keep_waiting(now, id, lane, now + patience);
  refresh(now, lane, commands);
  settle(now, commands);
  return ticket;
}

void Upstream::leave(Time now, Ticket ticket, Commands& commands) {
  if (requests_.stage(ticket) == Stage::released) return;
  end(now, ticket.index, commands);
}

void Upstream::land(Time now, Ticket ticket, Commands& commands) {
  const Stage stage = requests_.stage(ticket);
  if (stage == Stage::released) return;
  if (stage == Stage::flying) flights_.landed(now, now - requests_[ticket.index].took_off);
  end(now, ticket.index, commands);
}

void Upstream::again(Time now, Ticket ticket, Commands& commands) {
  if (requests_.stage(ticket) != Stage::flying) return;
  Request& request = requests_[ticket.index];
  Lane& lane = *request.lane;
  request.stage = Stage::returned;
  lane.join(requests_, ticket.index);
  --lane.flying;
  refresh(now, lane, commands);
  settle(now, commands);
}

void Upstream::answer(Time now, std::string_view group, const Booking& booking, Commands& commands) {
  refuse_until(now - 1, now, commands);
  Lane* lane = find_lane(group);
  if (!lane || !lane->asking()) {
    for (const Departure& departure : booking.departures) booker_.give_back(now, group, departure);
    return;
  }
  use(now, *lane, lane->answered(), booking, commands);
  refresh(now, *lane, commands);
  settle(now, commands);
}

void Upstream::advance(Time now, Commands& commands) { settle(now, commands); }

// ---- what can be read -----------------------------------------------------------------------------------------------

std::optional<Time> Upstream::wake_at() const {
  const std::optional<Time> due = due_.first_time();
  if (deadlines_.empty()) return due;
  return due ? std::min(*due, deadlines_.first_time()) : deadlines_.first_time();
}

Time Upstream::oldest_wait(Time now) const {
  Time oldest = now;
  const auto look = [&](const Lane& lane) {
    if (!lane.waiting().empty()) oldest = std::min(oldest, requests_[lane.waiting().front()].arrived);
  };
  look(nameless_);
  for (const auto& [group, lane] : lanes_) look(*lane);
  return now - oldest;
}

std::int64_t Upstream::retry_after(Time now) const {
  const auto ahead = static_cast<std::int64_t>(pending_) * flights_.mean(now);
  const auto served = static_cast<std::int64_t>(slots_) * 1'000'000;  // µs of flight in a second
  return std::clamp<std::int64_t>((ahead + served - 1) / served, 1, 3600);
}

// ---- the course of a call -------------------------------------------------------------------------------------------

void Upstream::settle(Time now, Commands& commands) {
  refuse_until(now - 1, now, commands);
  do {
    take_off_due(now, commands);
    serve_lanes(now, commands);
  } while (refuse_until(now, now, commands));
}

bool Upstream::refuse_until(Time deadline, Time now, Commands& commands) {
  bool refused = false;
  for (deadlines_.prune(requests_, pending_); !deadlines_.empty() && deadlines_.first_time() <= deadline;
       deadlines_.prune(requests_, pending_)) {
    const std::uint32_t index = deadlines_.first().index;
    Lane& lane = *requests_[index].lane;
    refuse(now, index, commands);
    refresh(now, lane, commands);
    refused = true;
  }
  return refused;
}

void Upstream::take_off_due(Time now, Commands& commands) {
  while (Lane* lane = due_.first_by(now)) {
    if (lane->departs_by(now)) {
      lane->pop_departure();
      start_head(now, *lane, commands);
    } else {
      lane->forget_ask_again();
    }
    refresh(now, *lane, commands);
  }
}

void Upstream::serve_lanes(Time now, Commands& commands) {
  while (!returning_.empty()) {
    Lane& lane = returning_.front();
    ask(now, lane, lane.wants_no_slot(), commands);
  }
  while (free_slots() > 0 && !wanting_.empty()) {
    for (std::size_t lanes = wanting_.size(); lanes > 0 && free_slots() > 0 && !wanting_.empty(); --lanes) {
      Lane& lane = wanting_.front();
      const std::size_t share = (free_slots() + lanes - 1) / lanes;
      ask(now, lane, std::min(share, lane.wants()), commands);
    }
  }
}

void Upstream::end(Time now, std::uint32_t index, Commands& commands) {
  Lane& lane = *requests_[index].lane;
  const Stage stage = requests_[index].stage;
  if (stage == Stage::flying) {
    --lane.flying;
  } else {
    take_out(lane, index);
  }
  if (stage != Stage::waiting) --in_flight_;
  requests_.release(index);
  refresh(now, lane, commands);
  settle(now, commands);
}

// ---- a newcomer -----------------------------------------------------------------------------------------------------

// The usual way, with a slot free and nobody before it: no list, no heap. Any other answer stays in the lane.
bool Upstream::may_start_now(Time now, Lane& lane) {
  if (free_slots() == 0 || !lane.at_rest()) return false;
  booking_.clear();
  if (!booker_.ask(now, {.group = lane.group()}, booking_)) {
    lane.asked(1);
    return false;
  }
  if (booking_.departures.size() == 1 && booking_.departures.front().at <= now) return true;
  book(now, lane, 1, booking_);
  return false;
}

std::optional<Refused> Upstream::refusal(Time now, const Lane& lane, Time deadline) const {
  if (queue_full()) return Refused::queue_full;
  const bool sure_to_exceed = lane.nobody_leaves_before().value_or(now) > deadline;
  if (deadline <= now || sure_to_exceed) return Refused::wait_over;
  return std::nullopt;
}

Ticket Upstream::start_newcomer(Time now, RequestId id, Lane& lane, Commands& commands) {
  const std::uint32_t index = requests_.take();
  Request& request = requests_[index];
  request.id = id;
  request.arrived = request.took_off = now;
  request.lane = &lane;
  request.stage = Stage::flying;
  lane.last_served = ++turns_;
  ++lane.flying;
  ++in_flight_;
  commands.start.push_back({id, 0});
  return requests_.ticket(index);
}

Ticket Upstream::keep_waiting(Time now, RequestId id, Lane& lane, Time deadline) {
  const std::uint32_t index = requests_.take();
  Request& request = requests_[index];
  request.id = id;
  request.arrived = now;
  request.deadline = deadline;
  request.lane = &lane;
  request.stage = Stage::waiting;
  lane.join(requests_, index);
  ++pending_;
  deadlines_.add(deadline, requests_.ticket(index));
  return requests_.ticket(index);
}

// ---- a lane asks, is answered, and starts or loses the request at its head
// ---------------------------------------------

void Upstream::ask(Time now, Lane& lane, std::size_t count, Commands& commands) {
  LaneList::move(lane, nullptr);  // so that it comes last if it wants more
  booking_.clear();
  if (booker_.ask(now, {.group = lane.group(), .count = count}, booking_)) {
    use(now, lane, count, booking_, commands);
  } else {
    lane.asked(count);
  }
  refresh(now, lane, commands);
}

void Upstream::use(Time now, Lane& lane, std::size_t asked_for, const Booking& booking, Commands& commands) {
  book(now, lane, asked_for, booking);
  while (!lane.empty() && lane.departs_by(now)) {
    lane.pop_departure();
    start_head(now, lane, commands);
  }
}

void Upstream::book(Time now, Lane& lane, std::size_t asked_for, const Booking& booking) {
  const std::size_t granted = std::min(asked_for, booking.departures.size());
  for (std::size_t i = 0; i < booking.departures.size(); ++i) {
    if (i < granted) {
      lane.book(booking.departures[i].at);
    } else {
      booker_.give_back(now, lane.group(), booking.departures[i]);
    }
  }
  if (granted > 0) lane.last_served = ++turns_;
  if (granted == asked_for) return;
  const Time ask_again = std::max(booking.ask_again, now + 1);  // time must pass in between
  lane.ask_later(ask_again, std::max(booking.not_before, now));
}

void Upstream::start_head(Time now, Lane& lane, Commands& commands) {
  const std::uint32_t index = lane.head();
  take_out(lane, index);
  Request& request = requests_[index];
  if (request.stage == Stage::waiting) {
    request.took_off = now;
    ++in_flight_;
  }
  request.stage = Stage::flying;
  ++lane.flying;
  commands.start.push_back({request.id, now - request.arrived});
}

void Upstream::take_out(Lane& lane, std::uint32_t index) {
  lane.remove(requests_, index);
  if (requests_[index].stage == Stage::waiting) --pending_;
}

void Upstream::refuse(Time now, std::uint32_t index, Commands& commands) {
  const Request& request = requests_[index];
  take_out(*request.lane, index);
  commands.refuse.push_back({request.id, Refused::wait_over, now - request.arrived, retry_after(now)});
  requests_.release(index);
}

// ---- after any change to a lane -------------------------------------------------------------------------------------

void Upstream::refresh(Time now, Lane& lane, Commands& commands) {
  refuse_hopeless(now, lane, commands);
  std::size_t given_back = 0;
  for (; lane.has_surplus(); ++given_back) booker_.give_back(now, lane.group(), {.at = lane.drop_latest_departure()});
  if (lane.empty()) lane.forget_ask_again();
  place(lane);
  wake_told_lanes(given_back);
  const bool gone = lane.at_rest() && lane.flying == 0 && &lane != &nameless_;
  if (gone) lanes_.erase(lanes_.find(lane.group()));
}

void Upstream::refuse_hopeless(Time now, Lane& lane, Commands& commands) {
  const Time earliest = lane.nobody_leaves_before().value_or(now);
  while (!lane.waiting().empty() && requests_[lane.waiting().front()].deadline < earliest) {
    refuse(now, lane.waiting().front(), commands);
  }
}

void Upstream::place(Lane& lane) {
  reserved_ = reserved_ - lane.counted + lane.reserves();
  lane.counted = lane.reserves();
  if (lane.wants() == 0 || lane.asking()) {
    LaneList::move(lane, nullptr);
  } else if (lane.told_to_wait()) {
    LaneList::move(lane, &told_);
  } else {
    LaneList::move(lane, lane.wants_no_slot() > 0 ? &returning_ : &wanting_);
  }
  due_.place(lane);
}

// A departure that one lane gave back may be another's, sooner than it was told.
void Upstream::wake_told_lanes(std::size_t count) {
  for (; count > 0 && !told_.empty(); --count) {
    Lane& lane = told_.front();
    lane.forget_ask_again();
    place(lane);
  }
}

Lane& Upstream::lane_of(std::string_view group) {
  if (Lane* known = find_lane(group)) return *known;
  auto lane = std::make_unique<Lane>(group);
  lane->last_served = ++turns_;
  const std::string_view name = lane->group();
  return *lanes_.emplace(name, std::move(lane)).first->second;
}

Lane* Upstream::find_lane(std::string_view group) {
  if (group.empty()) return &nameless_;
  const auto found = lanes_.find(group);
  return found == lanes_.end() ? nullptr : found->second.get();
}

}  // namespace penstock::flow
