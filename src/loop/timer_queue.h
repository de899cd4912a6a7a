// SPDX-License-Identifier: Apache-2.0
// The heap behind all timers of a loop, and the timerfd that wakes the loop for the earliest. For timer.cc and loop.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/unique_fd.h"
#include "loop/clock.h"

struct uv_loop_s;
struct uv_poll_s;

namespace penstock::loop {

class Timer;

class TimerQueue {
 public:
  explicit TimerQueue(uv_loop_s* uv);
  /// Of a loop that has this clock: nothing wakes it, whoever moves the clock calls fire().
  explicit TimerQueue(const Clock& clock) : clock_(&clock) {}

  void start(Timer& timer, std::int64_t at);
  void stop(Timer& timer);
  /// Sets the timerfd for the earliest timer, if it is not set for that or for something earlier already.
  void arm();
  /// Before the loop is closed.
  void close();
  /// Runs the timers that are due.
  void fire();
  /// When the next is due; nothing: never.
  std::optional<std::int64_t> next() const;

 private:
  void place(std::size_t at, Timer* timer);
  void rise(std::size_t at);
  void sink(std::size_t at);

  const Clock* clock_ = nullptr;
  base::UniqueFd fd_;          // without a clock
  uv_poll_s* poll_ = nullptr;  // likewise
  std::vector<Timer*> heap_;
  std::int64_t armed_ = kNever;
  std::int64_t firing_ = kNever;  // while firing: the moment up to which timers are due

  static constexpr std::int64_t kNever = -1;
};

}  // namespace penstock::loop
