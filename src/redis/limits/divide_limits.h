// SPDX-License-Identifier: Apache-2.0
// What is left of a limit for one process while none can ask what the others do: by how many it is divided, and what
// that leaves. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/config.h"
#include "penstock/limits.h"

namespace penstock::redis {

/// What a process knows of how many share its limits; 0: nothing.
struct Sharers {
  int at_upstream = 0;  ///< as Redis told last, if that is young enough to be true
  int of_prefix = 0;    ///< all that were seen at Redis, whichever upstreams they use
  int configured = 0;   ///< `redis.processes`: as many as there may be
  int remembered = 0;   ///< as an earlier run saw them
};

/// By how many a limit is divided while nobody can be asked: by as many as were seen, and never by fewer than are
/// configured. Who has seen nobody since it began goes by what an earlier run saw; who knows nothing is one.
int sharers(const Sharers& known);

/// Each limit that is shared, divided by so many processes: rates exactly, counts rounded down. Where nothing would be
/// left of a count, it is one for a time that is as many times longer. Permits are not divided: those count that are
/// held.
std::vector<LimitConfig> shares_of(std::vector<LimitConfig> limits, int processes);

/// How many flights of one process may go on without a permit's lease.
std::int64_t permits_alone(const SemaphoreConfig& semaphore, WhenDown rule, int processes);

}  // namespace penstock::redis
