// SPDX-License-Identifier: Apache-2.0
// See top_figures.h.
#include "app/top_figures.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "observe/state_words.h"

namespace penstock::app {

namespace {

constexpr double kHuge = 1e15;          // from here on digits say nothing
constexpr double kLongMs = 86'400'000;  // what lasts longer is not worth a word

std::string with_digits(double value, int digits) {
  char written[64];
  std::snprintf(written, sizeof written, value < kHuge ? "%.*f" : "%.*g", digits, value);
  return written;
}

bool is_whole(double value) { return std::abs(value - std::round(value)) < 0.05; }

/// "5000", "0.5".
std::string digits_of(double value) { return with_digits(value, is_whole(value) ? 0 : 1); }

/// Until nothing is left of a limit that begins anew. Others fill again all the time: no pace spends them for long.
Figure lasts_of(const ShownLimit& limit) {
  if (limit.kind != "window" && limit.kind != "counter") return std::nullopt;
  if (!limit.used || !limit.of || limit.pace.value_or(0) <= 0) return std::nullopt;
  return std::max(0.0, *limit.of - *limit.used) / *limit.pace * 1000;
}

std::string repeated(const char* one, std::size_t times) {
  std::string all;
  while (times-- > 0) all += one;
  return all;
}

}  // namespace

std::string amount(Figure value) {
  if (!value) return kUnknown;
  auto digits = digits_of(*value);
  if (*value >= kHuge) return digits;
  for (auto at = std::min(digits.size(), digits.find('.')); at > 3;) digits.insert(at -= 3, " ");
  return digits;
}

std::string rate_a_second(Figure value) { return value ? with_digits(*value, *value < 99.95 ? 1 : 0) : kUnknown; }

std::string part_of(Figure value, Figure of) {
  return (value ? digits_of(*value) : kUnknown) + std::string("/") + (of ? digits_of(*of) : kUnknown);
}

std::string time_span(Figure milliseconds) {
  if (!milliseconds) return kUnknown;
  const double seconds = *milliseconds / 1000;
  if (seconds < 60) return observe::rounded(Duration(std::llround(*milliseconds * 1000)));
  if (seconds < 7200) return with_digits(seconds / 60, 0) + " min";
  if (seconds < 2 * 86400) return with_digits(seconds / 3600, 0) + " h";
  return with_digits(seconds / 86400, 0) + " d";
}

std::string bar(Figure value, Figure of, std::size_t cells, const char* full, const char* empty) {
  if (!value || !of || *of <= 0) return std::string(cells, ' ');
  const double part = std::clamp(*value / *of, 0.0, 1.0);
  auto filled = static_cast<std::size_t>(part * static_cast<double>(cells) + 1e-9);
  if (*value > 0 && cells > 0) filled = std::max<std::size_t>(filled, 1);
  return repeated(full, filled) + repeated(empty, cells - filled);
}

std::string limit_line(const ShownLimit& limit, std::size_t bar_cells) {
  const bool closed = limit.opens_in_ms.value_or(0) > 0;
  if (limit.rate) {
    return limit.name + " " + digits_of(*limit.rate) + "/s" +
           (closed ? ", next in " + time_span(limit.opens_in_ms) : "");
  }
  auto line = limit.name;
  if (bar_cells > 0 && limit.used && limit.of) line += " " + bar(limit.used, limit.of, bar_cells);
  line += " " + amount(limit.used) + " of " + amount(limit.of);
  if (closed) return line + ", opens in " + time_span(limit.opens_in_ms);
  const Figure lasts_ms = lasts_of(limit);
  if (lasts_ms && *lasts_ms < limit.resets_in_ms.value_or(kLongMs))
    return line + ", " + time_span(lasts_ms) + " left at this pace";
  return limit.resets_in_ms ? line + ", resets in " + time_span(limit.resets_in_ms) : line;
}

}  // namespace penstock::app
