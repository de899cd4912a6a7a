// SPDX-License-Identifier: Apache-2.0
// Which counters this process resets, because it has their leases: for people. Each group's is one by itself. For
// counter_resets.
#pragma once

#include <compare>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flow/limiter.h"
#include "penstock/limits.h"
#include "redis/limits/upstream_calls.h"

namespace penstock::redis {

class LedCounters {
 public:
  /// A counter as Redis has it; without a group: of the upstream or of a route.
  struct Which {
    flow::LimitIndex limit;
    std::string group;
    auto operator<=>(const Which&) const = default;
  };

  /// Both must outlive this; change() must be called when `limits` have changed.
  LedCounters(UpstreamCalls& calls, const std::vector<LimitConfig>& limits) : calls_(calls), limits_(limits) {}
  ~LedCounters() { clear(); }
  LedCounters(const LedCounters&) = delete;
  LedCounters& operator=(const LedCounters&) = delete;

  /// Redis has answered the reset of that counter with this status (reset.lua). True: this process has its lease now,
  /// `until` then.
  bool answered(const Which& which, std::string_view status, flow::Time until);
  /// Leases that ended by then and were not renewed are another process' to take.
  void drop_ended(flow::Time now);
  /// When the first lease ends; kNever: there is none.
  flow::Time first_end() const;
  /// `moved` maps places of limits to new ones.
  void change(std::span<const flow::LimitIndex> moved);
  void clear();

  static constexpr flow::Time kNever = std::numeric_limits<flow::Time>::max();

 private:
  void tell(const Which& which, std::string_view what) const;

  UpstreamCalls& calls_;
  const std::vector<LimitConfig>& limits_;
  std::map<Which, flow::Time> ends_;  // of the leases
};

}  // namespace penstock::redis
