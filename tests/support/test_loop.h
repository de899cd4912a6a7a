// SPDX-License-Identifier: Apache-2.0
// An event loop that a test runs in its own thread until a condition holds.
#pragma once

#include <pthread.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <utility>

#include "loop/loop.h"
#include "loop/timer.h"

namespace penstock::test {

class TestLoop {
 public:
  TestLoop() {
    sigset_t pipe;  // SIGPIPE must be blocked in a thread that runs a loop
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    loop.at_iteration_end([this] {
      ++turns_;
      if (done_ && done_()) finish();
    });
  }

  /// Runs until `done` holds at the end of an iteration; gives up after a minute and returns false. Checks every few
  /// milliseconds even if nothing happens, because `done` may depend on another thread.
  bool run_until(std::function<bool()> done) {
    done_ = std::move(done);
    loop::Timer giving_up(loop, [this] { finish(); });
    giving_up.start(loop.now() + 60'000'000);
    loop::Timer looking(loop, [&] { looking.start(loop.now() + 2'000); });
    looking.start(loop.now());
    loop.run();
    return giving_up.running();
  }

  /// Runs for that many microseconds; returns the number of loop iterations.
  int run_for(std::int64_t time) {
    const int before = turns_;
    loop::Timer ending(loop, [this] { finish(); });
    ending.start(loop.now() + time);
    loop.run();
    return turns_ - before;
  }

  loop::Loop loop;

 private:
  void finish() {
    done_ = nullptr;
    loop.stop();
  }

  std::function<bool()> done_;
  int turns_ = 0;
};

}  // namespace penstock::test
