// SPDX-License-Identifier: Apache-2.0
// The twin: one process without a network, under the same limits. What would it have sent? It always has a request
// waiting and never lacks a slot, so it needs no queue: a limiter is enough.
#pragma once

#include <vector>

#include "simulation/reading.h"

namespace penstock::simulation {

/// When units leave under limits on the rate that all hold for the whole upstream. `before` is what left until `from`;
/// after that, requests of these weights, over and over again, leave as soon as they may, until `until`. Ascending.
std::vector<Left> twin_sends(const Reading& reading, const std::vector<LimitConfig>& limits,
                             const std::vector<Left>& before, const std::vector<int>& weights, Span stretch);

}  // namespace penstock::simulation
