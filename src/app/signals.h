// SPDX-License-Identifier: Apache-2.0
// Signals without handlers: blocked before any thread starts, and then waited for by the thread that has nothing else
// to do. For commands only.
#pragma once

#include <csignal>
#include <initializer_list>

namespace penstock::app {

class BlockedSignals {
 public:
  /// Blocks these in the calling thread and in those that it starts from now on.
  explicit BlockedSignals(std::initializer_list<int> signals);
  /// Puts back the mask that was there before.
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  /// The next of them, with who sent it.
  siginfo_t wait() const;
  /// The mask that was there before, for children.
  const sigset_t& before() const { return before_; }

 private:
  sigset_t blocked_, before_;
};

/// From now on SIGTERM and SIGINT end the process at once, with 128 + n; one that came while blocked, too.
void end_at_next_signal();

}  // namespace penstock::app
