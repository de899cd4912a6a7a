// SPDX-License-Identifier: Apache-2.0
// Durations in few characters, as users write them; penstock/duration.h reads them.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace penstock::base {

/// In the largest unit that gives a whole number: "0s", "1500ms", "90s", "1m". `least`: how many it must be of minutes,
/// hours and days; with 2, a minute is "60s", and a day "24h".
inline std::string duration_text(std::chrono::microseconds duration, std::int64_t least = 1) {
  constexpr std::array<std::pair<std::int64_t, const char*>, 3> kLong{
      {{86'400'000'000, "d"}, {3'600'000'000, "h"}, {60'000'000, "m"}}};
  constexpr std::array<std::pair<std::int64_t, const char*>, 3> kShort{{{1'000'000, "s"}, {1'000, "ms"}, {1, "us"}}};
  const std::int64_t micros = duration.count();
  for (const auto& [size, unit] : kLong) {
    if (micros % size == 0 && micros / size >= least) return std::to_string(micros / size) + unit;
  }
  for (const auto& [size, unit] : kShort) {
    if (micros % size == 0) return std::to_string(micros / size) + unit;
  }
  return {};  // not reached: all are whole numbers of microseconds
}

}  // namespace penstock::base
