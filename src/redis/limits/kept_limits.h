// SPDX-License-Identifier: Apache-2.0
// The limits that this process keeps by itself beside those in Redis: those that are not shared, and those that are
// quarantined. An ask of Redis reserves a departure in them first, so that no other lane that asks meanwhile takes its
// place. For shared_limiter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/text_map.h"
#include "flow/departure_search.h"
#include "flow/lane_key.h"
#include "flow/limiter.h"
#include "penstock/limits.h"
#include "redis/limits/pending_asks.h"
#include "redis/limits/quarantine.h"
#include "redis/limits/shadow.h"
#include "redis/limits/upstream_calls.h"

namespace penstock::redis {

class KeptLimits {
 public:
  /// All must outlive this; change() must be called when `limits` have changed.
  KeptLimits(const UpstreamCalls& calls, Shadow& shadow, const Quarantine& quarantine,
             const std::vector<LimitConfig>& limits);

  void change();
  /// False: Redis alone decides.
  bool any() const { return own() || !quarantine_.empty(); }
  /// Some limits are not shared.
  bool own() const { return !own_.empty(); }
  /// Whether these limits allow a departure about when the answer comes, and from when on. One departure at a time: the
  /// next depends on when Redis lets this one go. False: `booking` is the answer.
  bool reserve(flow::Time now, Asking& asking, flow::Booking& booking);
  /// Whether they still allow what Redis has granted for `at`, which may become later, up to now. Each of several asks
  /// under way was allowed by an estimate, and Redis may have put others off to the same time since.
  bool still_allow(const Asking& asking, flow::Time& at) const;
  /// To be called once for each ask that reserve() allowed.
  void release(const Asking& asking);
  /// To be called once an ask has its answer. Semaphores of the upstream or of a route for which a lane has had to wait
  /// because of what was reserved, if something is reserved no longer.
  std::vector<flow::LimitIndex> freed();

 private:
  void note_wait(flow::Time now, const Asking& asking, flow::Booking& booking);
  bool keeps(const Asking& asking, flow::LimitIndex limit) const;
  bool has_own(flow::LaneKey lane) const;
  flow::DepartureSearch::Others reserved_by_others(flow::LaneKey lane) const;
  void reserve(const Asking& asking, int times);
  const LimitConfig& config(flow::LimitIndex limit) const { return limits_[static_cast<std::size_t>(limit)]; }

  const UpstreamCalls& calls_;
  Shadow& shadow_;
  const Quarantine& quarantine_;
  const std::vector<LimitConfig>& limits_;
  std::vector<flow::LimitIndex> own_;  // those that are not shared
  bool released_ = false;
  std::vector<flow::LimitIndex> waited_for_;  // semaphores, since the last change
  flow::DepartureSearch::Taken reserved_;
  // Of lanes with a route, and of groups, where there may be such lanes. None is kept in which nothing is reserved.
  base::TextMap<flow::DepartureSearch::Taken> of_routes_, of_groups_;
  bool some_of_routes_ = false;  // some limit is of a route
};

}  // namespace penstock::redis
