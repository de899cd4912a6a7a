// SPDX-License-Identifier: Apache-2.0
// How much of what a limit allows some departures use: on average, and where they are closest. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "penstock/limits.h"
#include "replay/event_line.h"

namespace penstock::replay {

struct Departed {
  Time at = 0;
  std::uint64_t group = 0;
  std::int32_t weight = 1;
};

struct Usage {
  std::string limit;       ///< its name
  bool per_group = false;  ///< of the group that used most
  double mean = 0;         ///< share of what it allows over the whole time: 0.78
  double most = 0;  ///< share of what it allows in one of its intervals, the busiest; over 1: more than it allows
};

/// What a limit that counts departures allows.
struct Allowance {
  double units = 0;  ///< in one interval
  Duration interval{0};
  double per_second = 0;  ///< over a long time
  bool aligned = false;   ///< intervals begin at whole multiples since 1970; else anywhere
};
/// nullopt: it counts none, as a semaphore.
std::optional<Allowance> allowance_of(const LimitConfig::Kind& kind);

// These sort the departures as they need them, and copy none.

/// Of that limit, within `span` µs. nullopt: it counts none.
std::optional<Usage> usage_of(const LimitConfig& limit, std::vector<Departed>& departed, Time span);

/// How many departures an API would have refused that lets `rate` pass in any stretch of its unit, and does not count
/// what it refuses.
std::uint64_t beyond(const Rate& rate, std::vector<Departed>& departed);

/// The most spans that overlap; one that ends as another begins does not.
std::uint64_t most_at_once(std::vector<Time> begins, std::vector<Time> ends);

}  // namespace penstock::replay
