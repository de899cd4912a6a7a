// SPDX-License-Identifier: Apache-2.0
// Makes a failing plan smaller as long as it fails in the same way: what is left is what the failure takes.
#pragma once

#include <functional>
#include <vector>

#include "simulation/plan.h"

namespace penstock::simulation {

/// Whether a plan still fails in the same way.
using Fails = std::function<bool(const Plan&)>;

struct Shrunk {
  Plan plan;
  int tries = 0;  ///< how many plans were tried
};

/// Tries at most `most_tries` plans, each smaller than the last that failed: fewer processes, faults and limits, a
/// shorter run, less demand, nothing that varies. Deterministic.
Shrunk shrink(const Plan& failing, const Fails& fails, int most_tries);

/// All plans that are one step smaller, the most promising first. None equals `plan`.
std::vector<Plan> smaller(const Plan& plan);

}  // namespace penstock::simulation
