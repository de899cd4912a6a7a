// SPDX-License-Identifier: Apache-2.0
// See checks.h.
#include "config/checks.h"

#include <algorithm>

#include "config/reading.h"
#include "config/units.h"

namespace penstock::config {

namespace {

bool is_letter_or_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

void add_out_of_bounds(Issues& issues, const std::string& path, const std::string& value, const std::string& least,
                       const std::string& most) {
  add(issues, path, " is " + value + "; it must be between " + least + " and " + most);
}

}  // namespace

void add(Issues& issues, const std::string& path, const std::string& what) {
  issues.push_back({path, named(path) + what, false});
}

void check_count(Issues& issues, const std::string& path, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return;
  add_out_of_bounds(issues, path, std::to_string(value), std::to_string(least), std::to_string(most));
}

void check_number(Issues& issues, const std::string& path, double value, double least, double most) {
  if (value >= least && value <= most) return;  // false for NaN
  add_out_of_bounds(issues, path, write_number(value), write_number(least), write_number(most));
}

void check_size(Issues& issues, const std::string& path, std::size_t value, std::size_t least, std::size_t most) {
  if (value >= least && value <= most) return;
  add_out_of_bounds(issues, path, write_size(value), write_size(least), write_size(most));
}

void check_duration(Issues& issues, const std::string& path, Duration value, Duration least, Duration most) {
  if (value >= least && value <= most) return;
  const auto given = value < Duration{0} ? "negative" : write_duration(value);
  add_out_of_bounds(issues, path, given, write_duration(least), write_duration(most));
}

bool all_of(std::string_view text, std::string_view extra) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_letter_or_digit(c) || extra.find(c) != std::string_view::npos;
  });
}

}  // namespace penstock::config
