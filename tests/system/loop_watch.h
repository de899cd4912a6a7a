// SPDX-License-Identifier: Apache-2.0
// Whether the program's event loop stalls: how late its own 10 ms timer came, as /metrics tells, beside how late this
// machine was at the same time, and how long it let the program wait for a processor.
#pragma once

#include <string>

#include "system/daemon.h"

namespace penstock::trial {

class LoopWatch {
 public:
  explicit LoopWatch(const Daemon& daemon);
  LoopWatch(const LoopWatch&) = delete;

  /// Since it began no turn came 50 ms late or later, unless the machine was late for so long meanwhile, or let the
  /// loop wait for a processor. A build with a sanitizer is only held to the quarter of a second of expect_no_stall().
  void expect_quick_iterations() const { expect_in_time(is_sanitized() ? kStall : kSlow); }
  /// The same of a quarter of a second, for a program that serves a crowd which keeps this machine busy.
  void expect_no_stall() const { expect_in_time(kStall); }
  /// For how long this machine has let the loop wait for a processor so far, and the thread that asks.
  Clock::duration waited() const;

 private:
  static constexpr double kSlow = 0.05, kStall = 0.25;  // bounds of buckets

  /// What has been so far.
  struct Turns {
    std::string page;   ///< with the histogram
    double ran = 0;     ///< for how many seconds
    double waited = 0;  ///< for how many seconds the program waited for a processor, or the processor for its host
  };
  std::string find_thread_of_loop() const;
  std::string page_after_turns(double count) const;
  Turns so_far() const;
  void expect_in_time(double bound) const;

  const Daemon& daemon_;
  const Clock::time_point began_ = Clock::now();
  const std::string thread_of_loop_;  // where the system tells of it
  const Turns before_;
};

}  // namespace penstock::trial
