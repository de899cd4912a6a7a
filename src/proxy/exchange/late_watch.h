// SPDX-License-Identifier: Apache-2.0
// Watches the requests of one upstream that have departed and not left yet: just before limits that look back would let
// others take their places, they are counted as if they left then.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "flow/late_departures.h"
#include "flow/limiter.h"
#include "loop/timer.h"
#include "penstock/config.h"
#include "proxy/exchange/taken_departure.h"

namespace penstock::proxy {

class LateWatch {
 public:
  /// `limiter` is the upstream's, which may be replaced.
  LateWatch(loop::Loop& loop, const std::unique_ptr<flow::Limiter>& limiter, const std::vector<LimitConfig>& limits);

  /// These limits hold from now on.
  void change(flow::Time now, const std::vector<LimitConfig>& limits);
  /// A request of `lane` takes off. Until it leaves, limits that look back count it as if it left now.
  void take(TakenDeparture& taken, flow::LaneKey lane, const flow::Departure& departure) {
    taken.take(late_, lane, departure);
    if (looks_back_ == 0) return;
    const flow::Time due = late_.due_for_newest(looks_back_, *limiter_);
    if (!timer_.running() || timer_.at() > due) timer_.start(due);
  }
  /// To be called before the scheduler is called: after a standstill that may be before the timer fires.
  void count(flow::Time now) {
    if (timer_.running() && timer_.at() <= now) count_anew(now);
  }
  /// The greatest lateness of the last one to two minutes.
  flow::Time to_expect(flow::Time now) const { return late_.to_expect(now); }

 private:
  void count_anew(flow::Time now);

  const std::unique_ptr<flow::Limiter>& limiter_;
  flow::LateDepartures late_;
  flow::Time looks_back_;  // shortest interval of the sliding windows; 0: there is none
  loop::Timer timer_;
};

}  // namespace penstock::proxy
