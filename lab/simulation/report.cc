// SPDX-License-Identifier: Apache-2.0
// See report.h.
#include "simulation/report.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <sstream>

namespace penstock::simulation {

namespace {

constexpr int kWidth = 27;  // of the longest regime name

void keep_most(std::optional<double>& most, std::optional<double> other) {
  if (other && (!most || *other > *most)) most = other;
}
void keep_least(std::optional<double>& least, std::optional<double> other) {
  if (other && (!least || *other < *least)) least = other;
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

// ---- a saved report: a line for each entry, its words apart by tabs; every digit of a figure ------------------------

constexpr const char *kLine = "regime", *kFailure = "failure", *kCell = "cell";
constexpr const char* kExact = "%.17g";

std::string entry(std::initializer_list<std::string> words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : "\t") + word;
  return line + "\n";
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream rest(line);
  for (std::string word; std::getline(rest, word, '\t');) words.push_back(word);
  return words;
}

std::uint64_t count_of(const std::string& word) { return std::strtoull(word.c_str(), nullptr, 10); }
double figure_in(const std::string& word) { return std::strtod(word.c_str(), nullptr); }
std::optional<double> maybe_in(const std::string& word) {
  return word == "-" ? std::nullopt : std::optional(figure_in(word));
}

}  // namespace

std::string written(const char* format, std::optional<double> figure) {
  if (!figure) return "-";
  char text[40];
  std::snprintf(text, sizeof text, format, *figure);
  return text;
}

void Report::Line::add(const Line& other) {
  runs += other.runs;
  failed += other.failed;
  departures += other.departures;
  hours += other.hours;
  seconds += other.seconds;
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
             .seconds = outcome.seconds,
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
  std::set<std::string> kinds, faults;
  for (const LimitConfig& limit : plan.limits) kinds.emplace(limit_key(limit.kind));
  for (const Fault& fault : plan.faults) faults.emplace(name_of(fault.kind));
  if (faults.empty()) faults.insert("none");
  for (const auto& kind : kinds) {
    for (const auto& fault : faults) ++cells_[{plan.regime, kind, fault}];
  }
}

Report::Line Report::sum() const {
  Line sum{.regime = "all"};
  for (const Line& line : lines_) sum.add(line);
  return sum;
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
  for (const Line& line : lines_) text += Report::text(line);
  const Line all = sum();
  text += Report::text(all);
  if (all.seconds <= 0) return text;
  return text + written("%.0f", static_cast<double>(all.departures) / all.seconds) + " departures a second of " +
         written("%.0f", all.seconds) + " s of the processor's time\n";
}

std::string Report::failure_text() const {
  std::string text;
  for (const auto& [where, failure] : failures_) {
    text += where.first + ", " + where.second + ": " + std::to_string(failure.runs) +
            (failure.runs == 1 ? " run" : " runs") + ", as with seed " + std::to_string(failure.seed) + ": " +
            failure.detail + "\n";
  }
  return text;
}

std::string Report::saved() const {
  std::string text;
  for (const Line& line : lines_) {
    text += entry({kLine, line.regime, std::to_string(line.runs), std::to_string(line.failed),
                   std::to_string(line.departures), written(kExact, line.hours), written(kExact, line.seconds),
                   written(kExact, line.worst_excess), written(kExact, line.least_use),
                   written(kExact, line.least_permit_use), written(kExact, line.widest_shares),
                   written(kExact, line.most_calls)});
  }
  for (const auto& [where, failure] : failures_) {
    text += entry({kFailure, where.first, where.second, std::to_string(failure.runs), std::to_string(failure.seed),
                   failure.detail});
  }
  for (const auto& [cell, runs] : cells_)
    text += entry({kCell, cell.regime, cell.kind, cell.fault, std::to_string(runs)});
  return text;
}

bool Report::read_line(const std::string& line) {
  const auto words = words_of(line);
  if (words.size() == 12 && words[0] == kLine) {
    lines_.push_back({.regime = words[1],
                      .runs = count_of(words[2]),
                      .failed = count_of(words[3]),
                      .departures = count_of(words[4]),
                      .hours = figure_in(words[5]),
                      .seconds = figure_in(words[6]),
                      .worst_excess = maybe_in(words[7]),
                      .least_use = maybe_in(words[8]),
                      .least_permit_use = maybe_in(words[9]),
                      .widest_shares = maybe_in(words[10]),
                      .most_calls = maybe_in(words[11])});
    return true;
  }
  if (words.size() >= 5 && words[0] == kFailure) {
    const std::string detail = words.size() > 5 ? words[5] : "";
    return failures_.emplace(std::pair(words[1], words[2]), Failure{count_of(words[3]), count_of(words[4]), detail})
        .second;
  }
  const bool is_cell = words.size() == 5 && words[0] == kCell;
  return is_cell && cells_.emplace(Cell{words[1], words[2], words[3]}, count_of(words[4])).second;
}

std::optional<Report> Report::of(const std::string& saved) {
  Report report;
  std::istringstream lines(saved);
  for (std::string line; std::getline(lines, line);) {
    if (!report.read_line(line)) return std::nullopt;
  }
  return report;
}

}  // namespace penstock::simulation
