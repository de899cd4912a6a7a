// SPDX-License-Identifier: Apache-2.0
// Retry-After is a number of seconds, with decimals as some vendors write them, or a date.
#include "http/retry_after.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "http/date.h"
#include "http/grammar.h"

namespace penstock::http {
namespace {

constexpr double kLongest = 365.0 * 86'400;  // seconds

Duration wait_of(double seconds) {
  return Duration(static_cast<std::int64_t>(std::ceil(std::clamp(seconds, 0.0, kLongest) * 1e6)));
}

/// "120", "2.0": no sign, no exponent. A number too large for a double counts as the longest wait, one too small as
/// none.
std::optional<double> parse_seconds(std::string_view text) {
  if (text.empty() || !is_digit(text.front()) || !is_digit(text.back())) return std::nullopt;
  double seconds = text.find_first_not_of('0') < text.find('.') ? kLongest : 0;  // stays where no double can hold it
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds, std::chars_format::fixed);
  return end == text.data() + text.size() ? std::optional(seconds) : std::nullopt;
}

std::int64_t date_of(const Fields& fields, std::int64_t now) {
  const auto text = fields.find("date");
  return text ? parse_date(*text, now).value_or(now) : now;
}

}  // namespace

std::optional<Duration> retry_after(const ResponseHead& head, std::int64_t wall) {
  if (head.status != 429 && head.status != 503) return std::nullopt;
  const std::int64_t now = wall / 1'000'000;
  std::optional<Duration> longest;
  for (std::size_t i = 0; i < head.fields.size(); ++i) {
    const auto [name, value] = head.fields[i];
    if (!equal_ignoring_case(name, "retry-after")) continue;
    auto seconds = parse_seconds(value);
    if (const auto date = parse_date(value, now)) seconds = static_cast<double>(*date - date_of(head.fields, now));
    if (seconds) longest = std::max(longest.value_or(Duration(0)), wait_of(*seconds));
  }
  return longest;
}

}  // namespace penstock::http
