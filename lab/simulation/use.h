// SPDX-License-Identifier: Apache-2.0
// How much of what limits allow was used in a stretch of time, against the twin. For the judges of use and recovery.
#pragma once

#include <vector>

#include "simulation/reading.h"

namespace penstock::simulation {

struct Use {
  double sent = 0, possible = 0;
  double missing = 0;  ///< of 99 % of the possible, less what is not yet due: broken if above 0
};

/// `left` is what left by these limits over the whole run: of the upstream, or of one group.
Use use_of(const Reading& reading, const std::vector<LimitConfig>& limits, const std::vector<Left>& left, Span stretch);

/// What is left of these spans where nothing was wrong, and what is at least so long.
std::vector<Span> calm_parts(const Reading& reading, const std::vector<Span>& spans, Time least);

/// Spans of one process or another in which it wanted all the time, none overlapping, each at least so long.
std::vector<Span> somebody_wants(const Reading& reading, Time least);

}  // namespace penstock::simulation
