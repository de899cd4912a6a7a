// SPDX-License-Identifier: Apache-2.0
// See top_signals.h.
#include "app/top_signals.h"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace penstock::app {

TopSignals::TopSignals() : before_{} {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  fd_ = base::UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

TopSignals::~TopSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

int TopSignals::take() const {
  signalfd_siginfo info{};
  return ::read(fd_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info) ? static_cast<int>(info.ssi_signo)
                                                                                    : 0;
}

void stop_here() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  raise(SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);  // here it stops
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
}

}  // namespace penstock::app
