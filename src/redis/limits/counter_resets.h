// SPDX-License-Identifier: Apache-2.0
// Asks Redis to reset the shared counters of one upstream, in time. The process that holds a counter's lease resets it;
// the others ask again when that lease ends. For shared_limiter.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "flow/lane_key.h"
#include "flow/limiter.h"
#include "loop/timer.h"
#include "penstock/limits.h"
#include "redis/limits/led_counters.h"
#include "redis/limits/quarantine.h"
#include "redis/limits/upstream_calls.h"
#include "redis/limits/wait_list.h"

namespace penstock::redis {

/// A departure that waits for a reset is expected this long after it (µs).
inline constexpr flow::Time kEdge = 1'000;

class CounterResets {
 public:
  /// All must outlive this; change() must be called when `limits` have changed.
  CounterResets(UpstreamCalls& calls, const Quarantine& quarantine, const WaitList& wait_list,
                const std::vector<LimitConfig>& limits);

  /// A lane's ask was answered with `booking`. The upstream's own counters are reset as long as they are in use, those
  /// of a group or a route when one of its lanes waits for the reset.
  void answered(flow::Time now, flow::LaneKey lane, const flow::Booking& booking);
  /// Redis is gone.
  void clear();
  /// The limits have changed; `moved` maps places of `before` to new ones. For a counter whose parameters have changed,
  /// Redis is asked at once.
  void change(const std::vector<LimitConfig>& before, std::span<const flow::LimitIndex> moved);

 private:
  void find_counters();
  void want(flow::LimitIndex counter, flow::LaneKey lane, flow::Time at);
  void fire();
  void sleep();
  void wake_by(flow::Time at);
  void reset(flow::LimitIndex counter, const flow::LaneName& lane);
  void was_reset(const LimitConfig& counter, const flow::LaneName& lane, const Outcome& outcome);
  flow::LimitIndex continues_as(const LimitConfig& limit) const;

  struct Counter {
    flow::LimitIndex limit;
    bool narrow;  // of a group or a route
  };

  UpstreamCalls& calls_;
  const Quarantine& quarantine_;
  const WaitList& wait_list_;
  const std::vector<LimitConfig>& limits_;
  std::vector<Counter> counters_;                                             // the shared ones
  std::map<std::pair<flow::LimitIndex, flow::LaneName>, flow::Time> wanted_;  // without a lane: of the upstream's own
  LedCounters led_;
  loop::Timer timer_;
};

}  // namespace penstock::redis
