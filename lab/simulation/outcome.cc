// SPDX-License-Identifier: Apache-2.0
// See outcome.h.
#include "simulation/outcome.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <sstream>

namespace penstock::simulation {

namespace {

constexpr std::string_view kEnd = "end";

std::string in_a_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return text;
}

/// With all digits, so that reading gives what was written.
std::string exactly(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string figure_text(std::optional<double> figure) { return figure ? exactly(*figure) : "-"; }

std::optional<double> figure_of(const std::string& text) {
  if (text == "-") return std::nullopt;
  return std::strtod(text.c_str(), nullptr);
}

}  // namespace

bool Outcome::breaks(std::string_view rule) const {
  return std::ranges::any_of(broken, [&](const Verdict& verdict) { return verdict.rule == rule; });
}

std::string to_text(const Outcome& outcome) {
  std::string text = std::to_string(outcome.departures);
  for (const auto figure :
       {outcome.worst_excess, outcome.least_use, outcome.least_permit_use, outcome.widest_shares, outcome.calls}) {
    text += " " + figure_text(figure);
  }
  text += "\n";
  for (const Verdict& verdict : outcome.broken) {
    text += in_a_line(verdict.rule) + "\t" + exactly(verdict.figure) + "\t" + in_a_line(verdict.detail) + "\n";
  }
  return text + std::string(kEnd) + "\n";
}

std::optional<Outcome> outcome_of(std::string_view text) {
  std::istringstream lines{std::string(text)};
  Outcome outcome;
  std::string excess, use, permits, shares, calls, line;
  if (!(lines >> outcome.departures >> excess >> use >> permits >> shares >> calls)) return std::nullopt;
  outcome.worst_excess = figure_of(excess);
  outcome.least_use = figure_of(use);
  outcome.least_permit_use = figure_of(permits);
  outcome.widest_shares = figure_of(shares);
  outcome.calls = figure_of(calls);
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    if (line == kEnd) return outcome;
    const auto first = line.find('\t'), second = line.find('\t', first + 1);
    if (first == std::string::npos || second == std::string::npos) return std::nullopt;
    outcome.broken.push_back({.rule = line.substr(0, first),
                              .detail = line.substr(second + 1),
                              .figure = std::strtod(line.c_str() + first + 1, nullptr)});
  }
  return std::nullopt;
}

}  // namespace penstock::simulation
