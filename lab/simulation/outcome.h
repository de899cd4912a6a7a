// SPDX-License-Identifier: Apache-2.0
// What one run came to: what was broken, and what was measured.
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
  std::optional<double> least_use;         ///< a part of what was possible
  std::optional<double> least_permit_use;  ///< likewise, of permits times time
  std::optional<double> widest_shares;     ///< the largest ÷ the smallest
  std::optional<double> calls;             ///< of Redis, a request
  double seconds = 0;                      ///< of the processor's time; counted by whoever had it played

  bool breaks(std::string_view rule) const;
};

/// Plays a plan and judges it.
using Play = std::function<Outcome(const Plan&)>;

/// As it is passed from one process to another: a line each. Line ends within a verdict become spaces.
std::string to_text(const Outcome& outcome);
/// Nothing: that is no whole outcome.
std::optional<Outcome> outcome_of(std::string_view text);

}  // namespace penstock::simulation
