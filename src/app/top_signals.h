// SPDX-License-Identifier: Apache-2.0
// The signals that end, stop or resize `penstock top`, as bytes to read: a terminal is given back by the program's own
// course, never by a handler.
#pragma once

#include <csignal>

#include "base/unique_fd.h"

namespace penstock::app {

class TopSignals {
 public:
  /// Blocks them in this thread and in those that it starts from now on.
  TopSignals();
  /// Restores the previous mask.
  ~TopSignals();
  TopSignals(const TopSignals&) = delete;
  TopSignals& operator=(const TopSignals&) = delete;

  int fd() const { return fd_.get(); }
  /// The next one; 0: there is none.
  int take() const;

 private:
  sigset_t before_;
  base::UniqueFd fd_;
};

/// Stops this process as Ctrl-Z does, until SIGCONT. Called with SIGTSTP blocked.
void stop_here();

}  // namespace penstock::app
