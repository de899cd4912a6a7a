// SPDX-License-Identifier: Apache-2.0
// Signals without handlers: blocked before any thread starts, then awaited by the main thread, which has nothing else
// to do. For commands only.
#pragma once

#include <csignal>
#include <initializer_list>

namespace penstock::app {

class BlockedSignals {
 public:
  /// Blocks these signals in the calling thread and in the threads that it starts from now on.
  explicit BlockedSignals(std::initializer_list<int> signals);
  /// Restores the previous mask.
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  /// Waits for the next of these signals; the result also names its sender.
  siginfo_t wait() const;
  /// The previous mask, for children.
  const sigset_t& before() const { return before_; }

 private:
  sigset_t blocked_, before_;
};

/// From now on SIGTERM and SIGINT end the process at once, with exit code 128 + n; so does one that came while blocked.
void end_at_next_signal();

}  // namespace penstock::app
