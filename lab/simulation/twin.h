// SPDX-License-Identifier: Apache-2.0
// One process without a network, by the same limits: what would it have sent? It always has a request waiting and never
// lacks a slot, so it needs no queue: a booker is enough.
#pragma once

#include <vector>

#include "simulation/reading.h"

namespace penstock::simulation {

/// When units leave, by limits on the rate which all hold for the whole upstream. `before` is what left until `from`;
/// then requests of these weights, over and over again, leave as soon as they may, until `until`. Ascending.
std::vector<Left> twin_sends(const Reading& reading, const std::vector<LimitConfig>& limits,
                             const std::vector<Left>& before, const std::vector<int>& weights, Span stretch);

}  // namespace penstock::simulation
