// SPDX-License-Identifier: Apache-2.0
// For random sequences: what there is in one, what the model knows of a request, and of those that wait in one lane.
#pragma once

#include <cstddef>
#include <vector>

#include "flow/scheduler.h"

namespace penstock::flow {

struct Kind {
  bool limited = false;
  bool slow_limiter = false;
  bool routes = false;
  bool permits = false;
  bool turns_back = false;  // now and then a start is not carried out
};

enum class State { waiting, flying, returned, resting, resuming, landed, refused, left };

struct Known {
  State state = State::waiting;
  std::size_t lane = 0;
  int weight = 1;
  Time arrived = 0;
  Time deadline = 0;
  Ticket ticket;
  bool tunnel = false, spare = false;
  Time rests_since = 0;
  Departure granted;  // that it took last
};

struct Line {
  std::vector<std::size_t> returned, waiting;
  bool empty() const { return returned.empty() && waiting.empty(); }
  std::vector<std::size_t>& first() { return returned.empty() ? waiting : returned; }
};

}  // namespace penstock::flow
