// SPDX-License-Identifier: Apache-2.0
// Plays a plan in virtual time: a Redis, processes, their clients, and the faults.
#pragma once

#include <string>

#include "simulation/journal.h"
#include "simulation/plan.h"

namespace penstock::simulation {

/// A mistake put into the Redis scripts: `to` replaces `from`; an empty `from` is no mistake.
struct Mutation {
  std::string from, to;
};

/// The same plan always gives the same journal.
Journal run(const Plan& plan, const Mutation& mutation = {});

}  // namespace penstock::simulation
