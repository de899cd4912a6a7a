// SPDX-License-Identifier: Apache-2.0
// A loop with a clock of its own: it does what is due when it is told to, at that clock's time, and nothing by itself.
#include "loop/clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "loop/iteration_end.h"
#include "loop/loop.h"
#include "loop/timer.h"

namespace penstock::loop {
namespace {

using testing::ElementsAre;

class HandClock final : public Clock {
 public:
  std::int64_t now() const override { return time; }
  std::int64_t wall() const override { return time + 1'000'000; }
  std::int64_t time = 500;
};

TEST(LoopClock, is_what_the_loop_shows) {
  HandClock clock;
  Loop loop(&clock);
  EXPECT_EQ(loop.now(), 500);
  EXPECT_EQ(loop.wall(), 1'000'500);
  clock.time = 3'600'000'000;
  EXPECT_EQ(loop.now(), 3'600'000'000);
}

TEST(LoopClock, fires_each_timer_at_its_own_moment_and_none_before) {
  HandClock clock;
  Loop loop(&clock);
  std::vector<std::int64_t> fired;
  Timer first(loop, [&] { fired.push_back(clock.time); });
  Timer second(loop, [&] {
    fired.push_back(clock.time);
    if (fired.size() < 2) second.start(clock.time);  // again, at the next step
  });
  EXPECT_EQ(loop.next_step(), std::nullopt);
  first.start(1'000);
  second.start(700);
  EXPECT_EQ(loop.next_step(), 700);
  clock.time = 699;
  loop.step();
  EXPECT_THAT(fired, ElementsAre());
  clock.time = 700;
  loop.step();
  EXPECT_THAT(fired, ElementsAre(700));
  EXPECT_EQ(loop.next_step(), 701) << "or it would never come to an end of a step";
  clock.time = 1'000;
  loop.step();
  EXPECT_THAT(fired, ElementsAre(700, 1'000, 1'000));
  EXPECT_EQ(loop.next_step(), std::nullopt);
}

TEST(LoopClock, lets_a_step_run_what_was_posted_then_timers_then_the_ends_of_the_turn) {
  HandClock clock;
  Loop loop(&clock);
  std::vector<int> order;
  IterationEnd end(loop, [&] { order.push_back(3); });
  Timer timer(loop, [&] {
    order.push_back(2);
    end.ask();
  });
  timer.start(clock.time);
  loop.post([&] { order.push_back(1); });
  EXPECT_EQ(loop.next_step(), 500);
  const auto iteration = loop.iteration();
  loop.step();
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
  EXPECT_EQ(loop.iteration(), iteration + 1);
  EXPECT_EQ(loop.next_step(), std::nullopt);
  end.ask();
  EXPECT_EQ(loop.next_step(), 500) << "who asks for a turn's end wants a turn";
}

}  // namespace
}  // namespace penstock::loop
