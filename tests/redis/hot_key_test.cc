// SPDX-License-Identifier: Apache-2.0
// One key under more departures a second than any process has calls for: they are booked many at a time.
#include <gtest/gtest.h>

#include "redis/in_time.h"
#include "redis/limiter_fixture.h"
#include "support/redis_server.h"

namespace penstock::redis {
namespace {

constexpr std::size_t kWorkers = 64;
constexpr std::size_t kRound = 10'000;  // departures
constexpr flow::Time kWithin = 20'000;

struct Round {
  flow::Time took,
      decided_within;  ///< in microseconds; the latter for 99 of 100 departures, without the machine's part
  std::uint64_t calls;
};

/// A worker asks as soon as it has departed: what takes off now has waited since the one so many before took off.
Round play(test::TestLoop& run, LimiterFixture& desk) {
  const auto first = desk.took_off().size();
  const auto calls = desk.hub().counts().calls;
  EXPECT_TRUE(run.run_until([&] { return desk.took_off().size() >= first + kRound; }));
  std::vector<flow::Time> waits;
  for (std::size_t k = first + kWorkers; k < first + kRound; ++k) {
    const auto since = desk.took_off()[k - kWorkers].at, until = desk.took_off()[k].at;
    waits.push_back(until - since - late_between(since, until));
  }
  const auto last = waits.begin() + static_cast<std::ptrdiff_t>(waits.size() * 99 / 100);
  std::ranges::nth_element(waits, last);
  return {.took = desk.took_off()[first + kRound - 1].at - desk.took_off()[first].at,
          .decided_within = *last,
          .calls = desk.hub().counts().calls - calls};
}

TEST(HotKey, is_decided_on_for_many_at_a_time_within_milliseconds) {
  test::TestLoop run;
  loop::Resolver resolver{run.loop, DnsConfig{}};
  test::RedisServer server;
  RedisConfig config;
  config.port = server.port();
  LimiterFixture desk(run, resolver, config, {{.kind = PacerConfig{.qps = 1'000'000}, .name = "pacer"}});
  ASSERT_TRUE(run.run_until([&] { return desk.up(); }));
  desk.work_without_end(kWorkers);
  play(run, desk);  // the first calls take longer
  const Round round = play(run, desk);
  RecordProperty("departures_a_second", static_cast<int>(kRound * 1'000'000 / round.took));
  RecordProperty("p99_us", static_cast<int>(round.decided_within));
  RecordProperty("calls_a_thousand_departures", static_cast<int>(round.calls * 1'000 / kRound));
  EXPECT_LT(round.calls, kRound / 8);
  EXPECT_LT(round.decided_within, kWithin);
}

}  // namespace
}  // namespace penstock::redis
