// SPDX-License-Identifier: Apache-2.0
// Timers in microseconds: a heap of our own over one timerfd, since libuv's timers have milliseconds. Starting and
// stopping costs no system call while an earlier timer is armed. A timer never fires early.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "loop/loop.h"

namespace penstock::loop {

class Timer {
 public:
  Timer(Loop& loop, std::move_only_function<void()> on_time);
  ~Timer() { stop(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// Fires once, at `at` on the loop's clock (microseconds); replaces an earlier start. A time in the past fires soon.
  /// The callback may destroy the timer.
  void start(std::int64_t at);
  void stop();
  bool running() const { return place_ != kNowhere; }
  std::int64_t at() const { return at_; }

 private:
  friend class TimerQueue;
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  TimerQueue& queue_;
  std::int64_t at_ = 0;
  std::size_t place_ = kNowhere;  // in the queue's heap
  std::move_only_function<void()> on_time_;
};

}  // namespace penstock::loop
