// SPDX-License-Identifier: Apache-2.0
// The times in fields about rate limits, as vendors write them. Pure; reads no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "penstock/duration.h"

namespace penstock::http {

/// How a vendor writes when a limit lets go.
enum class TimeForm : std::uint8_t {
  seconds,       ///< from now, with decimals: 12, 0.337
  milliseconds,  ///< likewise: 337
  /// Any of: seconds from now; seconds or milliseconds since 1970, which are told apart by their size; an HTTP date; a
  /// date and time of RFC 3339, with or without seconds; a duration such as 6m0s, 1h30m or 20ms.
  any,
};

/// The wait from now: zero where the moment has passed, at most a year, rounded up to µs. `now` is in µs since 1970 by
/// the clock of the one that wrote it. Nothing where the text is no time.
std::optional<Duration> wait_until(std::string_view text, TimeForm form, std::int64_t now);

}  // namespace penstock::http
