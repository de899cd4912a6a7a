// SPDX-License-Identifier: Apache-2.0
// For tests of permits: how many requests of a fleet were in flight at once.

#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "simulation/journal.h"

namespace penstock::simulation {

inline Time end_of(const Journal& journal, const Request& request) {
  return request.ended == kNotYet ? journal.ended : request.ended;
}

/// The most requests that were in flight at once. A landing makes room for a departure at the same moment.
inline int most_in_flight(const Journal& journal, Time from = 0, Time until = kDay * 1'000) {
  std::vector<std::pair<Time, int>> changes;
  for (const std::uint64_t id : journal.departures) {
    const Request& request = journal.requests[id];
    changes.emplace_back(request.departed, 1);
    changes.emplace_back(end_of(journal, request), -1);
  }
  std::ranges::sort(changes);
  int now = 0, most = 0;
  for (const auto& [at, change] : changes) {
    now += change;
    if (at >= from && at < until) most = std::max(most, now);
  }
  return most;
}

}  // namespace penstock::simulation
