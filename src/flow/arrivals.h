// SPDX-License-Identifier: Apache-2.0
// An arriving request: it starts at once, waits, or is refused. Internal to flow/.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "flow/asker.h"
#include "flow/commands.h"
#include "flow/estimates.h"
#include "flow/lane_server.h"
#include "flow/lanes.h"
#include "flow/limited_by.h"
#include "flow/limiter.h"
#include "flow/queue.h"
#include "flow/requests.h"
#include "flow/slots.h"
#include "flow/tunnels.h"

namespace penstock::flow {

struct Arrival {
  RequestId id = 0;
  int weight = 1;
  std::string_view group = {};        ///< names its lane, with the route
  std::string_view route = {};        ///< the one whose limits it counts in, too; empty: none. A tunnel has none
  std::optional<Time> max_wait = {};  ///< may shorten the upstream's, never lengthen it
  bool tunnel = false;                ///< may rest
  Ticket in_place_of = {};            ///< the request that leaves a full queue for it; dead: the lanes' lengths decide

  int cost = 1;  ///< in limits that count the cost; of a tunnel 1

  Load load() const { return Load(weight, tunnel ? 1 : cost); }
  LaneKey lane() const { return LaneKey(group, route); }
};

class Arrivals {
 public:
  Arrivals(Requests& requests, Slots& slots, Queue& queue, Lanes& lanes, Asker& asker, LaneServer& server,
           Tunnels& tunnels, const WaitReasons& reasons, const Estimates& estimates)
      : requests_(requests),
        slots_(slots),
        queue_(queue),
        lanes_(lanes),
        asker_(asker),
        server_(server),
        tunnels_(tunnels),
        reasons_(reasons),
        estimates_(estimates) {}
  /// Holds for later arrivals.
  void change_max_wait(Time max_wait) { max_wait_ = max_wait; }

  /// Refuses an arrival that is certain to be refused, at no cost to others. False: it is to be accepted.
  bool refuse_at_once(Time now, const Arrival& arrival, Commands& commands);
  /// It starts, waits, or is refused. Unless it starts, other lanes may have something to do now.
  Ticket accept(Time now, const Arrival& arrival, Commands& commands);
  /// Requests of the lane that were let in beyond a full queue, and not started by the answer that they awaited, are
  /// refused, unless a longer lane makes room for them.
  void refuse_excess(Time now, LaneKey key, Commands& commands);

 private:
  Ticket wait_outside(Time now, const Arrival& arrival, Commands& commands);
  Ticket wait_or_refuse(Time now, const Arrival& arrival, Lane& lane, Asker::Asked asked, Commands& commands);
  Ticket start(Time now, const Arrival& arrival, Lane& lane, Commands& commands);
  std::optional<Refused> refusal(Time now, const Arrival& arrival, const Lane& lane, Time deadline) const;
  void refuse(Time now, const Arrival& arrival, Refused why, LimitIndex by, Commands& commands);
  Lane& make_room(Time now, const Arrival& arrival, Commands& commands);
  Time patience_of(const Arrival& arrival) const;
  bool has_place(const Arrival& arrival, const Lane* lane) const;
  std::uint32_t take(Time now, const Arrival& arrival, Lane& lane, Stage stage);
  Ticket wait(std::uint32_t index, Time deadline);

  Requests& requests_;
  Slots& slots_;
  Queue& queue_;
  Lanes& lanes_;
  Asker& asker_;
  LaneServer& server_;
  Tunnels& tunnels_;
  const WaitReasons& reasons_;
  const Estimates& estimates_;
  Time max_wait_ = 0;
  Time last_ = 0;           // when the latest arrived
  std::uint16_t rank_ = 0;  // its rank
};

}  // namespace penstock::flow
