// SPDX-License-Identifier: Apache-2.0
// When this process asks Redis to reset the shared counters of one upstream. The process that holds a counter's lease
// resets it; the others ask again when that lease ends.
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

/// A departure that waits for a reset is expected this long after it (µs).
inline constexpr flow::Time kEdge = 1'000;

class CounterResets {
 public:
  using Reset = std::function<void(flow::LimitIndex counter, const std::string& group)>;
  CounterResets(loop::Loop& loop, const std::vector<LimitConfig>& limits, Reset reset);

  /// A lane's ask was answered with `booking`. The upstream's own counters are reset as long as they are in use, those
  /// of a group when one of its lanes waits for the reset.
  void answered(flow::Time now, std::string_view group, const flow::Booking& booking);
  /// Asks for a reset at `at`; the earlier of two requests counts. `group` is the group's name, empty for the
  /// upstream's own counter.
  void want(flow::LimitIndex counter, std::string_view group, flow::Time at);
  void clear();
  /// The limits have changed; `moved` maps places of `before` to those of `limits`. For a counter whose parameters have
  /// changed, Redis is asked at once.
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
  std::vector<Counter> counters_;  // the shared ones
  std::map<std::pair<flow::LimitIndex, std::string>, flow::Time> wanted_;
  loop::Timer timer_;
};

}  // namespace penstock::redis
