// SPDX-License-Identifier: Apache-2.0
// A system clock that is set while the program runs: nothing that waits is sooner or later for it.
#include <gmock/gmock.h>
#include <time.h>

#include <deque>

#include "system/clockwork.h"
#include "system/stage.h"

namespace penstock::trial {
namespace {

struct Stepped : Clockwork, Stage {
  explicit Stepped(std::string yaml) : Stage({.yaml = std::move(yaml), .environment = environment()}) {}
};

constexpr int kHour = 3600;

TEST(ClockStep, by_an_hour_refuses_no_pending_request_early_nor_late) {
  Stepped stage("defaults: { maxConcurrent: 1, queue: { maxWait: 3s } }\n");
  stage.origin.on("/held", scripts::held());
  Client holder(stage.daemon.port());
  holder.send(get(stage.url("/held")));
  ASSERT_TRUE(stage.origin.await(1));
  for (const int step : {kHour, -kHour}) {
    SCOPED_TRACE(step);
    Client pending(stage.daemon.port());
    const auto start = Clock::now();
    pending.send(get(stage.url("/pending")));
    ASSERT_TRUE(stage.daemon.await_pending(stage.origin.host(), 1));
    stage.set(step);
    EXPECT_EQ(pending.reply().status, 503);
    EXPECT_GE(Clock::now() - start, 2990ms);
    EXPECT_TRUE(within(3s + kLate, start));
    ASSERT_FALSE(stage.daemon.await_events(1, "refused").empty());
    EXPECT_TRUE(eventually([&] { return std::abs(seconds_ahead(stage.daemon) - step) < 60; })) << "it was set indeed";
  }
  stage.origin.release();
  EXPECT_EQ(holder.reply().status, 200);
}

TEST(ClockStep, by_an_hour_lets_no_request_leave_before_its_time) {
  Stepped stage("upstreams: { api: { match: 127.0.0.1, limits: [ pacer: { qps: 10 } ] } }\n");
  std::deque<Client> clients;
  const auto start = Clock::now();
  for (int i = 0; i < 12; ++i) clients.emplace_back(stage.daemon.port()).send(get(stage.url()));
  ASSERT_TRUE(stage.origin.await(4));
  stage.set(kHour);
  ASSERT_TRUE(stage.origin.await(8));
  stage.set(-kHour);
  for (auto& client : clients) EXPECT_EQ(client.reply().status, 200);
  const auto seen = stage.origin.seen();
  ASSERT_EQ(seen.size(), 12u);
  for (int i = 0; i < 12; ++i) {
    const auto at = seen[static_cast<std::size_t>(i)].at;
    EXPECT_GE(at - start, i * 100ms) << i;
    EXPECT_TRUE(within(i * 100ms + kLate, start, at)) << i;
  }
}

}  // namespace
}  // namespace penstock::trial
