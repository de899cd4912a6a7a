// SPDX-License-Identifier: Apache-2.0
// A line for each regime: how often it was run, and the worst of what was measured. And what failed, by rule.
#pragma once

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
  void add(const Plan& plan, const Outcome& outcome);

  bool failed() const { return !failures_.empty(); }
  /// A table, in the order in which regimes came; the last line is the sum.
  std::string table() const;
  /// By regime and rule: in how many runs, and the least seed with what it says. Empty: nothing failed.
  std::string failures() const;

 private:
  struct Line {
    std::string regime;
    std::uint64_t runs = 0, failed = 0, departures = 0;
    double hours = 0;
    std::optional<double> worst_excess, least_use, least_permit_use, widest_shares, most_calls;
    void add(const Line& other);
  };
  struct Failure {
    std::uint64_t runs = 0, seed = 0;
    std::string detail;
  };

  static std::string text(const Line& line);

  std::vector<Line> lines_;
  std::map<std::pair<std::string, std::string>, Failure> failures_;
};

}  // namespace penstock::simulation
