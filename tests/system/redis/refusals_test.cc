// SPDX-License-Identifier: Apache-2.0
// A Redis that answers and refuses some of what sharing needs: a user without TIME, without channels, a command with
// another name. Nothing leaves but by `whenDown`, and the log, the metrics and /status say what is the matter.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "system/redis_stage.h"
#include "system/sentinel_stage.h"

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
  Daemon& other = stage.add(paced, false);  // it cannot subscribe
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

/// The rule of docs/limits.md, as it is printed there, suffices for all kinds of limits, groups and pauses.
TEST(RedisRefuses, nothing_to_a_user_with_the_rule_of_the_docs) {
  SharedStage stage({.limits = "window: { reservoir: 100000, interval: 1h }\n"
                               "- slidingWindow: { max: 10000, interval: 1h }\n"
                               "- tokenBucket: { capacity: 100000, refillAmount: 1000, refillFrequency: 1s }\n"
                               "- semaphore: { capacity: 100, lease: 6s }\n"
                               "- counter: { max: 100000, period: 1h }\n"
                               "- pacer: { qps: 1000, per: group }",
                     .when_down = "refuse",
                     .upstream = "group: header:Authorization",
                     .login = "penstock:PASSWORD@"});
  const auto rule = acl_rule_of_the_docs(0);
  ASSERT_FALSE(stage.redis.run({rule.begin(), rule.end()}).is_error());
  for (int i = 0; i < 2; ++i) stage.add();
  {
    Load load(stage.ports(), stage.origin.url());
    stage.expect_acquainted();
    EXPECT_TRUE(stage.arrivals.await(200));
    expect_only_successes(load.stop());
  }
  for (const auto& daemon : stage.daemons) {
    EXPECT_EQ(redis_status(daemon).at("refused"), nlohmann::json::array()) << daemon.diagnostics();
    EXPECT_FALSE(is_degraded(daemon));
    EXPECT_EQ(errors(daemon, "noperm"), 0);
  }
  EXPECT_THAT(refused_by(stage.redis), testing::ElementsAre("client|setname")) << "costs a name alone";
}

TEST(RedisRefuses, no_connection_its_name_where_that_is_granted) {
  SharedStage stage({.redis = ", prefix: shop"});
  const Daemon& daemon = stage.add();
  const std::string name = " name=shop:" + std::to_string(daemon.pid()) + " ";
  EXPECT_TRUE(eventually([&] {
    return lines_with(stage.redis.run({"CLIENT", "LIST"}).text, name) == 2;
  })) << stage.redis.run({"CLIENT", "LIST"}).text;
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

/// A sentinel whose user has the rule of docs/limits.md but for one word of it.
struct StrictSentinel {
  /// Gives the words that say what is allowed.
  static std::vector<std::string> rules() {
    const auto all = acl_rule_of_the_docs(1);  // ACL SETUSER penstock on >PASSWORD …
    return {all.begin() + 5, all.end()};
  }
  void grant_all_but(std::string_view one) {
    std::vector<std::string> words{"ACL", "SETUSER", "penstock", "reset", "on", ">PASSWORD"};
    for (const auto& rule : rules()) {
      if (rule != one) words.push_back(rule);
    }
    ASSERT_FALSE(sentinel.server.run({words.begin(), words.end()}).is_error());
  }
  std::string yaml() const {
    return "redis: { timeout: 3s, whenDown: refuse, url: 'redis+sentinel://" + sentinel.at() +
           "/mymaster', sentinel: { user: penstock, password: PASSWORD } }\n"
           "upstreams: { api: { match: 127.0.0.1, limits: [ { pacer: { qps: 200 } } ] } }\n";
  }
  Finished check() const {
    const std::string file = folder.path + "/penstock.yaml";
    std::ofstream(file) << "version: 1\n" << yaml();
    return run_program({"check", "--live", file});
  }

  const Folder folder;
  const test::RedisServer master;
  SentinelProcess sentinel{folder.path, master.port(), 1};
};

TEST(SentinelRefuses, a_word_of_its_rule_and_the_log_the_status_and_the_check_name_it) {
  StrictSentinel stage;
  for (const auto& rule : StrictSentinel::rules()) {
    SCOPED_TRACE(rule);
    stage.grant_all_but(rule);
    const Daemon daemon({.yaml = stage.yaml()});
    const std::string grant = "to grant it: ACL SETUSER penstock " + rule;
    EXPECT_TRUE(comes_to_say(daemon, grant)) << daemon.diagnostics();
    EXPECT_EQ(lines_with(daemon.diagnostics(), grant), 1u) << daemon.diagnostics();
    const auto checked = stage.check();
    EXPECT_THAT(checked.out + checked.err, testing::HasSubstr(rule));
    EXPECT_THAT(checked.out, testing::Not(testing::HasSubstr("may do all")));
    if (rule == "+sentinel|get-master-addr-by-name") {
      EXPECT_FALSE(is_up(daemon));
      continue;
    }
    EXPECT_TRUE(eventually([&] { return is_up(daemon); })) << daemon.diagnostics();
    EXPECT_TRUE(comes_to_lack(daemon, {"sentinels: " + rule})) << redis_status(daemon).dump();
  }
}

TEST(SentinelRefuses, to_tell_of_replicas_and_the_log_says_that_they_are_not_closed_until_it_is_granted) {
  StrictSentinel stage;
  stage.grant_all_but("+sentinel|replicas");
  const Daemon daemon({.yaml = stage.yaml()});
  EXPECT_TRUE(comes_to_say(daemon,
                           "its sentinels refuse something: its user penstock may not run SENTINEL REPLICAS; to grant "
                           "it: ACL SETUSER penstock +sentinel|replicas. Until then not all replicas are known, and so "
                           "not closed to clients"))
      << daemon.diagnostics();
  stage.sentinel.server.run({"ACL", "SETUSER", "penstock", "+sentinel|replicas"});
  EXPECT_TRUE(eventually([&] { return redis_status(daemon).at("refused").empty(); }, 40s)) << daemon.diagnostics();
  EXPECT_TRUE(comes_to_say(daemon, "its sentinels refuse nothing any more"));
}

}  // namespace
}  // namespace penstock::trial
