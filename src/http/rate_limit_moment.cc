// SPDX-License-Identifier: Apache-2.0
// See rate_limit_moment.h. A number of 10⁹ or more is no wait from now, which would be over 30 years: so it is a
// moment, and one of 10¹² or more is in milliseconds, which would be the year 33658 in seconds.
#include "http/rate_limit_moment.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "http/date.h"
#include "http/grammar.h"

namespace penstock::http {
namespace {

constexpr double kLongest = 365.0 * 86'400;  // seconds
constexpr double kEpoch = 1e9, kEpochMilliseconds = 1e12;

Duration wait_of(double seconds) {
  return Duration(static_cast<std::int64_t>(std::ceil(std::clamp(seconds, 0.0, kLongest) * 1e6 - 1e-6)));
}

/// "120", "2.0": no sign, no exponent. A number too large for a double counts as the longest wait, one too small as
/// none.
std::optional<double> parse_number(std::string_view text) {
  if (text.empty() || !is_digit(text.front()) || !is_digit(text.back())) return std::nullopt;
  double number = text.find_first_not_of('0') < text.find('.') ? kLongest : 0;  // stays where no double can hold it
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  return end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// From the beginning of `text`, which loses it.
std::optional<double> take_number(std::string_view& text) {
  const auto size = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = parse_number(text.substr(0, size));
  text.remove_prefix(size);
  return number;
}

/// "6m0s", "1h30m", "20ms", "1.5s": as Go writes durations.
std::optional<double> parse_units(std::string_view text) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  constexpr std::array<Unit, 7> kUnits{
      {{"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"h", 3600}, {"m", 60}, {"s", 1}, {"d", 86'400}}};
  if (text.empty()) return std::nullopt;
  double seconds = 0;
  while (!text.empty()) {
    const auto number = take_number(text);
    const auto unit = std::ranges::find_if(kUnits, [&](const Unit& one) { return text.starts_with(one.name); });
    if (!number || unit == kUnits.end()) return std::nullopt;
    seconds += *number * unit->seconds;
    text.remove_prefix(unit->name.size());
  }
  return seconds;
}

/// Reads exactly `digits` of them, and then `behind`, if that is no NUL.
std::optional<int> take_digits(std::string_view& text, std::size_t digits, char behind) {
  if (text.size() < digits + (behind ? 1 : 0)) return std::nullopt;
  int number = 0;
  for (const char c : text.substr(0, digits)) {
    if (!is_digit(c)) return std::nullopt;
    number = 10 * number + (c - '0');
  }
  if (behind && text[digits] != behind) return std::nullopt;
  text.remove_prefix(digits + (behind ? 1 : 0));
  return number;
}

/// "Z", "+02:00", "-0800": minutes east of UTC.
std::optional<int> parse_zone(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  if (text.empty() || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const int sign = text[0] == '+' ? 1 : -1;
  text.remove_prefix(1);
  const auto hours = take_digits(text, 2, '\0');
  if (text.starts_with(':')) text.remove_prefix(1);
  const auto minutes = take_digits(text, 2, '\0');
  if (!hours || !minutes || *hours > 23 || *minutes > 59 || !text.empty()) return std::nullopt;
  return sign * (60 * *hours + *minutes);
}

/// Seconds of the time of day with what is behind it, as in "08:49:37.5Z"; seconds and their decimals may be missing.
std::optional<double> parse_time_and_zone(std::string_view text) {
  const auto hours = take_digits(text, 2, ':'), minutes = take_digits(text, 2, '\0');
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  double seconds = 0;
  if (text.starts_with(':')) {
    text.remove_prefix(1);
    const auto number = take_number(text);
    if (!number || *number >= 61) return std::nullopt;
    seconds = *number;
  }
  const auto zone = parse_zone(text);
  return zone ? std::optional(3600.0 * *hours + 60.0 * (*minutes - *zone) + seconds) : std::nullopt;
}

/// Seconds since 1970: "1994-11-06T08:49:37Z".
std::optional<double> parse_rfc3339(std::string_view text) {
  const auto year = take_digits(text, 4, '-'), month = take_digits(text, 2, '-'), day = take_digits(text, 2, '\0');
  if (!year || !month || !day || text.empty() || (text[0] != 'T' && text[0] != 't' && text[0] != ' '))
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  const auto time = parse_time_and_zone(text.substr(1));
  if (!date.ok() || !time) return std::nullopt;
  return 86'400.0 * static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count()) + *time;
}

/// Seconds from `now`, which is in seconds since 1970.
std::optional<double> from_now(double number, double now) {
  if (number >= kEpochMilliseconds) return number / 1000 - now;
  return number >= kEpoch ? number - now : number;
}

std::optional<double> any_form(std::string_view text, std::int64_t now) {
  const double seconds = static_cast<double>(now) / 1e6;
  if (const auto number = parse_number(text)) return from_now(*number, seconds);
  if (const auto units = parse_units(text)) return units;
  if (const auto date = parse_rfc3339(text)) return *date - seconds;
  if (const auto date = parse_date(text, now / 1'000'000)) return static_cast<double>(*date) - seconds;
  return std::nullopt;
}

}  // namespace

std::optional<Duration> wait_until(std::string_view text, TimeForm form, std::int64_t now) {
  const auto seconds = form == TimeForm::any ? any_form(text, now) : parse_number(text);
  if (!seconds) return std::nullopt;
  return wait_of(form == TimeForm::milliseconds ? *seconds / 1000 : *seconds);
}

}  // namespace penstock::http
