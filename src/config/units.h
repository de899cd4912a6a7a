// SPDX-License-Identifier: Apache-2.0
// Reads counts, numbers, sizes and rates as users write them, and writes them and durations the same way. Durations are
// read by penstock/duration.h. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "penstock/limits.h"

namespace penstock::config {

/// Plain decimal digits: no sign, no leading zero, no separator, no unit. At most 10^15.
std::optional<std::uint64_t> parse_count(std::string_view text);

/// A plain decimal number with a unit of `B KiB MiB GiB`: "64KiB", "1.5MiB". A whole number of bytes, at most 2^50.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// A plain decimal number: "50", "0.5". No sign, no exponent; nothing larger than 10^15.
std::optional<double> parse_number(std::string_view text);

/// A number and what it is in: "15/s", "0.5/s", "900/m", "100/h", "5000/d", "300/15m". Both over 0.
std::optional<Rate> parse_rate(std::string_view text);

/// In the largest unit that gives a whole number, of m, h and d at least two: "30s", "1500ms", "60s", "2m", "0s".
std::string write_duration(Duration duration);
std::string write_size(std::uint64_t bytes);
std::string write_number(double value);  ///< "0.5", "nan"
/// As parse_rate() reads it: "15/s", "300/15m".
std::string write_rate(const Rate& rate);
/// In the first unit of s, m, h that gives at least one: "15/s", "30/m".
std::string write_rate(double per_second);

}  // namespace penstock::config
