// SPDX-License-Identifier: Apache-2.0
// A Redis that is away: down at the start, frozen, deaf, locked. Requests go on by `whenDown`, none waits longer than
// `redis.timeout`, and the limits are shared again within a second of its return.
#include <gmock/gmock.h>

#include "system/loop_watch.h"
#include "system/redis_stage.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(RedisOutage, from_the_start_delays_neither_the_start_nor_a_request) {
  SharedStage stage({});
  stage.redis.stop();
  const Daemon& daemon = stage.add(false);
  EXPECT_EQ(daemon.admin("/readyz").status, 200);
  EXPECT_EQ(stage.fetch(daemon).status, 200);
  EXPECT_TRUE(is_degraded(daemon));
}

TEST(RedisOutage, by_freezing_keeps_no_request_waiting_and_mixes_up_no_answers) {
  SharedStage stage({.limits = "pacer: { qps: 200 }", .timeout = "50ms"});
  const Daemon& daemon = stage.add();
  stage.arrivals.watch(daemon.pid());
  Load load(stage.ports(), stage.origin.url());
  ASSERT_TRUE(stage.arrivals.await(40));
  stage.redis.pause();
  ASSERT_TRUE(eventually([&] { return is_degraded(daemon); }));
  ASSERT_TRUE(stage.arrivals.await(stage.arrivals.count() + 150));
  EXPECT_GE(errors(daemon, "timeout"), 1);
  stage.redis.resume();
  expect_back(daemon, Clock::now());
  ASSERT_TRUE(stage.arrivals.await(stage.arrivals.count() + 40));
  const auto answers = load.stop();
  expect_only_successes(answers);
  EXPECT_LT(answers.longest, 500ms);
  EXPECT_LE(fullest_in_time(stage.arrivals, 500ms), 120u) << "200 a second all the time";
  EXPECT_EQ(errors(daemon, "protocol"), 0);
}

TEST(RedisOutage, that_loses_a_reply_counts_the_departure_as_spent_and_asks_once) {
  SharedStage stage({.limits = "counter: { max: 2, period: 1h, mode: refuse }", .when_down = "refuse"});
  Relay relay(stage.redis.port());
  const Daemon& daemon = stage.add(relay);
  EXPECT_EQ(stage.fetch(daemon).status, 200);
  EXPECT_THAT(stage.value("counter"), testing::MatchesRegex("2 [0-9]+ 1c [0-9.]+ 1 .*"));
  ASSERT_TRUE(has_told_redis(daemon)) << "what books may have more to say to Redis";
  relay.lose_replies();
  EXPECT_EQ(stage.fetch(daemon).status, 503);
  EXPECT_THAT(stage.value("counter"), testing::MatchesRegex("2 [0-9]+ 1c [0-9.]+ 2 .*"));
  relay.pass();
  ASSERT_TRUE(eventually([&] { return is_up(daemon) && !is_degraded(daemon); }));
  EXPECT_EQ(stage.fetch(daemon).status, 429) << "both are spent";
  EXPECT_THAT(stage.value("counter"), testing::MatchesRegex("2 [0-9]+ 1c [0-9.]+ 2 .*"));
  EXPECT_EQ(stage.arrivals.count(), 1u);
}

TEST(RedisOutage, by_a_wrong_password_is_named_once_without_the_password) {
  SharedStage stage({.login = ":guess1234@"}, {"--requirepass", "secret"});
  const Daemon& daemon = stage.add(false);
  ASSERT_TRUE(eventually([&] { return errors(daemon, "noauth") >= 3; })) << daemon.diagnostics();
  EXPECT_EQ(stage.fetch(daemon).status, 200);
  EXPECT_EQ(lines_with(daemon.diagnostics(), " is down: "), 1u) << daemon.diagnostics();
  EXPECT_TRUE(comes_to_say(daemon, "WRONGPASS")) << daemon.diagnostics();
  EXPECT_THAT(daemon.diagnostics(), Not(HasSubstr("guess1234")));
}

TEST(RedisOutage, by_a_redis_that_hangs_stalls_no_turn_of_the_loop) {
  SharedStage stage({.limits = "pacer: { qps: 100000 }", .timeout = "500ms"});
  const Daemon& daemon = stage.add();
  const LoopWatch loop(daemon);
  Load load(stage.ports(), stage.origin.url(), 2);
  stage.redis.pause();
  EXPECT_TRUE(eventually([&] { return is_degraded(daemon); }));
  const auto before = stage.arrivals.count();
  EXPECT_TRUE(stage.arrivals.await(before + 200));
  std::this_thread::sleep_for(1s);  // of trying to reach it
  expect_only_successes(load.stop());
  loop.expect_quick_iterations();
  stage.redis.resume();
}

}  // namespace
}  // namespace penstock::trial
