// SPDX-License-Identifier: Apache-2.0
// A Redis that answers and refuses some of what sharing needs: a user without TIME, without channels, a command with
// another name. Nothing leaves but by `whenDown`, and the log, the metrics and /status say what is the matter.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "system/redis_stage.h"

namespace penstock::trial {
namespace {

constexpr const char* kLogin = "penstock:secret@";

/// Besides what it may do already.
void let_user(SharedStage& stage, const std::string& rules) {
  std::istringstream words("ACL SETUSER penstock on >secret " + rules);
  std::vector<std::string> command;
  for (std::string word; words >> word;) command.push_back(word);
  ASSERT_FALSE(stage.redis.run({command.begin(), command.end()}).is_error()) << rules;
}

nlohmann::json redis_status(const Daemon& daemon) {
  return nlohmann::json::parse(daemon.admin("/status").body).at("redis");
}

bool comes_to_lack(const Daemon& daemon, const nlohmann::json& words) {
  return eventually([&] { return redis_status(daemon).at("refused") == words; });
}

/// The default of a new user in Redis 7.
TEST(RedisRefuses, channels_and_a_semaphore_goes_by_whenDown_but_a_pacer_is_shared) {
  SharedStage stage({.limits = "semaphore: { capacity: 3, lease: 6s }", .when_down = "refuse", .login = kLogin});
  let_user(stage, "~* +@all");
  Daemon& daemon = stage.add(false);
  Shared paced = stage.shared;
  paced.limits = "pacer: { qps: 200 }";
  Daemon& other = stage.add(paced);
  for (const Daemon* one : {&daemon, &other}) {
    EXPECT_TRUE(comes_to_say(*one,
                             "its user penstock may not use channels penstock:to:*; to grant it: ACL SETUSER penstock "
                             "&penstock:to:*"))
        << one->diagnostics();
    EXPECT_TRUE(comes_to_lack(*one, {"&penstock:to:*"}));
    EXPECT_TRUE(eventually([&] { return is_up(*one); }));
    EXPECT_EQ(lines_with(one->diagnostics(), "&penstock:to:*"), 1u) << one->diagnostics();
  }
  EXPECT_TRUE(is_degraded(daemon));
  EXPECT_EQ(stage.fetch(daemon).status, 503);
  EXPECT_FALSE(is_degraded(other));
  EXPECT_EQ(stage.fetch(other).status, 200);
  EXPECT_EQ(stage.arrivals.count(), 1u);
  let_user(stage, "&penstock:to:*");
  EXPECT_TRUE(eventually([&] { return !is_degraded(daemon); })) << daemon.diagnostics();
  EXPECT_TRUE(eventually([&] { return stage.fetch(daemon).status == 200; }));
}

/// Keys of one upstream alone: that one goes by whenDown, though Redis is up, and is tried each second.
TEST(RedisRefuses, the_keys_of_one_upstream_and_the_others_are_shared) {
  SharedStage stage({.limits = "pacer: { qps: 200 }", .when_down = "refuse", .login = kLogin});
  let_user(stage, "~penstock:{probe}:* ~penstock:probe ~penstock:born ~penstock:labels &* +@all");
  const Daemon& daemon = stage.add(false);
  EXPECT_TRUE(eventually([&] { return is_up(daemon); }));
  EXPECT_TRUE(eventually([&] { return stage.fetch(daemon).status == 503; }));
  EXPECT_TRUE(comes_to_say(daemon, "the limits of api are not shared as they should be: NOPERM"))
      << daemon.diagnostics();
  EXPECT_TRUE(throughout(1500ms, [&] { return is_degraded(daemon) && is_up(daemon); })) << "looks in vain";
  EXPECT_EQ(stage.arrivals.count(), 0u);
  let_user(stage, "~penstock:{api}:*");
  EXPECT_TRUE(eventually([&] { return !is_degraded(daemon); }));
  EXPECT_EQ(stage.fetch(daemon).status, 200);
  EXPECT_TRUE(comes_to_say(daemon, "the limits of api are shared again"));
}

}  // namespace
}  // namespace penstock::trial
