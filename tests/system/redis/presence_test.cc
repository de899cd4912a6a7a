// SPDX-License-Identifier: Apache-2.0
// What daemons know of each other through Redis: how many they are, by which limits are divided while it is away, and
// that their limits differ.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "system/redis_stage.h"

namespace penstock::trial {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr int kOfAnHour = 8;
const Shared kEight{.limits = "counter: { max: 8, period: 1h }"};

/// How many leave, one after the other, until one waits in vain.
int served(const SharedStage& stage, const Daemon& daemon) {
  int count = 0, status = 200;
  for (; count <= kOfAnHour; ++count) {
    status = stage.fetch(daemon, "/", "Penstock-Max-Wait: 200ms\r\n").status;
    if (status != 200) break;
  }
  EXPECT_EQ(status, 503);
  return count;
}

Daemon& add_with_state(SharedStage& stage, const std::string& folder) {
  return stage.daemons.emplace_back(
      Given{.yaml = yaml_of(stage.shared, stage.redis.port()), .environment = {{"STATE_DIRECTORY", folder}}});
}

TEST(Processes, of_which_one_starts_while_redis_is_away_go_by_the_configured_number) {
  Shared of_four = kEight;
  of_four.redis = ", processes: 4";
  SharedStage stage(of_four);
  stage.redis.stop();
  const Daemon& daemon = stage.add(false);
  EXPECT_EQ(served(stage, daemon), kOfAnHour / 4);
  EXPECT_TRUE(comes_to_say(daemon, "limits are divided among 4 processes, for redis.processes says so"));
}

TEST(Processes, of_which_nobody_knows_are_one_and_that_is_said) {
  SharedStage stage(kEight);
  stage.redis.stop();
  const Daemon& daemon = stage.add(false);
  EXPECT_EQ(served(stage, daemon), kOfAnHour);
  EXPECT_TRUE(comes_to_say(
      daemon, "limits are divided among 1 process, for how many there are is not known; redis.processes would say it"));
}

TEST(Processes, that_an_earlier_run_saw_are_remembered) {
  SharedStage stage(kEight);
  const std::string folder = new_folder(), file = folder + "/processes";
  const auto kept = [&] {
    std::ifstream opened(file);
    std::string line;
    std::getline(opened, line);
    return line;
  };
  add_with_state(stage, folder);
  add_with_state(stage, folder);
  ASSERT_TRUE(eventually([&] { return kept() == "2"; })) << kept();
  stage.redis.stop();
  const Daemon& daemon = add_with_state(stage, folder);
  EXPECT_EQ(served(stage, daemon), kOfAnHour / 2);
  EXPECT_TRUE(
      comes_to_say(daemon, "limits are divided among 2 processes, for an earlier run saw so many (" + file + ")"));
}

TEST(Processes, say_how_many_they_are_and_how_they_keep_limits) {
  SharedStage stage(kEight);
  const Daemon& daemon = stage.add();
  stage.add();
  const auto redis = [&] { return nlohmann::json::parse(daemon.admin("/status").body).at("redis"); };
  ASSERT_TRUE(eventually([&] { return redis()["processes"] == 2; })) << redis();
  EXPECT_EQ(redis()["mode"], "shared");
  EXPECT_EQ(redis()["shareOf"], 1);
  stage.redis.stop();
  ASSERT_TRUE(eventually([&] { return redis()["mode"] == "share"; })) << redis();
  EXPECT_EQ(redis()["shareOf"], 2);
}

TEST(DifferingLimits, are_said_once_with_both_and_once_when_they_differ_no_more) {
  SharedStage stage({.limits = "pacer: { qps: 500 }"});
  Shared other = stage.shared;
  other.limits = "pacer: { qps: 1000, maxBurst: 5 }";
  const Daemon &one = stage.add(), &two = stage.add(other);
  Load load(stage.ports(), stage.origin.url(), 1);
  const std::string slow = "/" + std::to_string(one.pid()) + " has pacer { qps: 500, maxBurst: 0,",
                    fast = "/" + std::to_string(two.pid()) + " has pacer { qps: 1000, maxBurst: 5,";
  for (const Daemon& daemon : stage.daemons) {
    ASSERT_TRUE(eventually([&] { return daemon.metric("penstock_limits_differ") == 1; }, 40s));
    ASSERT_TRUE(comes_to_say(daemon, "share the limits of api and differ in them"));
    EXPECT_THAT(daemon.diagnostics(), AllOf(HasSubstr(slow), HasSubstr(fast)));
    EXPECT_THAT(daemon.admin("/status").body, HasSubstr("limitsDiffer"));
  }
  ASSERT_TRUE(two.reloads(yaml_of(stage.shared, stage.redis.port()))) << two.diagnostics();
  for (const Daemon& daemon : stage.daemons) {
    EXPECT_TRUE(comes_to_say(daemon, "all processes have the same limits of api again"));
    EXPECT_TRUE(eventually([&] { return daemon.metric("penstock_limits_differ") == 0; }));
    EXPECT_EQ(lines_with(daemon.diagnostics(), "differ in them"), 1u);
  }
  expect_only_successes(load.stop());
}

}  // namespace
}  // namespace penstock::trial
