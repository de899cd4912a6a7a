// SPDX-License-Identifier: Apache-2.0
// Whether the program's event loop stalls: how late its own 10 ms timer came, as /metrics tells, beside how late this
// machine wakes a thread of the test's own at the same time, and how long it lets the program wait for a processor.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "system/daemon.h"

namespace penstock::trial {

class LoopWatch {
 public:
  explicit LoopWatch(const Daemon& daemon);
  ~LoopWatch() { stop(); }
  LoopWatch(const LoopWatch&) = delete;

  /// What is wrong where, since it began, turns that came a quarter of a second late or later stood for longer in all
  /// than this machine's lateness explains, be it one or many; "" if nothing is. Of the program as it ran until the
  /// first call. What a quiet machine shows is for script/bench.
  std::string stalls();
  void expect_no_stall();
  /// The same, and where more than a few turns came 50 ms late, more than this machine was itself somewhat late, or
  /// made late by letting the loop wait. The latter not in a build with a sanitizer.
  std::string slow_turns();

 private:
  /// What has been so far.
  struct Turns {
    double all = 0, slow = 0;           ///< how many, and how many of them came 50 ms late or later
    double by_sum = 0, by_buckets = 0;  ///< for how many seconds long turns stood in all, at the least
    double waited = 0;  ///< for how many seconds the program waited for a processor, or the processor for its host
    double stood() const { return std::max(by_sum, by_buckets); }
    Turns operator-(const Turns& before) const;
  };
  std::string find_thread_of_loop() const;
  static Turns on_page(const std::string& page);
  Turns after_turns(double count) const;
  Turns so_far() const;
  /// Since it began; the first call ends it.
  const Turns& turns();
  void sample_this_machine();
  void stop();

  const Daemon& daemon_;
  const std::string thread_of_loop_;  // where the system tells of it
  const Turns before_;
  std::optional<Turns> turns_;
  std::atomic<bool> stopping_ = false;
  int late_ = 0, a_little_late_ = 0;  // of our own
  double stood_ = 0;                  // in all, of those that were a little late
  std::thread thread_;
};

/// What stalls the loop does so each time, and another program of this machine hardly does: an attempt that comes to
/// `slow_turns()` is made again, up to four times in all.
void expect_quick_turns(const std::function<std::string()>& attempt);

}  // namespace penstock::trial
