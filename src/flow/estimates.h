// SPDX-License-Identifier: Apache-2.0
// Estimates how long another request would wait. Internal to flow/.
#pragma once

#include "flow/lanes.h"
#include "flow/limiter.h"
#include "flow/queue.h"
#include "flow/slots.h"

namespace penstock::flow {

class Estimates {
 public:
  Estimates(const Slots& slots, const Queue& queue, const Lanes& lanes) : slots_(slots), queue_(queue), lanes_(lanes) {}

  /// What waits in other lanes than that one, which may not be there.
  OtherUnits others(LaneKey key, const Lane* lane) const;
  struct Wait {
    Time for_slots = 0, for_limits = 0;
  };
  Wait wait(Time now, const Limiter& limiter, LaneKey key, const Load& load) const;
  /// As Scheduler::retry_after().
  Time retry_after(Time now, const Limiter& limiter, LaneKey key, const Load& load, Time not_before) const;

 private:
  const Slots& slots_;
  const Queue& queue_;
  const Lanes& lanes_;
};

}  // namespace penstock::flow
