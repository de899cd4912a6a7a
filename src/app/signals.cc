// SPDX-License-Identifier: Apache-2.0
// See signals.h.
#include "app/signals.h"

#include <pthread.h>
#include <unistd.h>

namespace penstock::app {

namespace {

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

}  // namespace

BlockedSignals::BlockedSignals(std::initializer_list<int> signals) : blocked_(set_of(signals)) {
  pthread_sigmask(SIG_BLOCK, &blocked_, &before_);
}

BlockedSignals::~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

siginfo_t BlockedSignals::wait() const {
  siginfo_t info{};
  while (sigwaitinfo(&blocked_, &info) < 0) {
    // EINTR, as after SIGCONT
  }
  return info;
}

void end_at_next_signal() {
  struct sigaction action {};
  action.sa_handler = [](int signal) { _exit(128 + signal); };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  const sigset_t both = set_of({SIGTERM, SIGINT});
  pthread_sigmask(SIG_UNBLOCK, &both, nullptr);
}

}  // namespace penstock::app
