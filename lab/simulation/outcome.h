// SPDX-License-Identifier: Apache-2.0
// The outcome of one run: what was broken, and what was measured.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/journal.h"
#include "simulation/plan.h"

namespace penstock::simulation {

struct Outcome {
  std::vector<Verdict> broken;  ///< empty: all is well
  std::uint64_t departures = 0;
  std::optional<double> worst_excess;      ///< units over what the limits allow; at most 0 where they hold
  std::optional<double> least_use;         ///< a fraction of what was possible
  std::optional<double> least_permit_use;  ///< likewise, of permits times time
  std::optional<double> widest_shares;     ///< the largest ÷ the smallest
  std::optional<double> calls;             ///< calls of Redis for each request
  double seconds = 0;                      ///< processor time; measured by the caller of Play

  bool breaks(std::string_view rule) const;
};

/// Plays a plan and judges it.
using Play = std::function<Outcome(const Plan&)>;

/// The form in which one process passes it to another: a line for each verdict. Line ends within a verdict become
/// spaces.
std::string to_text(const Outcome& outcome);
/// nullopt: the text is no complete outcome.
std::optional<Outcome> outcome_of(std::string_view text);

}  // namespace penstock::simulation
