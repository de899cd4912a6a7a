// SPDX-License-Identifier: Apache-2.0
// From a limit's parameters to the limit. Only for this room.
#pragma once

#include <memory>

#include "flow/limit.h"
#include "penstock/limits.h"

namespace penstock::flow {

/// A new limit of that kind. It refers to the parameters: they must outlive it where they are, may change, and must
/// remain of the same kind.
std::unique_ptr<Limit> make_limit(const LimitConfig::Kind& kind);

}  // namespace penstock::flow
