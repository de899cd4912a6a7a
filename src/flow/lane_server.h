// SPDX-License-Identifier: Apache-2.0
// Serves the lanes: lets each ask in its turn, starts the request at its head when a departure is due, and refuses
// requests that would wait too long. Internal to flow/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "flow/asker.h"
#include "flow/commands.h"
#include "flow/estimates.h"
#include "flow/lanes.h"
#include "flow/limited_by.h"
#include "flow/limiter.h"
#include "flow/queue.h"
#include "flow/requests.h"
#include "flow/slots.h"
#include "flow/upstream_stop.h"

namespace penstock::flow {

/// A lane that is passed may be deleted, unless the function is const.
class LaneServer {
 public:
  LaneServer(Requests& requests, Slots& slots, Queue& queue, Lanes& lanes, const UpstreamStop& stop, Asker& asker,
             const WaitReasons& reasons, const Estimates& estimates)
      : requests_(requests),
        slots_(slots),
        queue_(queue),
        lanes_(lanes),
        stop_(stop),
        asker_(asker),
        reasons_(reasons),
        estimates_(estimates) {}

  // The steps of each call of the scheduler.
  /// Refuses the requests with a deadline up to that one. True: there were some.
  bool refuse_overdue(Time deadline, Time now, Commands& commands) {
    if (!queue_.any_overdue_by(deadline)) return false;
    do {
      refuse(now, queue_.first_overdue(), Refused::wait_over, commands);
    } while (queue_.any_overdue_by(deadline));
    return true;
  }
  /// Does what is due: takes departures, ends pauses, and lets lanes ask that were told to ask now.
  void take_off_due(Time now, Commands& commands) {
    while (Lane* lane = lanes_.due_by(now)) do_due(now, *lane, commands);
  }
  /// Lets lanes ask while they may.
  void serve(Time now, Commands& commands) {
    while (some_return(now) || may_ask(now)) serve_in_turn(now, commands);
  }
  /// True if serve() would let a lane ask for a slot that a request holds already.
  bool some_return(Time now) const { return !stop_.holds(now) && !lanes_.returning().empty(); }
  /// When one of these is next needed; nullopt: not before another call.
  std::optional<Time> wake_at() const;

  /// Applies an answer to the lane's ask for that many departures.
  void apply(Time now, Lane& lane, std::size_t asked_for, const Booking& booking, Commands& commands);
  /// Refuses a waiting request.
  void refuse(Time now, std::uint32_t index, Refused why, Commands& commands);
  /// Needed after any change to a lane.
  void refresh(Time now, Lane& lane, Commands& commands);

 private:
  bool may_ask(Time now) const {
    return !lanes_.wanting().empty() && !stop_.holds(now) && slots_.free() > 0 && !stop_.asks_are_rationed();
  }
  void do_due(Time now, Lane& lane, Commands& commands);
  void serve_in_turn(Time now, Commands& commands);
  void ask(Time now, Lane& lane, std::size_t share, Commands& commands);
  void refuse_next(Time now, Lane& lane, const Booking& booking, Commands& commands);
  void start_head(Time now, Lane& lane, Commands& commands);
  void take_out(Time now, std::uint32_t index, Refused why, LimitIndex by, Commands& commands);

  Requests& requests_;
  Slots& slots_;
  Queue& queue_;
  Lanes& lanes_;
  const UpstreamStop& stop_;
  Asker& asker_;
  const WaitReasons& reasons_;
  const Estimates& estimates_;
};

}  // namespace penstock::flow
