// SPDX-License-Identifier: Apache-2.0
// Permits held in this process: from any thread, until they are dropped, and through the end of the proxy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "stage.h"

namespace embedding {
namespace {

using namespace std::chrono_literals;
using penstock::EventKind;
using penstock::Permit;
using penstock::PermitRefusal;
using penstock::Proxy;
using testing::HasSubstr;

/// One upstream `db` of permits, so many at once.
penstock::Config permits(int max_concurrent) {
  auto config = quiet();
  auto& db = config.upstreams.emplace_back();
  db.name = "db";
  db.permits = true;
  db.settings.max_concurrent = max_concurrent;
  return config;
}

std::size_t in_flight(const Proxy& proxy) { return proxy.snapshot().upstreams.front().in_flight; }
std::size_t pending(const Proxy& proxy) { return proxy.snapshot().upstreams.front().pending; }

PermitRefusal why_not(Proxy& proxy, std::string_view name, const penstock::PermitOptions& options = {}) {
  auto permit = proxy.acquire(name, options);
  return permit ? PermitRefusal{.status = 200} : permit.error();
}

TEST(Permits, are_held_until_they_are_dropped) {
  Observer told;
  Proxy proxy(permits(1));
  told.observe(proxy);
  ASSERT_TRUE(proxy.start());
  {
    const auto permit = proxy.acquire("db");
    ASSERT_TRUE(permit) << permit.error().message;
    EXPECT_TRUE(permit->held());
    EXPECT_EQ(in_flight(proxy), 1u);
    ASSERT_TRUE(told.wait_for(EventKind::dispatch));
    EXPECT_EQ(permit->id(), told.all().front().id);
    EXPECT_EQ(told.count(EventKind::complete), 0u);
  }
  ASSERT_TRUE(told.wait_for(EventKind::complete));
  EXPECT_EQ(told.all().back().status, 200);
  EXPECT_EQ(in_flight(proxy), 0u);
}

TEST(Permits, the_next_waits_until_one_is_released) {
  Proxy proxy(permits(1));
  ASSERT_TRUE(proxy.start());
  auto first = proxy.acquire("db");
  ASSERT_TRUE(first);
  auto second = std::async(std::launch::async, [&] { return proxy.acquire("db"); });
  ASSERT_TRUE(eventually([&] { return pending(proxy) == 1; }));
  first->release();
  EXPECT_FALSE(first->held());
  first->release();
  EXPECT_TRUE(second.get().value().held());
  EXPECT_TRUE(eventually([&] { return in_flight(proxy) == 0; })) << "the future's value was dropped";
}

TEST(Permits, move_with_what_they_hold) {
  Proxy proxy(permits(2));
  ASSERT_TRUE(proxy.start());
  Permit none;
  EXPECT_FALSE(none.held());
  Permit first = *proxy.acquire("db"), second = *proxy.acquire("db");
  Permit moved = std::move(first);
  EXPECT_FALSE(first.held());  // NOLINT(bugprone-use-after-move): that it holds nothing is what is tried
  EXPECT_EQ(first.id(), "");
  EXPECT_TRUE(moved.held());
  EXPECT_EQ(in_flight(proxy), 2u);
  second = std::move(moved);
  EXPECT_TRUE(second.held());
  EXPECT_TRUE(eventually([&] { return in_flight(proxy) == 1; })) << "what it held before is returned";
}

/// Lets threads go on three at a time.
class MeetingOfThree {
 public:
  /// False: the others did not come in time.
  bool meet() {
    std::unique_lock lock(mutex_);
    const int mine = meetings_;
    if (++here_ == 3) {
      here_ = 0;
      ++meetings_;
      met_.notify_all();
    }
    return met_.wait_for(lock, kPatience, [&] { return meetings_ != mine; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable met_;
  int here_ = 0, meetings_ = 0;
};

// Each holds its permit until two others hold one. So all three are out at once, again and again; a fourth would count.
// They take turns out of one number of them, or the last thread might wait for two that have had all of theirs.
TEST(Permits, are_never_more_than_there_are_however_many_threads_want_one) {
  constexpr int kThreads = 9, kTurns = 180;
  Proxy proxy(permits(3));
  ASSERT_TRUE(proxy.start());
  MeetingOfThree begin, end;
  std::atomic<int> turns = 0, working = 0, most = 0, met = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      while (turns++ < kTurns) {
        const auto permit = proxy.acquire("db");
        if (!permit) return;
        const int now = ++working;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) continue;
        const bool all_came = begin.meet() && end.meet();
        --working;
        if (!all_came) return;
        ++met;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(met, kTurns);
  EXPECT_EQ(most, 3);
  EXPECT_TRUE(eventually([&] { return in_flight(proxy) == 0; }));
}

TEST(Permits, that_are_refused_say_why) {
  auto config = permits(1);
  config.upstreams[0].settings.queue.max_pending = 0;
  Proxy proxy(config);
  EXPECT_EQ(why_not(proxy, "db").status, 0);
  EXPECT_EQ(why_not(proxy, "db").message, "the proxy is not running");
  ASSERT_TRUE(proxy.start());
  const auto held = proxy.acquire("db");
  ASSERT_TRUE(held);
  const auto full = why_not(proxy, "db");
  EXPECT_EQ(full.status, 503);
  EXPECT_THAT(full.message, HasSubstr("db queue full"));
  EXPECT_GT(full.retry_after.value_or(0s), 0s);
  EXPECT_EQ(why_not(proxy, "no").status, 404);
  EXPECT_EQ(why_not(proxy, "db?hold=no").status, 400);
  EXPECT_EQ(why_not(proxy, "db/x").status, 400);
  EXPECT_EQ(why_not(proxy, "db", {.weight = 0}).status, 400);
  EXPECT_EQ(why_not(proxy, "db", {.max_wait = -1s}).status, 400);
  EXPECT_EQ(why_not(proxy, "db", {.group = "a\r\nb"}).status, 400);
}

TEST(Permits, are_not_asked_for_of_a_host) {
  auto config = permits(1);
  config.upstreams.push_back({.name = "api", .base_url = penstock::BaseUrl{false, "127.0.0.1", 1, ""}});
  Proxy proxy(config);
  ASSERT_TRUE(proxy.start());
  const auto refusal = why_not(proxy, "api");
  EXPECT_EQ(refusal.status, 404);
  EXPECT_EQ(refusal.message, "no permits of api: it has a baseUrl, and leads to a host");
  EXPECT_EQ(proxy.snapshot().upstreams.back().totals.dispatched, 0u);
}

TEST(Permits, say_what_they_weigh_how_long_they_wait_and_of_which_group_they_are) {
  auto config = permits(50);
  auto& db = config.upstreams[0].settings;
  db.group = penstock::parse_group("header:Penstock-Group").value();
  db.limits = {{.kind = penstock::SlidingWindowConfig{.max = 3, .interval = 1h},
                .name = "window",
                .per = penstock::LimitConfig::Per::group}};
  Proxy proxy(config);
  ASSERT_TRUE(proxy.start());
  const auto of_a = proxy.acquire("db", {.weight = 2, .group = "a"});
  const auto of_b = proxy.acquire("db", {.weight = 2, .group = "b"});
  EXPECT_TRUE(of_a && of_b);
  EXPECT_EQ(why_not(proxy, "db", {.weight = 2, .max_wait = 1ms, .group = "a"}).status, 503);
  EXPECT_TRUE(proxy.acquire("db", {.group = "a"}));
}

TEST(Permits, end_with_the_proxy_and_those_that_wait_are_refused) {
  std::optional<Proxy> proxy(permits(1));
  ASSERT_TRUE(proxy->start());
  auto held = proxy->acquire("db");
  ASSERT_TRUE(held);
  auto waiting = std::async(std::launch::async, [&] { return why_not(*proxy, "db").status; });
  ASSERT_TRUE(eventually([&] { return pending(*proxy) == 1; }));
  proxy->stop();
  EXPECT_EQ(waiting.get(), 503);
  EXPECT_FALSE(held->held());
  proxy.reset();
  held->release();
}

TEST(Permits, are_waited_for_by_a_drain) {
  Proxy proxy(permits(1));
  ASSERT_TRUE(proxy.start());
  auto held = proxy.acquire("db");
  ASSERT_TRUE(held);
  auto in_time = std::async(std::launch::async, [&] { return proxy.drain(kPatience); });
  ASSERT_TRUE(eventually([&] { return proxy.snapshot().draining; }));
  EXPECT_EQ(why_not(proxy, "db").status, 503);
  EXPECT_TRUE(held->held());
  held->release();
  EXPECT_TRUE(in_time.get());
}

TEST(Permits, that_are_not_released_in_time_are_lost_to_a_drain) {
  Proxy proxy(permits(1));
  ASSERT_TRUE(proxy.start());
  const auto held = proxy.acquire("db");
  ASSERT_TRUE(held);
  EXPECT_FALSE(proxy.drain(10ms));
  EXPECT_FALSE(held->held());
}

}  // namespace
}  // namespace embedding
