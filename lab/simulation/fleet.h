// SPDX-License-Identifier: Apache-2.0
// Plays a plan: a Redis, processes, their clients, and the faults, in virtual time.
#pragma once

#include "simulation/journal.h"
#include "simulation/plan.h"

namespace penstock::simulation {

/// The same plan always gives the same journal.
Journal run(const Plan& plan);

}  // namespace penstock::simulation
