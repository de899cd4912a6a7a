// SPDX-License-Identifier: Apache-2.0
// What the scheduler tells its caller to do: start these requests, refuse those. Each call appends to it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "flow/limiter.h"
#include "flow/requests.h"

namespace penstock::flow {

enum class Refused : std::uint8_t {
  queue_full,   ///< max_pending reached; refused is the arrival, or the newest request of a lane longer than its own
  wait_over,    ///< the deadline has passed, or is certain to pass
  limited,      ///< by a limit in refuse mode
  too_heavy,    ///< a limit can never admit its weight
  unavailable,  ///< the limits cannot be asked, and `whenDown` is refuse
};

/// The longest retry_after of a refusal: a week.
inline constexpr Time kLongestRetry = 7 * 86'400'000'000;

struct Commands {
  struct Start {
    RequestId id;
    Time waited;            ///< arrival to take-off
    LimitIndex limited_by;  ///< the limit that made it wait, or kSlots
    Departure departure;    ///< the departure it takes; if that was missed, `at` is the time of the start
    Time booked;            ///< the time it was booked for
  };
  struct Refuse {
    RequestId id;
    Refused why;
    Time waited;
    Time retry_after;       ///< a span from now, see Scheduler::retry_after()
    LimitIndex limited_by;  ///< the limit that made it wait, or refused it, or kSlots

    /// Lengthens retry_after: a retry before `moment` would be refused again.
    void not_before(Time now, Time moment) { retry_after = std::clamp(moment - now, retry_after, kLongestRetry); }
  };
  /// About the request that goes first after a pause of that group, or of the upstream (gates.h).
  struct Probe {
    enum class What : std::uint8_t {
      ask,     ///< whether this process may send it: Scheduler::hear() is to be told
      opened,  ///< its answer was no refusal
      ended,   ///< it was refused
    };
    std::string group;
    What what;
  };
  std::vector<Start> start;       ///< in order of take-off
  std::vector<Refuse> refuse;     ///< in order of deadlines; of equal ones in order of arrival
  std::vector<RequestId> resume;  ///< tunnels that have a slot again
  std::vector<RequestId> close;   ///< resting tunnels that make room for others; their tickets are dead
  std::vector<Probe> probe;       ///< what other processes are to be asked or told
  bool empty() const { return start.empty() && refuse.empty() && resume.empty() && close.empty() && probe.empty(); }
  void clear() { start.clear(), refuse.clear(), resume.clear(), close.clear(), probe.clear(); }
};

}  // namespace penstock::flow
