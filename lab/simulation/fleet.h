// SPDX-License-Identifier: Apache-2.0
// Plays a plan: a Redis, processes, their clients, and the faults, in virtual time.
#pragma once

#include <string>

#include "simulation/journal.h"
#include "simulation/plan.h"

namespace penstock::simulation {

/// A fault put into the scripts of Redis: one text stands in the place of another, which is empty where there is none.
struct Mutation {
  std::string from, to;
};

/// The same plan always gives the same journal.
Journal run(const Plan& plan, const Mutation& mutation = {});

}  // namespace penstock::simulation
