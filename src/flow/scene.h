// SPDX-License-Identifier: Apache-2.0
// What is pending and in flight at one upstream at a moment, so that a rehearsal can set it up once more. Internal to
// flow/.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "flow/gates.h"
#include "flow/lane_key.h"
#include "flow/limit.h"
#include "flow/limiter.h"
#include "flow/load.h"

namespace penstock::flow {

/// Names of lanes are views of the scheduler that it was made of.
struct Scene {
  struct One {
    Load load;
    Time moment = 0;  ///< its deadline, or when it took off first
  };
  /// What a lane was told, and all that this scope stops.
  struct Told {
    Time again = 0, not_before = 0;  ///< as in Booking
    Booking::Scope scope = Booking::Scope::group;
    LimitIndex by = kNoLimit;
  };
  /// A lane, with its requests in the order in which they leave.
  struct Waiting {
    LaneKey key;
    std::optional<Told> told = {};
    bool asks = false;              ///< it has asked, and waits for the answer
    std::vector<Time> flying = {};  ///< when its requests in flight took off
    std::vector<Departure> booked = {};
    std::vector<One> returned = {};  ///< those that are to be sent once more, and hold a slot
    std::vector<One> requests = {};
  };

  const Gates& gates;  ///< which pauses have closed
  std::size_t slots = 1;
  /// Nothing that flies is in the scene, nor are the slots that it holds: there are so many that none is waited for.
  bool without_flights = false;
  Time mean_flight = 0;
  bool knows_flight = false;        ///< the mean is not just assumed
  std::vector<Waiting> lanes = {};  ///< the one first that was served the longest ago
  /// Lanes ask one by one, since this limit stopped them all.
  std::optional<LimitIndex> one_by_one = {};
  std::vector<std::size_t> turns = {};  ///< indices of lanes, in the order in which they may ask
};

}  // namespace penstock::flow
