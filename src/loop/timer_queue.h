// SPDX-License-Identifier: Apache-2.0
// The heap behind all timers of a loop, and the timerfd that wakes the loop for the earliest. For timer.cc and loop.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

struct uv_loop_s;
struct uv_poll_s;

namespace penstock::loop {

class Timer;

class TimerQueue {
 public:
  explicit TimerQueue(uv_loop_s* uv);
  ~TimerQueue();

  void start(Timer& timer, std::int64_t at);
  void stop(Timer& timer);
  /// Sets the timerfd for the earliest timer, if it is not set for that or for something earlier already.
  void arm();
  /// Before the loop is closed.
  void close();

 private:
  void fire();
  void place(std::size_t at, Timer* timer);
  void rise(std::size_t at);
  void sink(std::size_t at);

  int fd_;
  uv_poll_s* poll_;
  std::vector<Timer*> heap_;
  std::int64_t armed_ = kNever;
  std::int64_t firing_ = kNever;  // while firing: the moment up to which timers are due

  static constexpr std::int64_t kNever = -1;
};

}  // namespace penstock::loop
