// SPDX-License-Identifier: Apache-2.0
// For tests of limits as an API sees them: what left at known times arrives a little later.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "simulation/plan.h"

namespace penstock::simulation {

/// When requests arrive at an API which each of them takes up to 20 ms to reach, drawn evenly by that seed; ascending.
inline std::vector<Time> arrivals(const std::vector<Time>& departures, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<Time> delay(0, 20 * kMillisecond);
  std::vector<Time> times;
  times.reserve(departures.size());
  for (const Time departed : departures) times.push_back(departed + delay(random));
  std::ranges::sort(times);
  return times;
}

}  // namespace penstock::simulation
