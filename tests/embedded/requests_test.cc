// SPDX-License-Identifier: Apache-2.0
// Requests made in-process, what observers are told of them, and what a snapshot shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "origin.h"
#include "stage.h"

namespace embedding {
namespace {

using penstock::EventKind;
using penstock::Outcome;
using penstock::Proxy;
using penstock::Response;
using testing::ElementsAre;
using testing::StartsWith;

/// The answer, or one with status 0 where there is none.
Response answer_to(Proxy& proxy, penstock::Request request) {
  auto future = submit(proxy, std::move(request));
  auto answer = wait_for(future);
  return answer && *answer ? **answer : Response{};
}

TEST(Requests, an_answer_comes_whole) {
  Origin origin;
  Proxy proxy(quiet());
  ASSERT_TRUE(proxy.start());
  const Response answer = answer_to(proxy, {.method = "PUT", .url = origin.url("/a?b=%41"), .body = "a body"});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.reason, "OK");
  EXPECT_EQ(answer.body, Origin::echo("PUT", "/a?b=%41", "a body"));
  EXPECT_EQ(field(answer, "Via"), "1.1 penstock");
  EXPECT_THAT(field(answer, "Server-Timing"), StartsWith("penstock-wait;dur="));
}

TEST(Requests, threads_that_submit_at_once_get_each_their_own_answer) {
  constexpr int kThreads = 8, kEach = 25;
  Origin origin;
  Proxy proxy(narrow(4));
  ASSERT_TRUE(proxy.start());
  std::vector<std::future<int>> right;
  for (int thread = 0; thread < kThreads; ++thread) {
    right.push_back(std::async(std::launch::async, [&, thread] {
      std::vector<std::pair<std::string, FutureAnswer>> asked;
      for (int i = 0; i < kEach; ++i) {
        const std::string path = "/" + std::to_string(thread) + "/" + std::to_string(i);
        asked.emplace_back(Origin::echo("POST", path, path),
                           submit(proxy, {.method = "POST", .url = origin.url(path), .body = path}));
      }
      int count = 0;
      for (auto& [expected, future] : asked) {
        const auto answer = wait_for(future);
        count += answer && *answer && (*answer)->body == expected;
      }
      return count;
    }));
  }
  for (auto& count : right) EXPECT_EQ(count.get(), kEach);
  EXPECT_EQ(origin.requests(), std::size_t{kThreads * kEach});
}

TEST(Requests, an_answer_may_ask_for_the_next) {
  Origin origin;
  Proxy proxy(quiet());
  ASSERT_TRUE(proxy.start());
  std::promise<Answer> promise;
  auto second = promise.get_future();
  proxy.submit({.url = origin.url("/first")}, [&](Answer&&) {
    proxy.submit({.url = origin.url("/second")}, [&](Answer&& answer) { promise.set_value(std::move(answer)); });
  });
  EXPECT_EQ(wait_for(second).value()->body, Origin::echo("GET", "/second"));
}

TEST(Requests, events_come_in_order_and_on_the_loops_thread) {
  Origin origin;
  Observer told;
  Proxy proxy(narrow(1));
  told.observe(proxy);
  ASSERT_TRUE(proxy.start());
  std::vector<FutureAnswer> answers;
  for (const char* path : {"/hold", "/b", "/c"}) answers.push_back(submit(proxy, {.url = origin.url(path)}));
  ASSERT_TRUE(eventually([&] { return proxy.snapshot().upstreams.front().pending == 2; }));
  origin.let_go();
  ASSERT_TRUE(told.wait_for(EventKind::complete, 3));

  std::vector<std::string> order;
  const auto events = told.all();
  for (const auto& event : events) {
    order.push_back((event.kind == EventKind::dispatch ? "dispatch " : "complete ") + event.path);
    EXPECT_EQ(event.upstream, "origin");
    EXPECT_EQ(event.thread, events.front().thread);
    EXPECT_GE(event.at, events.front().at);
  }
  EXPECT_THAT(order, ElementsAre("dispatch /hold", "complete /hold", "dispatch /b", "complete /b", "dispatch /c",
                                 "complete /c"));
  ASSERT_EQ(events.size(), 6u);
  EXPECT_NE(events.front().thread, std::this_thread::get_id());
  EXPECT_EQ(events[0].id, events[1].id);
  EXPECT_NE(events[1].id, events[2].id);
  EXPECT_EQ(events[1].outcome, Outcome::success);
  EXPECT_EQ(events[1].pending, 2u);
  EXPECT_EQ(events[1].in_flight, 0u);
  EXPECT_EQ(events[2].pending, 1u);
  EXPECT_EQ(events[2].in_flight, 1u);
}

TEST(Requests, a_client_that_leaves_the_queue_is_told_of) {
  Origin origin;
  Observer told;
  Proxy proxy(narrow(1));
  told.observe(proxy);
  ASSERT_TRUE(proxy.start());
  auto held = submit(proxy, {.url = origin.url("/hold")});
  ASSERT_TRUE(told.wait_for(EventKind::dispatch));
  {
    auto client = connect(proxy.url());
    client.send("GET " + origin.url("/never") + " HTTP/1.1\r\nHost: any\r\n\r\n");
    ASSERT_TRUE(eventually([&] { return proxy.snapshot().upstreams.front().pending == 1; }));
  }
  ASSERT_TRUE(told.wait_for(EventKind::gone));
  EXPECT_EQ(told.all().back().outcome, Outcome::client_gone_pending);
  EXPECT_EQ(told.all().back().path, "/never");
  EXPECT_EQ(told.all().back().pending, 0u);
  origin.let_go();
  EXPECT_EQ(wait_for(held).value()->status, 200);
  EXPECT_EQ(origin.requests(), 1u);
}

TEST(Requests, a_snapshot_counts_what_waits_and_what_flies) {
  Origin origin;
  Proxy proxy(narrow(2));
  ASSERT_TRUE(proxy.start());
  EXPECT_EQ(proxy.snapshot().connections, 0u);
  auto client = connect(proxy.url());
  client.send("GET " + origin.url("/hold") + " HTTP/1.1\r\nHost: any\r\nConnection: close\r\n\r\n");
  std::vector<FutureAnswer> answers;
  for (int i = 0; i < 4; ++i) answers.push_back(submit(proxy, {.url = origin.url("/hold")}));
  ASSERT_TRUE(eventually([&] { return proxy.snapshot().upstreams.front().pending == 3; }));
  ASSERT_TRUE(eventually([&] { return proxy.snapshot().upstreams.front().oldest_wait > penstock::Duration(1000); }));

  const auto now = proxy.snapshot();
  EXPECT_FALSE(now.draining);
  EXPECT_EQ(now.connections, 1u);
  EXPECT_GT(now.pending_bytes, 0u);
  ASSERT_EQ(now.upstreams.size(), 1u);
  const auto& upstream = now.upstreams.front();
  EXPECT_EQ(upstream.name, "origin");
  EXPECT_EQ(upstream.entry, 1u);
  EXPECT_EQ(upstream.max_concurrent, 2);
  EXPECT_EQ(upstream.in_flight, 2u);
  EXPECT_EQ(upstream.totals.dispatched, 2u);
  EXPECT_EQ(upstream.totals.success, 0u);

  ASSERT_TRUE(eventually([&] { return origin.most_at_once() == 2; }));
  origin.let_go();
  EXPECT_THAT(client.read_to_end(), StartsWith("HTTP/1.1 200 "));
  for (auto& answer : answers) EXPECT_EQ(wait_for(answer).value()->status, 200);
  EXPECT_EQ(origin.most_at_once(), 2u) << "and never more";
  const auto after = proxy.snapshot();
  EXPECT_EQ(after.upstreams.front().totals.success, 5u);
  EXPECT_EQ(after.upstreams.front().pending + after.upstreams.front().in_flight, 0u);
  EXPECT_EQ(after.pending_bytes, 0u);
}

}  // namespace
}  // namespace embedding
