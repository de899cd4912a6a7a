// SPDX-License-Identifier: Apache-2.0
// When the requests that wait are expected to leave, and what each waits for. It books nothing and is asked only for
// what people see: the limits tell when they let so many units pass, the slots when so many requests have landed, the
// gates of pauses how many answers must come first. A request leaves at the latest of these. Internal to flow/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "flow/arrivals.h"
#include "flow/asker.h"
#include "flow/estimates.h"
#include "flow/gates.h"
#include "flow/lanes.h"
#include "flow/limited_by.h"
#include "flow/limiter.h"
#include "flow/queue.h"
#include "flow/requests.h"
#include "flow/scene.h"
#include "flow/slots.h"
#include "flow/tunnels.h"
#include "flow/upstream_stop.h"

namespace penstock::flow {

class Forecast {
 public:
  Forecast(const Requests& requests, const Slots& slots, const Queue& queue, const Lanes& lanes,
           const UpstreamStop& stop, const Gates& gates, const Asker& asker, const WaitReasons& reasons,
           const Estimates& estimates, const Tunnels& tunnels)
      : requests_(requests),
        slots_(slots),
        queue_(queue),
        lanes_(lanes),
        stop_(stop),
        gates_(gates),
        asker_(asker),
        reasons_(reasons),
        estimates_(estimates),
        tunnels_(tunnels) {}

  struct Waiting {
    RequestId id = 0;
    Time arrived = 0;
    LimitIndex limited_by = kNoLimit;  ///< as Scheduler::limited_by()
    /// nullopt: nobody can say (Redis does not answer, a permit or another tunnel must end, no flight is known by which
    /// slots could be reckoned), or its deadline comes first.
    std::optional<Time> leaves;
  };
  const Limiter& limiter() const { return asker_.limiter(); }
  /// The two times of Scheduler::retry_after(), neither rounded nor bounded.
  Estimates::Wait estimate(Time now, LaneKey key, const Load& load) const {
    return estimates_.wait(now, asker_.limiter(), key, load);
  }
  /// All that is pending or in flight, for a rehearsal (rehearsal.h). nullopt: more than `most`, though flights that
  /// nothing waits for are left out.
  std::optional<Scene> scene(Time now, std::size_t most) const;
  /// What an arrival of that lane waits for beside slots and limits: the end of pauses, and the answers that must come
  /// before as many pass.
  Time gates_open(Time now, const Arrival& arrival) const;
  /// Whether the arrival would wait until another tunnel ends, which no time brings about.
  bool waits_outside(Time now, const Arrival& arrival) const {
    return arrival.tunnel && (!queue_.outside().empty() || !tunnels_.may_have_room(now));
  }
  /// Whether a flight has landed lately, by which slots can be reckoned.
  bool knows_flight(Time now) const { return slots_.knows_flight(now); }
  /// Whether others of the arrival's lane wait for a permit, which no time brings about.
  bool awaits_permit(const Arrival& arrival) const;
  /// The limit that the arrival would wait for, by what stops its lane now; kNoLimit: that is not known.
  LimitIndex stopped_by(Time now, const Arrival& arrival) const;
  /// The units that wait for limits of the whole upstream, and have no departure yet.
  WaitingUnits units_waiting(Time now) const;
  /// Whether the arrival would have a place in the queue if it had to wait.
  bool has_place(const Arrival& arrival) const;

  /// The longest wait among the requests at the head of each lane, and those outside.
  Time oldest_wait(Time now) const;
  /// The requests that have waited longest, at most so many, in the order of their arrival.
  std::vector<Waiting> longest(Time now, std::size_t most) const;
  /// When the request leaves that leaves last of all. nullopt: as above, or none waits.
  std::optional<Time> last_leaves(Time now) const;

 private:
  struct Spot;
  class Rivals;
  std::optional<Time> leaves(Time now, const Spot& spot, const Rivals& rivals) const;
  std::optional<Time> by_slots_and_limits(Time now, const Spot& spot, const Rivals& rivals) const;
  bool nobody_knows(Time now, const Spot& spot) const;
  double comes_per_second(Time now, const Lane& lane) const;
  Spot last_of(const Lane& lane) const;
  std::vector<const Lane*> turns_of(const std::vector<const Lane*>& all) const;
  std::optional<Scene::Told> told_of(Time now, const Lane& lane) const;
  void add_first(const Lane& lane, std::size_t most, std::vector<Spot>& into) const;

  const Requests& requests_;
  const Slots& slots_;
  const Queue& queue_;
  const Lanes& lanes_;
  const UpstreamStop& stop_;
  const Gates& gates_;
  const Asker& asker_;
  const WaitReasons& reasons_;
  const Estimates& estimates_;
  const Tunnels& tunnels_;
};

}  // namespace penstock::flow
