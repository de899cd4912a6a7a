// SPDX-License-Identifier: Apache-2.0
// Draining and stopping: in time, too late, in the middle of everything, from several threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "origin.h"
#include "stage.h"

namespace embedding {
namespace {

using namespace std::chrono_literals;
using penstock::EventKind;
using penstock::Proxy;
using testing::StartsWith;

/// One in flight and two pending, all of them held by the origin.
struct Busy {
  Busy() : proxy(narrow(1)) {
    told.observe(proxy);
    if (!proxy.start()) throw std::runtime_error("cannot start");
    for (int i = 0; i < 3; ++i) answers.push_back(submit(proxy, {.url = origin.url("/hold")}));
    if (!eventually([&] { return proxy.snapshot().upstreams.front().pending == 2; })) {
      throw std::runtime_error("nobody waits");
    }
  }

  Origin origin;
  Observer told;
  Proxy proxy;
  std::vector<FutureAnswer> answers;
};

/// What a request gets that the end of the proxy has caught.
void expect_cut_off(FutureAnswer& future) {
  const auto answer = wait_for(future);
  ASSERT_TRUE(answer);
  ASSERT_TRUE(*answer) << answer->error().message;
  EXPECT_EQ((*answer)->status, 503);
  EXPECT_THAT(field(**answer, "Proxy-Status"), StartsWith("penstock; error=connection_limit_reached; "));
  EXPECT_EQ(field(**answer, "Retry-After"), "1");
}

TEST(Ending, an_idle_proxy_drains_in_no_time) {
  Proxy proxy(quiet());
  ASSERT_TRUE(proxy.start());
  auto idle = connect(proxy.url());
  EXPECT_TRUE(proxy.drain(0s));
  EXPECT_EQ(idle.read_to_end(), "");
}

TEST(Ending, a_drain_waits_for_everything_that_came_before) {
  Busy busy;
  Proxy& proxy = busy.proxy;
  auto client = connect(proxy.url());
  auto in_time = std::async(std::launch::async, [&] { return proxy.drain(kPatience); });
  ASSERT_TRUE(eventually([&] { return proxy.snapshot().draining; }));
  EXPECT_THROW(connect(proxy.url()), std::runtime_error);
  auto late = submit(proxy, {.url = busy.origin.url("/late")});
  expect_cut_off(late);
  EXPECT_THAT(get(proxy.admin_url(), "/readyz"), StartsWith("HTTP/1.1 503 "));
  busy.origin.let_go();
  EXPECT_TRUE(in_time.get());
  for (auto& answer : busy.answers) EXPECT_EQ(wait_for(answer).value()->status, 200);
  EXPECT_EQ(busy.told.count(EventKind::complete), 3u);
  EXPECT_EQ(busy.told.count(EventKind::refused), 1u);
}

TEST(Ending, a_drain_that_takes_too_long_answers_the_rest_itself) {
  Busy busy;
  Proxy& proxy = busy.proxy;
  EXPECT_FALSE(proxy.drain(20ms));
  for (auto& answer : busy.answers) expect_cut_off(answer);
  EXPECT_EQ(busy.told.count(EventKind::error), 1u);
  EXPECT_EQ(busy.told.count(EventKind::refused), 2u);
}

TEST(Ending, a_stop_cuts_a_drain_short) {
  Busy busy;
  Proxy& proxy = busy.proxy;
  auto first = std::async(std::launch::async, [&] { return proxy.drain(1h); });
  auto second = std::async(std::launch::async, [&] { return proxy.drain(1h); });
  ASSERT_TRUE(eventually([&] { return proxy.snapshot().draining; }));
  proxy.stop();
  ASSERT_EQ(first.wait_for(kPatience), std::future_status::ready);
  ASSERT_EQ(second.wait_for(kPatience), std::future_status::ready);
  EXPECT_FALSE(first.get());
  EXPECT_FALSE(second.get());
  for (auto& answer : busy.answers) expect_cut_off(answer);
}

TEST(Ending, who_drains_twice_hears_the_same_twice) {
  Busy busy;
  Proxy& proxy = busy.proxy;
  auto first = std::async(std::launch::async, [&] { return proxy.drain(kPatience); });
  ASSERT_TRUE(eventually([&] { return proxy.snapshot().draining; }));
  auto second = std::async(std::launch::async, [&] { return proxy.drain(kPatience); });
  busy.origin.let_go();
  EXPECT_TRUE(first.get());
  second.get();  // true, or false where the proxy was gone before it was asked
  EXPECT_FALSE(proxy.drain(0s));
}

// A second call can also come when the first has been answered and the thread has not ended yet: on a busy machine, in
// about one round of eight.
TEST(Ending, who_drains_at_the_end_of_a_drain_is_answered_too) {
  for (int round = 0; round < 100; ++round) {
    Proxy proxy(quiet());
    ASSERT_TRUE(proxy.start());
    auto first = std::async(std::launch::async, [&] { return proxy.drain(kPatience); });
    const bool second = proxy.drain(kPatience);
    EXPECT_TRUE(first.get() || second);
  }
}

TEST(Ending, stopping_gives_everybody_their_answer) {
  Busy busy;
  Proxy& proxy = busy.proxy;
  proxy.stop();
  for (auto& answer : busy.answers) expect_cut_off(answer);
  EXPECT_EQ(busy.told.count(EventKind::error) + busy.told.count(EventKind::refused), 3u);
  proxy.stop();
  auto after = submit(proxy, {.url = busy.origin.url("/")});
  EXPECT_FALSE(wait_for(after).value());
  EXPECT_TRUE(proxy.snapshot().upstreams.empty());
}

TEST(Ending, before_the_start_there_is_no_answer_either) {
  Proxy proxy(quiet());
  auto answer = submit(proxy, {.url = "http://127.0.0.1/"});
  EXPECT_FALSE(wait_for(answer).value());
  proxy.stop();
}

TEST(Ending, destruction_is_a_stop) {
  std::vector<FutureAnswer> answers;
  {
    Busy busy;
    answers = std::move(busy.answers);
  }
  for (auto& answer : answers) expect_cut_off(answer);
}

TEST(Ending, a_stop_in_the_middle_of_everything_answers_every_request_once) {
  constexpr int kThreads = 4, kLives = 10, kMostUnanswered = 100;
  Origin origin;
  for (int life = 0; life < kLives; ++life) {
    Proxy proxy(narrow(2));
    ASSERT_TRUE(proxy.start());
    std::atomic<bool> enough = false;
    std::atomic<int> asked = 0, answered = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        while (!enough) {
          if (asked - answered > kMostUnanswered) {
            std::this_thread::yield();
            continue;
          }
          ++asked;
          proxy.submit({.url = origin.url(i == 0 ? "/half" : "/quick")}, [&](Answer&&) { ++answered; });
        }
      });
    }
    ASSERT_TRUE(eventually([&] { return answered > 20; }));
    std::jthread other([&] { proxy.stop(); });
    proxy.stop();
    enough = true;
    threads.clear();
    EXPECT_EQ(answered, asked);
  }
}

}  // namespace
}  // namespace embedding
