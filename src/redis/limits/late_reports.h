// SPDX-License-Identifier: Apache-2.0
// Collects the departures of one upstream that left later than booked, until Redis is told. Those within a millisecond
// are reported together, since it is bursts that are late. One that is late twice meanwhile is reported once.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "flow/lane_key.h"
#include "flow/limiter.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "redis/limits/script_args.h"

namespace penstock::redis {

class LateReports {
 public:
  using Moves = std::vector<ScriptArgs::Move>;
  /// Receives the moves of one lane, the earliest first, 1 ms after the first move was added.
  using Tell = std::function<void(flow::LaneKey lane, const Moves& moves)>;
  LateReports(loop::Loop& loop, Tell tell);

  void add(flow::LaneKey lane, const ScriptArgs::Move& move);
  /// A departure that is last known to be at `at` is given back: Redis need not be told that it moved. Returns the time
  /// at which Redis has it.
  std::int64_t take_back(flow::LaneKey lane, std::int64_t at, const flow::Load& load);
  /// Reports all collected moves.
  void tell_now();
  /// The same, if some departure is so late (beyond the horizon) that an ask could be granted its place.
  void tell_overdue() {
    if (overdue_) tell_now();
  }

 private:
  loop::Loop& loop_;
  const Tell tell_;
  std::map<flow::LaneName, Moves, flow::LaneOrder> moves_;  // of each lane by `to`, which mostly ascends
  bool overdue_ = false;
  loop::Timer timer_;
};

}  // namespace penstock::redis
