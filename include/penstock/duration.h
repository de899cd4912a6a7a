// SPDX-License-Identifier: Apache-2.0
// Durations as users write them: "250ms", "30s", "1.5h". A unit is required; a bare number is refused.
// Header-only, no I/O. Used by the configuration and by the `Penstock-Max-Wait` header.
#pragma once

#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace penstock {

/// Every duration of the public interface is a whole number of microseconds.
using Duration = std::chrono::microseconds;

namespace detail {

constexpr std::optional<std::int64_t> microseconds_in(std::string_view unit) {
  if (unit == "us") return 1;
  if (unit == "ms") return 1'000;
  if (unit == "s") return 1'000'000;
  if (unit == "m") return 60'000'000;
  if (unit == "h") return 3'600'000'000;
  if (unit == "d") return 86'400'000'000;
  return std::nullopt;
}

}  // namespace detail

/// Reads a plain decimal number with a unit of `us ms s m h d`: "2s", "0.5ms", "0s".
/// nullopt for a sign, blanks, an exponent, a missing unit, or more than ten years.
inline std::optional<Duration> parse_duration(std::string_view text) {
  const auto unit_at = text.find_first_not_of("0123456789.");
  if (unit_at == 0 || unit_at == std::string_view::npos) return std::nullopt;
  const std::string_view number = text.substr(0, unit_at);
  const auto unit = detail::microseconds_in(text.substr(unit_at));
  if (!unit || number.front() == '.' || number.back() == '.') return std::nullopt;
  double value = 0;
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || end != number.data() + number.size()) return std::nullopt;
  constexpr double kTenYears = 3650.0 * 86'400e6;
  const double total = value * static_cast<double>(*unit);
  if (total > kTenYears) return std::nullopt;
  return Duration{static_cast<std::int64_t>(total + 0.5)};
}

}  // namespace penstock
