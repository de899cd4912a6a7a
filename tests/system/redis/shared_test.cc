// SPDX-License-Identifier: Apache-2.0
// One limit for several daemons with a real Redis: kept to the departure under full load, though their clocks are
// wrong; permits, pauses, and reloads meanwhile. The origin judges. What faults do to it is the simulation's.
#include <gmock/gmock.h>

#include <deque>

#include "system/bookings.h"
#include "system/clockwork.h"

namespace penstock::trial {
namespace {

TEST(WrongClocks, of_the_daemons_change_nothing_about_what_they_share) {
  const std::vector<int> clocks{-10, 0, 10};
  AtWork stage(patiently("pacer: { qps: 100 }\n- window: { reservoir: 30, interval: 500ms }"), clocks, 12);
  for (int i = 0; i < 4; ++i) stage.await_window(500ms, 30);
  stage.expect_all_served_in_their_time();

  EXPECT_THAT(stage.bookings.per_window(500ms), testing::Each(testing::Le(30u)));
  stage.bookings.expect_paced(100, 1);
  for (std::size_t i = 0; i < clocks.size(); ++i) {
    EXPECT_NEAR(seconds_ahead(stage.daemons[i]), clocks[i], 4) << "the clock is wrong indeed";
    EXPECT_GT(stage.daemons[i].status("api").at("totals").at("dispatched"), stage.bookings.count() / 6)
        << "a third is its share";
  }
}

TEST(SharedSemaphore, is_never_exceeded_and_hands_over_without_a_loss) {
  // A busy machine must not take Redis for dead, nor be late to renew: it would end requests.
  SharedStage stage({.limits = "semaphore: { capacity: 3, lease: 6s }", .timeout = "8s"});
  stage.origin.otherwise([&](Visit& visit) {
    stage.arrivals.note();
    if (visit.read_body()) visit.answer(200, "hello");
  });
  for (int i = 0; i < 3; ++i) stage.add();
  Load load(stage.ports(), stage.origin.url());
  ASSERT_TRUE(stage.arrivals.await(600));
  expect_only_successes(load.stop());
  EXPECT_LE(stage.origin.most_at_once(), 3u);
  stage.origin.on("/held", scripts::held());
  std::deque<Client> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(stage.daemons[i].port()).send(get(stage.origin.url("/held")));
  const auto arrived = [&] { return std::ranges::count(stage.origin.seen(), "/held", &Seen::target) == 3; };
  EXPECT_TRUE(eventually(arrived)) << "all three are still there";
  stage.origin.release_all();
  for (auto& client : clients) EXPECT_EQ(client.reply().status, 200);
}

/// A limit may hold a request, too, for a millisecond.
bool holds_by_pause(SharedStage& stage, const Daemon& daemon) {
  return stage.fetch(daemon, "/", "Penstock-Max-Wait: 0s\r\n").body.contains("limited by pause");
}

TEST(LearnedPause, that_a_request_without_credentials_drew_holds_such_requests_alone_everywhere) {
  // A request for which Redis is being asked when the message comes is refused once the time-out is over.
  SharedStage stage({.timeout = "2s", .upstream = "pauseScope: credentials\nretry: off"});
  const Daemon &told = stage.add(), &other = stage.add();
  stage.origin.on("/busy", scripts::answers(429, "later", "Retry-After: 6\r\n"));
  EXPECT_EQ(stage.fetch(other).status, 200);
  const auto since = Clock::now();
  EXPECT_EQ(stage.fetch(told, "/busy").status, 429);
  ASSERT_TRUE(eventually([&] { return holds_by_pause(stage, other); })) << "the other process has heard of it";
  EXPECT_EQ(stage.fetch(other, "/", "Authorization: Bearer of-mine\r\n").status, 200);
  EXPECT_TRUE(within(6s, since)) << "the pause is not over yet";
  EXPECT_EQ(stage.fetch(other).status, 200);
  EXPECT_GE(Clock::now() - since, 6s);
}

/// With shared limits Redis keeps the pause; without, and by credentials, processes only tell each other.
TEST(LearnedPause, that_one_process_is_told_to_end_ends_everywhere) {
  for (const auto* upstream : {"retry: off", "pauseScope: credentials\nretry: off"}) {
    for (const auto* limits : {"pacer: { qps: 1000 }", "pacer: { qps: 1000, shared: false }"}) {
      SCOPED_TRACE(std::string(upstream) + " " + limits);
      SharedStage stage({.limits = limits, .timeout = "8s", .upstream = upstream});
      const Daemon &told = stage.add(), &other = stage.add();
      stage.origin.on("/busy", scripts::answers(429, "later", "Retry-After: 25\r\n"));
      EXPECT_EQ(stage.fetch(other).status, 200);
      const auto since = Clock::now();
      EXPECT_EQ(stage.fetch(told, "/busy").status, 429);
      ASSERT_TRUE(eventually([&] { return holds_by_pause(stage, other); })) << "the other process has heard of it";
      Client waiting(other.port());
      waiting.send(get(stage.origin.url("/")));
      ASSERT_TRUE(other.await_pending("api", 1));
      EXPECT_EQ(told.admin("/resume?upstream=api", "POST").body, "api: its pauses end now\n");
      EXPECT_EQ(waiting.reply().status, 200);
      EXPECT_EQ(stage.fetch(told).status, 200);
      EXPECT_TRUE(within(25s, since)) << "the pause would not be over yet";
    }
  }
}

constexpr const char* kPatient = "queue: { maxWait: 24h }";

Shared with_limits(std::string limits) { return {.limits = std::move(limits), .timeout = "8s", .upstream = kPatient}; }

TEST(ReloadedSharedLimit, may_come_and_go_and_be_shared_or_not_while_clients_hurry) {
  SharedStage stage(with_limits("pacer: { qps: 5000 }"));
  stage.add();
  stage.add();
  Load load(stage.ports(), stage.origin.url());
  const int rounds = is_sanitized() ? 2 : 6;
  for (int round = 0; round < rounds; ++round) {
    for (const char* limits :
         {"semaphore: { capacity: 3, lease: 6s }", "pacer: { qps: 5000, maxBurst: 10, shared: false }",
          "window: { reservoir: 2000, interval: 1s }\n- semaphore: { capacity: 2, lease: 6s }",
          "semaphore: { capacity: 4, shared: false }", "counter: { max: 100000, period: 1m }"}) {
      SCOPED_TRACE(limits);
      const auto before = stage.arrivals.count();
      for (const auto& daemon : stage.daemons) {
        ASSERT_TRUE(daemon.reloads(yaml_of(with_limits(limits), stage.redis.port()))) << daemon.diagnostics();
      }
      ASSERT_TRUE(stage.arrivals.await(before + 20)) << "they go on";
    }
  }
  expect_only_successes(load.stop());
  for (const auto& daemon : stage.daemons) {
    EXPECT_TRUE(daemon.await_pending("api", 0));
    EXPECT_TRUE(daemon.await_in_flight("api", 0));
  }
}

}  // namespace
}  // namespace penstock::trial
