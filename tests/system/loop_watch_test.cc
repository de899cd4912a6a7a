// SPDX-License-Identifier: Apache-2.0
// The watch over the loop's turns, held against a loop that is known to stand still, and one that is known not to.
#include "system/loop_watch.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "system/stage.h"

namespace penstock::trial {
namespace {

/// One stall, and for how long the program was stopped.
void stall(const Daemon& daemon, Clock::duration time) {
  daemon.signal(SIGSTOP);
  std::this_thread::sleep_for(time);
  daemon.signal(SIGCONT);
}

/// Whether the watch sees it, in one of up to three attempts: a machine that stands still too has an excuse for it.
bool is_seen(const Stage& stage, std::string (LoopWatch::*look)(), const std::function<void()>& what) {
  for (int i = 0; i < 3; ++i) {
    LoopWatch loop(stage.daemon);
    what();
    EXPECT_EQ(stage.fetch("/").status, 200);
    if (!(loop.*look)().empty()) return true;
  }
  return false;
}

TEST(LoopWatch, sees_a_loop_that_stands_still_once_for_two_seconds) {
  const Stage stage;
  const auto once = [&] { stall(stage.daemon, 2s); };
  EXPECT_TRUE(is_seen(stage, &LoopWatch::slow_turns, once));
  EXPECT_TRUE(is_seen(stage, &LoopWatch::stalls, once));
}

TEST(LoopWatch, sees_a_loop_that_stands_still_three_times_for_less_than_a_second) {
  const Stage stage;
  EXPECT_TRUE(is_seen(stage, &LoopWatch::stalls, [&] {
    for (int i = 0; i < 3; ++i) stall(stage.daemon, 900ms);
  }));
}

TEST(LoopWatch, sees_nothing_wrong_with_a_loop_that_has_little_to_do) {
  const Stage stage;
  expect_quick_turns([&] {
    LoopWatch loop(stage.daemon);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(stage.fetch("/").status, 200);
    return loop.slow_turns();
  });
}

}  // namespace
}  // namespace penstock::trial
