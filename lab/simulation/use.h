// SPDX-License-Identifier: Apache-2.0
// How much of what limits allow was used in a stretch of time, compared with the twin. For the judges of use and
// recovery.
#pragma once

#include <vector>

#include "simulation/reading.h"

namespace penstock::simulation {

struct Use {
  double sent = 0, possible = 0;
  double missing = 0;  ///< from 99 % of the possible, less what is not yet due: broken if above 0
};

/// `left` are all departures of the run under these limits: of the upstream, or of one group.
Use use_of(const Reading& reading, const std::vector<LimitConfig>& limits, const std::vector<Left>& left, Span stretch);

/// The parts of these spans in which nothing was wrong and that are at least `least` long.
std::vector<Span> calm_parts(const Reading& reading, const std::vector<Span>& spans, Time least);

/// Disjoint spans, each at least `least` long, in each of which one process wanted to send all the time.
std::vector<Span> somebody_wants(const Reading& reading, Time least);

}  // namespace penstock::simulation
