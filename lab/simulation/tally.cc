// SPDX-License-Identifier: Apache-2.0
// See tally.h.
#include "simulation/tally.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace penstock::simulation {

namespace {

constexpr std::uint64_t kEnough = 1'000;  // runs in a cell

/// 1,234,567
std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (auto i = static_cast<int>(digits.size()) - 3; i > 0; i -= 3) digits.insert(static_cast<std::size_t>(i), ",");
  return digits;
}
std::string rounded(double figure) { return grouped(static_cast<std::uint64_t>(figure + 0.5)); }

std::string row(std::initializer_list<std::string> cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + cell + " |";
  return line + "\n";
}

std::string summary(const Tally& tally) {
  const Report::Line all = tally.report.sum();
  std::size_t rare = 0;
  for (const auto& [cell, runs] : tally.report.cells()) rare += runs < kEnough ? 1 : 0;
  const auto cells = tally.report.cells().size();
  return grouped(all.departures) + " departures were judged, of " + grouped(all.runs) + " runs (" + tally.what + "), " +
         rounded(all.hours) + " hours of virtual time. It took " + rounded(static_cast<double>(tally.wall) / 60) +
         " minutes and " + rounded(all.seconds / 60) + " minutes of the processors' time: " +
         rounded(static_cast<double>(all.departures) / std::max(all.seconds, 1e-3)) + " departures a second of it.\n" +
         grouped(cells - rare) + " of the " + grouped(cells) + " cells of regime × kind × fault had " +
         grouped(kEnough) + " runs or more. " + grouped(all.failed) + " runs broke a rule.\n";
}

std::string row_of(const Report::Line& line) {
  return row({line.regime, grouped(line.runs), grouped(line.failed), written("%.1f", line.hours),
              grouped(line.departures), written("%+.1f", line.worst_excess), written("%.3f", line.least_use),
              written("%.3f", line.least_permit_use), written("%.2f", line.widest_shares),
              written("%.2f", line.most_calls)});
}

std::string table_of_regimes(const Report& report) {
  std::string text = row({"Regime", "Runs", "Broken", "Hours", "Departures", "Excess", "Least use", "Permit use",
                          "Max/min", "Calls each"}) +
                     "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n";
  for (const auto& line : report.lines()) text += row_of(line);
  return text + row_of(report.sum());
}

std::string table_of_cells(const Report& report) {
  std::set<std::string> kinds;
  std::map<std::string, std::map<std::string, std::uint64_t>> faults;
  for (const auto& [cell, runs] : report.cells()) {
    kinds.insert(cell.kind);
    faults[cell.fault][cell.kind] += runs;
  }
  std::string text = "| Fault |", rule = "|---|";
  for (const auto& kind : kinds) text += " `" + kind + "` |", rule += "---:|";
  text += "\n" + rule + "\n";
  for (auto& [fault, runs] : faults) {
    text += "| " + fault + " |";
    for (const auto& kind : kinds) text += " " + grouped(runs[kind]) + " |";
    text += "\n";
  }
  return text;
}

std::string table_of_failures(const Report& report) {
  if (!report.failed()) return "Nothing was broken.\n";
  std::string text = row({"Regime", "Rule", "Runs", "As with seed"}) + "|---|---|---:|---:|\n";
  for (const auto& [where, failure] : report.failures())
    text += row({where.first, where.second, grouped(failure.runs), std::to_string(failure.seed)});
  return text;
}

}  // namespace

std::expected<Tally, std::string> read_tally(const std::string& path, const std::string& what) {
  Tally tally{.what = what, .report = {}};
  std::ifstream file(path);
  if (!file) return tally;
  std::string line, rest;
  std::getline(file, line);
  if (line != what) return std::unexpected(path + " is of another run: " + line);
  std::getline(file, line);
  std::istringstream numbers(line);
  std::stringstream report;
  report << file.rdbuf();
  auto read = Report::of(report.str());
  if (!(numbers >> tally.jobs >> tally.wall) || !read) return std::unexpected(path + " is no tally");
  tally.report = std::move(*read);
  return tally;
}

bool write_tally(const std::string& path, const Tally& tally) {
  const std::string fresh = path + ".new";
  const bool written = static_cast<bool>(std::ofstream(fresh) << tally.what << "\n"
                                                              << tally.jobs << " " << tally.wall << "\n"
                                                              << tally.report.saved() << std::flush);
  return written && std::rename(fresh.c_str(), path.c_str()) == 0;
}

std::string page_of(const Tally& tally) {
  return summary(tally) + "\n" + table_of_regimes(tally.report) + "\nRuns, by kind and fault:\n\n" +
         table_of_cells(tally.report) + "\nWhat was broken:\n\n" + table_of_failures(tally.report);
}

}  // namespace penstock::simulation
