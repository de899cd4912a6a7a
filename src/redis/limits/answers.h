// SPDX-License-Identifier: Apache-2.0
// Answers asks without Redis, and passes on what comes later than the ask. For shared_limiter.
#pragma once

#include <utility>

#include "flow/lane_key.h"
#include "flow/limiter.h"
#include "redis/limits/fallback.h"
#include "redis/limits/kept_limits.h"
#include "redis/limits/pending_asks.h"
#include "redis/limits/upstream_calls.h"
#include "redis/limits/wait_list.h"

namespace penstock::redis {

class Answers {
 public:
  /// All must outlive this.
  Answers(const UpstreamCalls& calls, Fallback& fallback, KeptLimits& kept, WaitList& wait_list,
          flow::LimiterEvents& events)
      : calls_(calls), fallback_(fallback), kept_(kept), wait_list_(wait_list), events_(events) {}

  /// By the rule for asks that Redis does not answer.
  void alone(flow::Time now, const flow::Ask& ask, flow::Booking& booking) {
    fallback_.answer(now, ask, booking);
    if (ask.weight > 0) wait_list_.answered(ask.lane(), lines_of(calls_, ask.lane()), booking);
  }
  /// Likewise, and passes it on.
  void alone(const Asking& asking) {
    kept_.release(asking);
    booking_.clear();
    alone(calls_.now(), asking.ask(), booking_);
    pass_on(asking.lane());
  }

  /// Where the answer to an ask is to be written. Call pass_on() afterwards.
  flow::Booking& booking() { return booking_; }
  void pass_on(flow::LaneKey lane) {
    auto freed = kept_.freed();
    if (booking_.departures.empty()) booking_.freed = std::move(freed);
    events_.answer(lane, booking_);
  }

 private:
  const UpstreamCalls& calls_;
  Fallback& fallback_;
  KeptLimits& kept_;
  WaitList& wait_list_;
  flow::LimiterEvents& events_;
  flow::Booking booking_;  // reused, to save allocations
};

}  // namespace penstock::redis
