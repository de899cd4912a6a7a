// SPDX-License-Identifier: Apache-2.0
// An origin that never serves: how often it is asked, what each client gets in the end, and that this is in time.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "system/limited.h"
#include "system/redis_stage.h"
#include "system/refusing.h"

namespace penstock::trial {
namespace {

/// Answers each request with its path, and how often that has come.
class Naming {
 public:
  Naming(Origin& origin, int status, std::string lines) {
    origin.otherwise([this, status, lines = std::move(lines)](Visit& visit) {
      if (!visit.read_body()) return;
      const std::string target = visit.request().target;
      std::string body;
      {
        const std::lock_guard lock(mutex_);
        body = target + " for the " + std::to_string(++counts_[target]) + ". time";
        last_[target] = body;
      }
      visit.answer(status, body, lines);
    });
  }
  /// The last answer to that path; empty: it has not come.
  std::string last(const std::string& target) {
    const std::lock_guard lock(mutex_);
    return last_[target];
  }

 private:
  std::mutex mutex_;
  std::map<std::string, int> counts_;
  std::map<std::string, std::string> last_;
};

TEST(RefusingForEver, asks_once_a_pause_and_gives_each_client_what_is_its_own) {
  constexpr int kRequests = 100, kMost = 20;
  constexpr Clock::duration kPatient = 3s, kPaused = 100ms;
  Limited stage("maxConcurrent: 20, queue: { maxWait: 3s }");
  Naming origin(stage.origin, 429, "Retry-After: 0.1\r\n");
  std::vector<Moment> sent, answered;
  for (int i = 0; i < kRequests; ++i) {
    stage.send(1, "/" + std::to_string(i));
    sent.push_back(Clock::now());
  }
  int refused = 0;
  for (int i = 0; i < kRequests; ++i) {
    const Reply reply = stage.clients[static_cast<std::size_t>(i)].reply();
    const std::string last = origin.last("/" + std::to_string(i));
    EXPECT_TRUE(within(kPatient + kLate, sent[static_cast<std::size_t>(i)]));
    if (last.empty()) {
      expect_limited(reply, 503, "pause");
    } else {
      EXPECT_EQ(reply.status, 429);
      EXPECT_EQ(reply.body, last) << "its own last refusal";
      EXPECT_EQ(reply.error(), "");
      ++refused;
    }
  }
  const int pauses = kPatient / kPaused + 1, sends = static_cast<int>(stage.origin.count());
  const int pauses_of_all = (kPatient + (sent.back() - sent.front())) / kPaused + 1;
  const auto seen = stage.origin.seen();
  const auto herd = std::ranges::count_if(seen, [&](const Seen& one) { return one.at < seen[0].at + kPaused; });
  EXPECT_GE(refused, herd) << "all that had left before the first refusal was heard of";
  EXPECT_LT(refused, kRequests);
  const auto used_up = [](const Json& event) { return event.value("attempts", 1) == 8; };
  EXPECT_FALSE(stage.daemon.await_events(1, used_up).empty()) << "others were asked in their place";
  EXPECT_LE(sends, kMost + pauses_of_all) << "a herd at the begin, and no other";
  const auto late = test::machine_late(sent[0]) / kPaused;
  EXPECT_GT(sends, herd + pauses / 2 - late) << "it is asked all the time";
  for (const Seen& one : seen) {
    const auto nth = static_cast<std::size_t>(std::stoi(one.target.substr(1)));
    EXPECT_TRUE(within(kPatient + kLate, sent[nth], one.at)) << "sent after its deadline";
  }
}

TEST(Failing, is_asked_again_within_the_budget_alone) {
  constexpr int kRequests = 200;
  Limited stage("maxConcurrent: 20, retry: { failures: safe }");
  Naming origin(stage.origin, 503, "");
  const Moment begin = Clock::now();
  for (int i = 0; i < kRequests; ++i) stage.send(1, "/" + std::to_string(i));
  for (int i = 0; i < kRequests; ++i) {
    const Reply reply = stage.clients[static_cast<std::size_t>(i)].reply();
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.body, origin.last("/" + std::to_string(i)));
  }
  ASSERT_TRUE(within(9s, begin)) << "else the budget is another's";
  const int sends = static_cast<int>(stage.origin.count());
  EXPECT_LE(sends, kRequests * 12 / 10 + 10);
  EXPECT_GT(sends, kRequests + 10) << "more than what is free";
  EXPECT_EQ(sendings(stage.daemon, kRequests), sends);
}

TEST(TooLargeToKeep, has_its_refusal_passed_on_at_once_byte_for_byte) {
  Limited stage("maxConcurrent: 20");
  const std::string refusal = pattern(7, 3000);
  stage.origin.otherwise([&](Visit& visit) {
    if (!visit.read_body()) return;
    visit.last(
        "HTTP/1.1 429 Slow down, please\r\nRetry-After: 30\r\nX-No:  two  words\r\nX-No: again\r\n"
        "Content-Length: 3000\r\n\r\n" +
        refusal);
  });
  const std::string body = pattern(0, kMiB);
  Client client(stage.daemon.port());
  const Moment sent = Clock::now();
  client.send(with_body("POST", stage.url("/large"), body));
  const Reply reply = client.reply();
  EXPECT_TRUE(within(2s, sent)) << "it waits for nothing";
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(reply.reason, "Slow down, please");
  EXPECT_EQ(reply.field("retry-after"), "30");
  EXPECT_EQ(reply.fields.all("x-no"), (std::vector<std::string>{"two  words", "again"}));
  EXPECT_TRUE(reply.body == refusal);
  expect_sent(stage.origin, stage.daemon, reply, 1);
  EXPECT_TRUE(stage.origin.seen().at(0).body == body);
}

/// Until the pause is over nothing of the other process may leave, but what Redis had granted it within the horizon.
TEST(SecondProcess, is_paused_within_50_ms_of_the_first_one_s_refusal) {
  SharedStage stage({.limits = "pacer: { qps: 400 }", .timeout = "8s", .upstream = "retry: off"});
  const Daemon &told = stage.add(), &other = stage.add();
  for (const pid_t program : {told.pid(), other.pid(), stage.redis.pid()}) stage.arrivals.watch(program);
  std::atomic<Clock::rep> refused = 0;
  stage.origin.on("/busy", [&](Visit& visit) {
    visit.read_body();
    stage.arrivals.note();  // waits count from here on
    refused = Clock::now().time_since_epoch().count();
    visit.answer(429, "later", "Retry-After: 1\r\n");
  });
  EXPECT_EQ(stage.fetch(told).status, 200);
  Load load({other.port()}, stage.origin.url("/other"), 8);
  ASSERT_TRUE(stage.arrivals.await(50));
  EXPECT_EQ(stage.fetch(told, "/busy").status, 429);
  const std::size_t before = stage.arrivals.count();
  ASSERT_TRUE(stage.arrivals.await(before + 200)) << "it goes on after the pause";
  expect_only_successes(load.stop());
  const Moment since{Clock::duration(refused)};
  Moment last{}, next = Moment::max();
  for (const Seen& seen : stage.origin.seen()) {
    if (seen.target != "/other") continue;
    if (seen.at < since + 500ms) last = std::max(last, seen.at);
    if (seen.at >= since + 500ms) next = std::min(next, seen.at);
  }
  // The last one is seen before it is noted, and noted before the next is seen.
  const auto waited = std::min<Clock::duration>(50ms, stage.arrivals.waited(since, next));
  EXPECT_TRUE(within((is_sanitized() ? 150ms : 50ms) + waited, since, last))
      << (last - since) / 1us << " us, and " << waited / 1us << " us waited for a core";
  EXPECT_GE(next - since, 1s) << "and until the end";
  RecordProperty("last_after_us", std::to_string((last - since) / 1us));
}

}  // namespace
}  // namespace penstock::trial
