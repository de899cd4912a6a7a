// SPDX-License-Identifier: Apache-2.0
// See report.h.
#include "simulation/report.h"

#include <algorithm>
#include <cstdio>
#include <set>

namespace penstock::simulation {

namespace {

constexpr int kWidth = 27;  // of the longest name

void keep_most(std::optional<double>& most, std::optional<double> other) {
  if (other && (!most || *other > *most)) most = other;
}
void keep_least(std::optional<double>& least, std::optional<double> other) {
  if (other && (!least || *other < *least)) least = other;
}

std::string written(const char* format, std::optional<double> figure) {
  if (!figure) return "-";
  char text[32];
  std::snprintf(text, sizeof text, format, *figure);
  return text;
}

std::string row(const std::string& name, const std::vector<std::string>& cells) {
  char text[64];
  std::snprintf(text, sizeof text, "%-*s", kWidth, name.c_str());
  std::string line = text;
  for (const auto& cell : cells) {
    std::snprintf(text, sizeof text, " %11s", cell.c_str());
    line += text;
  }
  return line + "\n";
}

}  // namespace

void Report::Line::add(const Line& other) {
  runs += other.runs;
  failed += other.failed;
  departures += other.departures;
  hours += other.hours;
  keep_most(worst_excess, other.worst_excess);
  keep_least(least_use, other.least_use);
  keep_least(least_permit_use, other.least_permit_use);
  keep_most(widest_shares, other.widest_shares);
  keep_most(most_calls, other.most_calls);
}

void Report::add(const Plan& plan, const Outcome& outcome) {
  auto line = std::ranges::find(lines_, plan.regime, &Line::regime);
  if (line == lines_.end()) {
    lines_.push_back({.regime = plan.regime});
    line = lines_.end() - 1;
  }
  line->add({.runs = 1,
             .failed = outcome.broken.empty() ? 0u : 1u,
             .departures = outcome.departures,
             .hours = static_cast<double>(plan.length) / kHour,
             .worst_excess = outcome.worst_excess,
             .least_use = outcome.least_use,
             .least_permit_use = outcome.least_permit_use,
             .widest_shares = outcome.widest_shares,
             .most_calls = outcome.calls});
  std::set<std::string> seen;  // a run counts once for each rule
  for (const Verdict& verdict : outcome.broken) {
    if (!seen.insert(verdict.rule).second) continue;
    Failure& failure = failures_[{plan.regime, verdict.rule}];
    if (failure.runs++ > 0 && failure.seed <= plan.seed) continue;
    failure.seed = plan.seed;
    failure.detail = verdict.detail;
  }
}

std::string Report::text(const Line& line) {
  return row(line.regime, {std::to_string(line.runs), std::to_string(line.failed), written("%.2f", line.hours),
                           std::to_string(line.departures), written("%+.1f", line.worst_excess),
                           written("%.4f", line.least_use), written("%.4f", line.least_permit_use),
                           written("%.2f", line.widest_shares), written("%.3f", line.most_calls)});
}

std::string Report::table() const {
  std::string text = row("regime", {"runs", "failed", "hours", "departures", "excess", "least use", "permit use",
                                    "max/min", "calls each"});
  Line sum{.regime = "all"};
  for (const Line& line : lines_) {
    text += Report::text(line);
    sum.add(line);
  }
  return text + Report::text(sum);
}

std::string Report::failures() const {
  std::string text;
  for (const auto& [where, failure] : failures_) {
    text += where.first + ", " + where.second + ": " + std::to_string(failure.runs) +
            (failure.runs == 1 ? " run" : " runs") + ", as with seed " + std::to_string(failure.seed) + ": " +
            failure.detail + "\n";
  }
  return text;
}

}  // namespace penstock::simulation
