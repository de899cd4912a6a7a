// SPDX-License-Identifier: Apache-2.0
// One process's part of each limit while processes cannot ask Redis what the others do: the divisor, and the divided
// limits. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/config.h"
#include "penstock/limits.h"

namespace penstock::redis {

/// What a process knows about how many processes share its limits; 0: nothing.
struct Sharers {
  int at_upstream = 0;  ///< as Redis told last, if recent enough to be true
  int of_prefix = 0;    ///< all processes seen at Redis, whichever upstreams they use
  int configured = 0;   ///< `redis.processes`: how many there may be
  int remembered = 0;   ///< as an earlier run saw them
};

/// The divisor: as many processes as were seen, never fewer than are configured. A process that has seen none since its
/// start goes by what an earlier run saw; one that knows nothing counts itself only.
int sharers(const Sharers& known);

/// Each shared limit, divided by `processes`: rates exactly, counts rounded down. A count that would become 0 is 1 per
/// a period that is longer by as much. A slidingWindow beside a pacer keeps its count, in an interval that is longer by
/// as much. Permits are not divided: what counts is how many are held.
std::vector<LimitConfig> shares_of(std::vector<LimitConfig> limits, int processes);

/// How many flights of one process may go on without a lease on permits.
std::int64_t permits_alone(const SemaphoreConfig& semaphore, WhenDown rule, int processes);

}  // namespace penstock::redis
