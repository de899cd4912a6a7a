// SPDX-License-Identifier: Apache-2.0
// The course of a turn: what is asked for its end, what every turn ends with, and what lives on the loop by itself.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "loop/iteration_end.h"
#include "support/test_loop.h"

namespace penstock::loop {
namespace {

using Said = std::vector<std::string>;

class IterationTest : public testing::Test {
 protected:
  // All of it within one turn.
  void in_one_turn(std::move_only_function<void()> task) {
    bool ended = false;
    run_.loop.post([&, task = std::move(task)]() mutable {
      task();
      said_.push_back("turn");
      run_.loop.post([&] { ended = true; });
    });
    ASSERT_TRUE(run_.run_until([&] { return ended; }));
  }
  std::move_only_function<void()> say(std::string what) {
    return [this, what = std::move(what)] { said_.push_back(what); };
  }

  test::TestLoop run_;
  Said said_;
};

TEST_F(IterationTest, what_is_asked_for_runs_once_at_the_end_however_often_it_was_asked) {
  IterationEnd one(run_.loop, say("one"));
  in_one_turn([&] {
    one.ask();
    one.ask();
    EXPECT_TRUE(one.asked());
  });
  EXPECT_EQ(said_, (Said{"turn", "one"}));
  EXPECT_FALSE(one.asked());
}

TEST_F(IterationTest, ends_run_in_the_order_in_which_they_were_asked_for) {
  IterationEnd a(run_.loop, say("a")), b(run_.loop, say("b")), c(run_.loop, say("c"));
  in_one_turn([&] { b.ask(), c.ask(), a.ask(), b.ask(); });
  EXPECT_EQ(said_, (Said{"turn", "b", "c", "a"}));
}

TEST_F(IterationTest, a_cancelled_one_does_not_run_and_may_be_asked_again) {
  IterationEnd a(run_.loop, say("a")), b(run_.loop, say("b"));
  in_one_turn([&] {
    a.ask(), b.ask();
    a.cancel();
    EXPECT_FALSE(a.asked());
    a.cancel();
    a.ask();
  });
  EXPECT_EQ(said_, (Said{"turn", "b", "a"}));
}

TEST_F(IterationTest, a_destroyed_one_does_not_run) {
  auto mortal = std::make_optional<IterationEnd>(run_.loop, say("mortal"));
  in_one_turn([&] {
    mortal->ask();
    mortal.reset();
  });
  EXPECT_EQ(said_, Said{"turn"});
}

TEST_F(IterationTest, one_may_destroy_itself_and_those_that_come_after_it) {
  std::optional<IterationEnd> itself, next;
  itself.emplace(run_.loop, [&] {
    said_.push_back("itself");
    next.reset();
    itself.reset();
  });
  next.emplace(run_.loop, say("next"));
  IterationEnd last(run_.loop, say("last"));
  in_one_turn([&] { itself->ask(), next->ask(), last.ask(); });
  EXPECT_EQ(said_, (Said{"turn", "itself", "last"}));
}

TEST_F(IterationTest, what_an_end_asks_for_comes_in_the_same_turn) {
  IterationEnd second(run_.loop, say("second"));
  IterationEnd first(run_.loop, [&] {
    said_.push_back("first");
    second.ask();
  });
  in_one_turn([&] {
    first.ask();
    run_.loop.post(say("next turn"));
  });
  EXPECT_EQ(said_, (Said{"turn", "first", "second", "next turn"}));
}

TEST_F(IterationTest, tasks_of_every_turn_come_after_the_ends_in_the_order_of_registration) {
  bool record = false;
  run_.loop.at_iteration_end([&] {
    if (record) said_.push_back("every 1");
  });
  run_.loop.at_iteration_end([&] {
    if (record) said_.push_back("every 2");
    record = false;
  });
  IterationEnd one(run_.loop, say("one"));
  in_one_turn([&] {
    record = true;
    one.ask();
  });
  EXPECT_EQ(said_, (Said{"turn", "one", "every 1", "every 2"}));
}

TEST_F(IterationTest, a_task_of_every_turn_may_end_the_owner_of_another_and_add_more) {
  auto owner = std::make_shared<const bool>(true);
  bool act = false, record = false;
  run_.loop.at_iteration_end([&, text = std::string(100, 'x')] {
    if (!std::exchange(act, false)) return;
    owner.reset();
    for (int i = 0; i < 100; ++i) {
      run_.loop.at_iteration_end([&, i] {
        if (i == 99 && std::exchange(record, false)) said_.push_back("the last");
      });
    }
    EXPECT_EQ(text.size(), 100u) << "it stays where it is";
  });
  run_.loop.at_iteration_end(
      [&] {
        if (record) said_.push_back("without its owner");
      },
      owner);
  in_one_turn([&] { act = record = true; });
  EXPECT_EQ(said_, (Said{"turn", "the last"}));
}

TEST_F(IterationTest, an_end_that_a_task_of_every_turn_asks_for_does_not_wait_for_the_next_event) {
  IterationEnd late(run_.loop, say("late"));
  bool ask = false;
  run_.loop.at_iteration_end([&] {
    if (std::exchange(ask, false)) late.ask();
  });
  in_one_turn([&] {
    ask = true;
    run_.loop.post(say("next turn"));
  });
  EXPECT_EQ(said_, (Said{"turn", "late", "next turn"}));
}

TEST_F(IterationTest, last_words_after_the_loop_has_stopped) {
  IterationEnd end(run_.loop, say("end"));
  run_.loop.post([&] { run_.loop.stop(); });
  run_.loop.run();
  run_.loop.post([&] {
    said_.push_back("posted");
    end.ask();
  });
  EXPECT_EQ(said_, Said{});
  run_.loop.run_posted();
  EXPECT_EQ(said_, Said{"posted"});
  run_.loop.run_iteration_ends();
  EXPECT_EQ(said_, (Said{"posted", "end"}));
}

TEST_F(IterationTest, a_loop_that_was_stopped_runs_again) {
  int turns = 0;
  for (int i = 0; i < 3; ++i) {
    run_.loop.stop();
    run_.loop.post([&] { ++turns; });
    run_.loop.run();
    run_.loop.run_posted();
  }
  EXPECT_EQ(turns, 3);
}

class CountedGuest final : public SelfOwned {
 public:
  explicit CountedGuest(int& alive) : alive_(alive) { ++alive_; }
  ~CountedGuest() override { --alive_; }

 private:
  int& alive_;
};

TEST_F(IterationTest, residents_live_until_they_are_dismissed) {
  int alive = 0;
  Loop loop;
  std::vector<SelfOwned*> guests;
  for (int i = 0; i < 3; ++i) {
    auto guest = std::make_unique<CountedGuest>(alive);
    guests.push_back(guest.get());
    loop.adopt(std::move(guest));
  }
  EXPECT_EQ(loop.self_owned(), 3u);
  loop.dismiss(guests[0]);
  EXPECT_EQ(alive, 2);
  loop.dismiss(guests[0]);  // no longer there: nothing happens
  loop.dismiss(guests[2]);
  EXPECT_EQ(alive, 1);
  EXPECT_EQ(loop.self_owned(), 1u);
}

TEST_F(IterationTest, a_resident_that_stays_ends_with_the_loop) {
  int alive = 0;
  {
    Loop loop;
    loop.adopt(std::make_unique<CountedGuest>(alive));
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST_F(IterationTest, the_clock_does_not_go_back_and_the_wall_shows_this_century) {
  std::int64_t last = run_.loop.now();
  for (int i = 0; i < 1'000; ++i) {
    const std::int64_t now = run_.loop.now();
    ASSERT_GE(now, last);
    last = now;
  }
  EXPECT_GT(system_wall(), 1'700'000'000'000'000);
  EXPECT_LT(system_wall(), 4'000'000'000'000'000);
}

}  // namespace
}  // namespace penstock::loop
