// SPDX-License-Identifier: Apache-2.0
// The departures of one upstream that left later than they were booked, until Redis is told: those of a moment
// together, since it is bursts that are late.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "flow/limiter.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "redis/limits/script_args.h"

namespace penstock::redis {

class LateReports {
 public:
  using Moves = std::vector<ScriptArgs::Move>;
  /// `tell` is given those of one group, the earliest first, a millisecond after the first of them.
  using Tell = std::function<void(std::string_view group, const Moves& moves)>;
  LateReports(loop::Loop& loop, Tell tell);

  void add(std::string_view group, const ScriptArgs::Move& move);
  /// Those that there are.
  void tell_now();
  /// The same, where some are so late that somebody may ask for their places.
  void tell_overdue() {
    if (overdue_) tell_now();
  }

 private:
  loop::Loop& loop_;
  const Tell tell_;
  std::map<std::string, Moves, std::less<>> moves_;
  bool overdue_ = false;
  loop::Timer timer_;
};

}  // namespace penstock::redis
