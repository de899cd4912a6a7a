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
  /// For a loop with this clock: there is no timerfd; the code that moves the clock has fire() called (Loop::step()).
  explicit TimerQueue(const Clock& clock) : clock_(&clock) {}

  void start(Timer& timer, std::int64_t at);
  void stop(Timer& timer);
  /// Sets the timerfd for the earliest timer, if it is not set for that or for something earlier already.
  void arm();
  /// To be called before the loop is closed.
  void close();
  /// Runs the timers that are due.
  void fire();
  /// When the next timer is due; nullopt: there is none.
  std::optional<std::int64_t> next() const;

 private:
  void place(std::size_t at, Timer* timer);
  void rise(std::size_t at);
  void sink(std::size_t at);

  const Clock* clock_ = nullptr;
  base::UniqueFd fd_;          // unless there is a clock
  uv_poll_s* poll_ = nullptr;  // null with a clock
  std::vector<Timer*> heap_;
  std::int64_t armed_ = kNever;
  std::int64_t firing_ = kNever;  // while firing: the moment up to which timers are due

  static constexpr std::int64_t kNever = -1;
};

}  // namespace penstock::loop
