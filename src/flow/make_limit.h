// SPDX-License-Identifier: Apache-2.0
// Makes a limit from its parameters. Internal to flow/.
#pragma once

#include <memory>

#include "flow/limit.h"
#include "penstock/limits.h"

namespace penstock::flow {

/// A new limit of that kind. It keeps a reference to `kind`, which must outlive it at the same address. Its parameters
/// may change; the kind must not. `of_costs`: departures are told it by commit_cost().
std::unique_ptr<Limit> make_limit(const LimitConfig::Kind& kind, bool of_costs = false);

}  // namespace penstock::flow
