// SPDX-License-Identifier: Apache-2.0
// When the shared counters of one upstream are to be reset, as far as this process cares: whoever leads resets, the
// others ask again when its lease ends.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/limiter.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "penstock/limits.h"

namespace penstock::redis {

/// What is expected after a reset comes so long after it.
inline constexpr flow::Time kEdge = 1'000;

class CounterResets {
 public:
  using Reset = std::function<void(flow::LimitIndex counter, const std::string& group)>;
  CounterResets(loop::Loop& loop, const std::vector<LimitConfig>& limits, Reset reset);

  /// A lane was answered so. The upstream's own counters are reset as long as they are in use, those of groups when a
  /// lane waits for it.
  void answered(flow::Time now, std::string_view group, const flow::Booking& booking);
  /// Not before `at`; the sooner of two wishes counts. `group` is its name, empty for the upstream's own counter.
  void want(flow::LimitIndex counter, std::string_view group, flow::Time at);
  void clear();
  /// Other limits; `moved` says where those of before are now. Of a counter that has changed it is asked anew.
  void change(const std::vector<LimitConfig>& before, const std::vector<LimitConfig>& limits,
              std::span<const flow::LimitIndex> moved);

 private:
  void find_counters(const std::vector<LimitConfig>& limits);
  void fire();
  void sleep();

  struct Counter {
    flow::LimitIndex limit;
    bool of_group;
  };

  loop::Loop& loop_;
  const Reset reset_;
  std::vector<Counter> counters_;  // that are shared
  std::map<std::pair<flow::LimitIndex, std::string>, flow::Time> wanted_;
  loop::Timer timer_;
};

}  // namespace penstock::redis
