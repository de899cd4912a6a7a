// SPDX-License-Identifier: Apache-2.0
// Reports to Redis what became of departures that were granted: they are given back, or leave late. A departure is
// reported to those limits alone in which it counts in Redis. For shared_limiter.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "flow/limiter.h"
#include "penstock/limits.h"
#include "redis/limits/late_reports.h"
#include "redis/limits/learned_reports.h"
#include "redis/limits/quarantine.h"
#include "redis/limits/recent.h"
#include "redis/limits/upstream_calls.h"

namespace penstock::redis {

class DepartureReports {
 public:
  /// All must outlive this; change() must be called when `limits` have changed.
  DepartureReports(UpstreamCalls& calls, const Quarantine& quarantine, Recent& recent,
                   const std::vector<LimitConfig>& limits);

  /// A departure that no request takes; `at` is its time in Redis.
  void give_back(flow::LaneKey lane, std::int64_t at, const flow::Load& load, flow::ConfigEpoch epoch);
  /// The request that took this departure has cost so much.
  void settle(flow::LaneKey lane, const flow::Departure& departure, int cost);
  /// It leaves at `departure.at`, which is later than Redis has it. Sets the time at which Redis has it from now on.
  void move(flow::LaneKey lane, flow::Departure& departure);
  /// The upstream refused a request that took this departure.
  void refused(flow::LaneKey lane, const flow::Departure& departure);
  /// The answer to a request that took this departure says what the upstream has counted.
  void learned(flow::LaneKey lane, const flow::Departure& departure, const flow::Report& report);
  /// To be called before an ask: it could be granted the place of a departure that is very late.
  void tell_overdue() { late_.tell_overdue(); }
  /// The limits are about to change: reports late departures under the old ones.
  void tell_now() { late_.tell_now(); }
  /// They have changed; `moved` maps places of `before` to new ones, and `epoch` is the new config epoch.
  void change(const std::vector<LimitConfig>& before, std::span<const flow::LimitIndex> moved, flow::ConfigEpoch epoch);

 private:
  void look_at_limits();
  flow::LaneKey told_by(flow::LaneKey lane) const;
  std::vector<flow::LimitIndex> not_counting(flow::LaneKey lane, flow::ConfigEpoch epoch) const;

  UpstreamCalls& calls_;
  const Quarantine& quarantine_;
  Recent& recent_;
  const std::vector<LimitConfig>& limits_;
  bool looks_back_on_groups_ = false;            // a shared limit that is per group counts by the times of departures
  bool looks_back_on_routes_ = false;            // one of a route does
  bool learns_ = false;                          // a shared limit learns from refusals
  std::vector<flow::ConfigEpoch> shared_since_;  // of each limit: earlier departures do not count in it in Redis
  LateReports late_;
  LearnedReports learned_;
};

}  // namespace penstock::redis
