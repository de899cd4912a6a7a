// SPDX-License-Identifier: Apache-2.0
// Timers: order, precision, restarts, and callbacks that change the heap under which they are called.
#include "loop/timer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "support/test_loop.h"

namespace penstock::loop {
namespace {

class TimerTest : public testing::Test {
 protected:
  std::int64_t now() const { return run_.loop.now(); }
  std::unique_ptr<Timer> timer(std::move_only_function<void()> on_time) {
    return std::make_unique<Timer>(run_.loop, std::move(on_time));
  }

  test::TestLoop run_;
};

TEST_F(TimerTest, fire_in_the_order_of_their_times_not_of_their_starts) {
  const std::int64_t start = now();
  std::vector<int> fired;
  std::vector<std::unique_ptr<Timer>> timers;
  for (const int ms : {7, 3, 9, 1, 5, 2, 8, 4, 6}) {
    timers.push_back(timer([&fired, ms] { fired.push_back(ms); }));
    timers.back()->start(start + 20'000 + ms * 1'000);
  }
  ASSERT_TRUE(run_.run_until([&] { return fired.size() == 9; }));
  EXPECT_EQ(fired, (std::vector{1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_F(TimerTest, never_fires_early) {
  for (const std::int64_t wait : {0, 1, 37, 250, 999, 1'000, 1'001, 1'999, 5'003}) {
    std::int64_t fired = 0;
    const auto one = timer([&] { fired = now(); });
    const std::int64_t asked = now() + wait;
    one->start(asked);
    EXPECT_EQ(one->at(), asked);
    ASSERT_TRUE(run_.run_until([&] { return fired != 0; }));
    EXPECT_GE(fired, asked) << wait;
  }
}

TEST_F(TimerTest, knows_fractions_of_a_millisecond) {
  std::int64_t least_late = 1'000'000;
  for (int i = 0; i < 50; ++i) {
    bool done = false;
    const std::int64_t asked = now() + 300;
    const auto one = timer([&] {
      least_late = std::min(least_late, now() - asked);
      done = true;
    });
    one->start(asked);
    ASSERT_TRUE(run_.run_until([&] { return done; }));
  }
  EXPECT_LT(least_late, 500) << "a clock of milliseconds would be 700 late";
}

TEST_F(TimerTest, fires_once) {
  int fired = 0;
  const auto one = timer([&] { ++fired; });
  one->start(now() + 1'000);
  EXPECT_TRUE(one->running());
  run_.run_for(20'000);
  EXPECT_EQ(fired, 1);
  EXPECT_FALSE(one->running());
}

TEST_F(TimerTest, a_moment_in_the_past_comes_soon_but_not_inside_start) {
  bool fired = false;
  const auto one = timer([&] { fired = true; });
  one->start(now() - 5'000'000);
  EXPECT_FALSE(fired);
  EXPECT_TRUE(run_.run_until([&] { return fired; }));
}

TEST_F(TimerTest, a_restart_replaces_the_earlier_start) {
  std::vector<std::int64_t> sooner, later;
  const std::int64_t start = now();
  const auto brought_forward = timer([&] { sooner.push_back(now()); });
  const auto put_off = timer([&] { later.push_back(now()); });
  brought_forward->start(start + 60'000);
  brought_forward->start(start + 2'000);
  put_off->start(start + 2'000);
  put_off->start(start + 30'000);
  run_.run_for(100'000);
  ASSERT_EQ(sooner.size(), 1u);
  ASSERT_EQ(later.size(), 1u);
  EXPECT_LE(sooner[0], later[0]) << "due timers fire in the order of their times";
  EXPECT_GE(later[0], start + 30'000);
}

TEST_F(TimerTest, a_stopped_or_dropped_one_never_fires) {
  bool fired = false;
  const auto stopped = timer([&] { fired = true; });
  auto dropped = timer([&] { fired = true; });
  stopped->start(now() + 2'000);
  dropped->start(now() + 3'000);
  stopped->stop();
  stopped->stop();
  dropped.reset();
  EXPECT_FALSE(stopped->running());
  run_.run_for(20'000);
  EXPECT_FALSE(fired);
}

TEST_F(TimerTest, may_be_destroyed_by_its_own_callback) {
  bool fired = false;
  std::unique_ptr<Timer> mortal;
  mortal = timer([&] {
    fired = true;
    mortal.reset();
  });
  mortal->start(now());
  EXPECT_TRUE(run_.run_until([&] { return fired; }));
  EXPECT_EQ(mortal, nullptr);
}

TEST_F(TimerTest, one_callback_may_destroy_stop_or_put_off_the_others_that_are_due) {
  std::vector<int> fired;
  auto destroyed = timer([&] { fired.push_back(2); });
  const auto stopped = timer([&] { fired.push_back(3); });
  const auto put_off = timer([&] { fired.push_back(4); });
  const std::int64_t start = now();
  const auto first = timer([&] {
    fired.push_back(1);
    destroyed.reset();
    stopped->stop();
    put_off->start(now() + 10'000);
  });
  first->start(start - 3);
  destroyed->start(start - 2);
  stopped->start(start - 1);
  put_off->start(start);
  ASSERT_TRUE(run_.run_until([&] { return fired.size() == 2; }));
  EXPECT_EQ(fired, (std::vector{1, 4}));
  EXPECT_GE(now(), start + 10'000);
}

TEST_F(TimerTest, one_that_restarts_itself_for_now_leaves_the_loop_to_others) {
  int rounds = 0;
  bool heard = false;
  std::unique_ptr<Timer> eager = timer([&] {
    ++rounds;
    eager->start(now());
  });
  eager->start(now());
  run_.loop.post([&] { run_.loop.post([&] { heard = true; }); });
  EXPECT_TRUE(run_.run_until([&] { return heard && rounds >= 3; }));
}

// Starts, restarts and stops in random order, told to a map as well; then all that is left must fire, each once, in
// order, none early.
TEST_F(TimerTest, many_do_what_a_model_says) {
  std::mt19937 random(4711);
  std::vector<std::unique_ptr<Timer>> timers(500);
  std::map<std::size_t, std::int64_t> model;
  std::vector<std::pair<std::size_t, std::int64_t>> fired;
  for (std::size_t i = 0; i < timers.size(); ++i) {
    timers[i] = timer([&, i] { fired.emplace_back(i, now()); });
  }
  const std::int64_t base = now() + 50'000;
  for (int step = 0; step < 20'000; ++step) {
    const std::size_t i = random() % timers.size();
    if (random() % 3 == 0) {
      timers[i]->stop();
      model.erase(i);
    } else {
      const std::int64_t at = base + static_cast<std::int64_t>(random() % 30'000);
      timers[i]->start(at);
      model[i] = at;
    }
  }
  ASSERT_TRUE(run_.run_until([&] { return fired.size() >= model.size(); }));
  run_.run_for(5'000);
  ASSERT_EQ(fired.size(), model.size());
  std::int64_t last = 0;
  for (const auto& [i, when] : fired) {
    ASSERT_TRUE(model.contains(i)) << "fired twice, or though stopped";
    EXPECT_GE(when, model[i]);
    EXPECT_GE(model[i], last) << "out of order";
    last = model[i];
    model.erase(i);
  }
}

}  // namespace
}  // namespace penstock::loop
