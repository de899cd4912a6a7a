// SPDX-License-Identifier: Apache-2.0
// What is left of a limit for one process while none can ask what the others do. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "penstock/config.h"
#include "penstock/limits.h"

namespace penstock::redis {

/// Each limit that is shared, divided by so many processes: rates exactly, counts rounded down. Where nothing would be
/// left of a count, it is one for a time that is as many times longer; of permits, none.
std::vector<LimitConfig> shares_of(std::vector<LimitConfig> limits, int processes);

/// How many flights of one process may go on without a permit's lease.
std::int64_t permits_alone(const SemaphoreConfig& semaphore, WhenDown rule, int processes);

}  // namespace penstock::redis
