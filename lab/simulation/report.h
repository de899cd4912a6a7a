// SPDX-License-Identifier: Apache-2.0
// The report of a session: a line for each regime with the number of runs and the worst measurements; how often each
// kind of limit met each fault; and what failed, by rule.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "simulation/outcome.h"

namespace penstock::simulation {

class Report {
 public:
  struct Line {
    std::string regime;
    std::uint64_t runs = 0, failed = 0, departures = 0;
    double hours = 0, seconds = 0;  ///< of virtual time, and of processor time
    std::optional<double> worst_excess, least_use, least_permit_use, widest_shares, most_calls;
    void add(const Line& other);
  };
  struct Failure {
    std::uint64_t runs = 0, seed = 0;  ///< the least seed
    std::string detail;                ///< of the run with that seed
  };
  /// A kind of limit in a regime, and a fault; "none" for a run without faults.
  struct Cell {
    std::string regime, kind, fault;
    auto operator<=>(const Cell&) const = default;
  };
  using Failures = std::map<std::pair<std::string, std::string>, Failure>;  ///< by regime and rule
  using Cells = std::map<Cell, std::uint64_t>;                              ///< number of runs

  void add(const Plan& plan, const Outcome& outcome);

  bool failed() const { return !failures_.empty(); }
  const std::vector<Line>& lines() const { return lines_; }  ///< in the order in which the regimes came
  Line sum() const;
  const Failures& failures() const { return failures_; }
  const Cells& cells() const { return cells_; }

  /// A table whose last line is the sum; after it, how many departures were judged in a second of processor time.
  std::string table() const;
  /// By regime and rule: the number of runs, and the least seed with its detail. Empty: nothing failed.
  std::string failure_text() const;

  /// Text from which another session goes on. of() gives nullopt if the text is no saved report.
  std::string saved() const;
  static std::optional<Report> of(const std::string& saved);

 private:
  static std::string text(const Line& line);
  bool read_line(const std::string& words);

  std::vector<Line> lines_;
  Failures failures_;
  Cells cells_;
};

/// A figure as it stands in tables; `-` if there is none.
std::string written(const char* format, std::optional<double> figure);

}  // namespace penstock::simulation
