// SPDX-License-Identifier: Apache-2.0
// What crosses threads: posting to the loop, and work given away by it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <set>
#include <thread>
#include <vector>

#include "loop/worker.h"
#include "support/test_loop.h"

namespace penstock::loop {
namespace {

TEST(Posting, keeps_the_order_of_each_thread_and_loses_nothing) {
  constexpr int kThreads = 4, kEach = 2'000;
  test::TestLoop run;
  std::vector<std::vector<int>> heard(kThreads);
  int total = 0;
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        run.loop.post([&, t, i] {
          heard[t].push_back(i);
          ++total;
        });
      }
    });
  }
  ASSERT_TRUE(run.run_until([&] { return total == kThreads * kEach; }));
  for (const auto& order : heard) {
    ASSERT_EQ(order.size(), static_cast<std::size_t>(kEach));
    EXPECT_TRUE(std::ranges::is_sorted(order));
  }
}

TEST(Posting, runs_in_the_thread_of_the_loop) {
  test::TestLoop run;
  std::thread::id ran{};
  std::jthread other([&] { run.loop.post([&] { ran = std::this_thread::get_id(); }); });
  ASSERT_TRUE(run.run_until([&] { return ran != std::thread::id{}; }));
  EXPECT_EQ(ran, std::this_thread::get_id());
}

TEST(Posting, stop_from_another_thread_ends_the_run_after_what_was_posted_before) {
  Loop loop;
  bool heard = false;
  std::jthread other([&] {
    loop.post([&] { heard = true; });
    loop.stop();
  });
  loop.run();
  EXPECT_TRUE(heard);
}

TEST(Offloading, works_in_another_thread_and_is_done_in_the_loops) {
  test::TestLoop run;
  std::thread::id worked{}, done{};
  run.loop.offload([&] { worked = std::this_thread::get_id(); }, [&] { done = std::this_thread::get_id(); });
  ASSERT_TRUE(run.run_until([&] { return done != std::thread::id{}; }));
  EXPECT_NE(worked, std::this_thread::get_id());
  EXPECT_EQ(done, std::this_thread::get_id());
}

TEST(Offloading, leaves_the_loop_turning_while_the_work_blocks) {
  test::TestLoop run;
  std::promise<void> authenticator;
  bool done = false, turned = false;
  run.loop.offload([opened = authenticator.get_future()]() mutable { opened.wait(); }, [&] { done = true; });
  run.loop.post([&] { turned = true; });
  ASSERT_TRUE(run.run_until([&] { return turned; }));
  EXPECT_FALSE(done);
  authenticator.set_value();
  EXPECT_TRUE(run.run_until([&] { return done; }));
}

TEST(Offloading, works_on_one_thing_at_a_time_in_order) {
  test::TestLoop run;
  std::atomic<int> at_once = 0, most = 0;
  std::vector<int> worked, done;
  std::set<std::thread::id> threads;
  for (int i = 0; i < 50; ++i) {
    run.loop.offload(
        [&, i] {
          most = std::max(most.load(), ++at_once);
          threads.insert(std::this_thread::get_id());
          worked.push_back(i);
          --at_once;
        },
        [&, i] { done.push_back(i); });
  }
  ASSERT_TRUE(run.run_until([&] { return done.size() == 50; }));
  EXPECT_EQ(most, 1);
  EXPECT_EQ(threads.size(), 1u);
  EXPECT_EQ(worked, done);
  EXPECT_TRUE(std::ranges::is_sorted(done));
}

TEST(Offloading, is_finished_and_done_before_the_loop_is_gone) {
  bool worked = false, done = false;
  {
    Loop loop;
    loop.offload([&] { worked = true; }, [&] { done = true; });
  }
  EXPECT_TRUE(worked);
  EXPECT_TRUE(done);
}

TEST(Worker, does_what_it_was_given_in_order_before_it_goes) {
  std::vector<int> did;
  {
    Worker worker;
    for (int i = 0; i < 100; ++i) worker.run([&did, i] { did.push_back(i); });
  }
  ASSERT_EQ(did.size(), 100u);
  EXPECT_TRUE(std::ranges::is_sorted(did));
}

}  // namespace
}  // namespace penstock::loop
