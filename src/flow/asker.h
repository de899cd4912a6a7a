// SPDX-License-Identifier: Apache-2.0
// Asks the limiter for departures on behalf of lanes, and applies its answers to the lane that asked: books what was
// granted, notes what stops the lane, or all lanes. It also tells the limiter what lanes do not need any more.
// Internal to flow/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "flow/gates.h"
#include "flow/lanes.h"
#include "flow/limited_by.h"
#include "flow/limiter.h"
#include "flow/requests.h"
#include "flow/slots.h"
#include "flow/upstream_stop.h"

namespace penstock::flow {

class Asker {
 public:
  Asker(Limiter& limiter, const Requests& requests, const Slots& slots, Lanes& lanes, UpstreamStop& stop, Gates& gates,
        const WaitReasons& reasons)
      : limiter_(&limiter),
        requests_(requests),
        slots_(slots),
        lanes_(lanes),
        stop_(stop),
        gates_(gates),
        reasons_(reasons) {}

  const Limiter& limiter() const { return *limiter_; }
  /// True if the limiter may answer later.
  bool asynchronous() const { return limiter_->patience() > 0; }

  /// The lane asks for its next requests. False: the answer comes later. True: it is answer(), to be applied.
  bool ask(Time now, Lane& lane, std::size_t count, const Load& load);
  /// A tunnel of the lane wants to resume. As ask().
  bool ask_to_resume(Time now, Lane& lane);
  /// What became of the ask for an arrival: there was none, or its answer is applied already. `to_probe`: none, as it
  /// is asked first whether this process may probe.
  enum class Asked : std::uint8_t { no, granted, to_wait, refused, under_way, to_probe };
  /// A request of this weight arrived, and the lane asks for it if no request is ahead. If granted, the departure,
  /// which is for now, stands in answer() alone.
  Asked ask_for_arrival(Time now, Lane& lane, const Load& load);
  const Booking& answer() const { return booking_; }
  /// A limit refused this weight and will do so for a while: its refusal, in answer(). Null: the lane may ask.
  const Booking* refused_before(Time now, const Lane& lane, const Load& load);

  /// Applies the answer to an ask for departures. False: the next request must be refused.
  bool book(Time now, Lane& lane, std::size_t asked_for, const Booking& booking);
  /// Applies the answer to ask_to_resume(). True: a tunnel has its permits, which landed() must end.
  bool book_permits(Time now, Lane& lane, const Booking& booking);

  /// The request at the head of the lane takes the first departure.
  Departure take_departure(Time now, Lane& lane);
  /// The request, which departs, passes the gates of pauses. True: they wait for its answer.
  bool pass_gates(const Lane& lane, std::uint32_t index, const Departure& departure) {
    return departure.gates != 0 && gates_.took_off(lane.group(), index, departure);
  }
  void give_back(Time now, LaneKey lane, std::span<const Departure> departures);
  /// The departures were booked for lighter requests, which left or were overtaken by a returned one: the lane asks
  /// again for the head, which weighs more, and then for the rest.
  void give_all_back(Time now, Lane& lane);
  /// A request of the lane has landed, or rests. `unused`: it does not leave, and another may have that departure.
  void landed(Time now, Lane& lane, const Departure* unused = nullptr);
  /// This many departures of that group were given back: other lanes may ask for them, and tunnels for their permits.
  void departures_came(Time now, std::string_view group, std::size_t count);

  /// Needed after any change to a lane: gives back what it does not need, and puts it where it belongs among the lanes.
  /// The lane may be deleted by this.
  void settle(Time now, Lane& lane);
  /// Voids an answer given for a heavier request than the lane's next one: the heavier one left, was refused or was
  /// overtaken.
  void forget_what_heavier_was_told(Time now, Lane& lane) {
    if (lane.ask.load() != Load() && !lane.ask.under_way()) forget_if_lighter(now, lane);
  }
  /// The earliest time at which a request of the lane may leave; nullopt: unknown.
  std::optional<Time> nobody_leaves_before(Time now, const Lane& lane) const {
    std::optional<Time> own = lane.nobody_leaves_before();
    if (own || lane.ask.under_way()) return own;
    if (stop_.holds(now)) own = stop_.not_before();
    if (lane.route && lane.route->stops(now)) own = std::max(own.value_or(now), lane.route->not_before());
    return own;
  }

  /// A request in flight was answered, and not refused; or it ends without an answer, so that the next one may go.
  void leave_gates(Time now, Request& request, std::uint32_t index, bool answered = false);
  /// Until when the gates of that group hold everything back. May be past.
  Time paused_until(std::string_view group) const { return gates_.until(group); }
  /// A gate lets more pass, or closes for another time: lanes of that group, or all lanes, may ask.
  void gate_changes(Time now, std::string_view group);

  // What changes all lanes.
  void retry(Time now, Booking::Scope scope, LaneKey key);
  void change(Time now, std::span<const LimitIndex> moved);
  /// Whatever lanes were told to wait for, they may ask again.
  void forget_told(Time now) { stop_.lift(now), lanes_.forget_told(now); }
  void replace(Limiter& limiter, bool knows_departures);

 private:
  bool put(Time now, const Ask& ask);
  Ask ask_of(const Lane& lane, std::size_t count, const Load& load) const;
  void add_departures(Time now, Lane& lane, std::span<const Departure> granted);
  bool note_stop(Time now, Lane& lane, const Booking& booking);
  void tell(Time now, Lane& lane, const Booking& booking);
  void forget_if_lighter(Time now, Lane& lane);
  void return_departure(Time now, const Lane& lane, const Departure& departure);
  // Gates of pauses.
  void learn_pause(Time now, const Lane& lane, const Booking& booking);
  std::size_t admit(Time now, Lane& lane, std::size_t count);
  void permit_may_be_free(Lane& lane);

  Limiter* limiter_;
  Booking booking_;  // kept for its memory
  const Requests& requests_;
  const Slots& slots_;
  Lanes& lanes_;
  UpstreamStop& stop_;
  Gates& gates_;
  const WaitReasons& reasons_;
};

}  // namespace penstock::flow
