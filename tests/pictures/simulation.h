// SPDX-License-Identifier: Apache-2.0
// What one limit does to one queue of requests, in simulated time. For the pictures of docs/limits.md and their test.
#pragma once

#include <vector>

#include "flow/limit.h"
#include "penstock/limits.h"

namespace penstock::pictures {

struct Request {
  flow::Time arrives;
  flow::Time flies;        ///< how long it takes, once it has left
  flow::Time leaves = -1;  ///< worked out by simulate()
};

/// The requests, ascending by arrival, all with the times at which they leave. Time 0 is the edge of a window.
std::vector<Request> simulate(const LimitConfig& limit, std::vector<Request> requests);

}  // namespace penstock::pictures
