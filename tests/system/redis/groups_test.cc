// SPDX-License-Identifier: Apache-2.0
// Groups by a header, whose values may be credentials, where processes share a Redis: all call a group the same, in
// Redis and in their logs, and who reads a log cannot check a guess.
#include <gmock/gmock.h>

#include "system/redis_stage.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr std::string_view kLine = "Authorization: Bearer of-the-tests\r\n";

Shared by_header(const std::string& redis = {}) {
  return {.limits = "counter: { max: 2, period: 1h, per: group, mode: refuse }",
          .timeout = "8s",
          .upstream = "group: header:Authorization",
          .redis = redis};
}

/// PendingAsks one daemon for the same group again and again.
struct Asker {
  int status() { return ++asked, stage.fetch(daemon, "/", kLine).status; }
  /// What its log calls the group now.
  std::string name() {
    status();
    const auto events = daemon.await_events(
        asked, [](const Json& event) { return event.at("event") == "dispatch" || event.at("event") == "refused"; });
    EXPECT_THAT(events, SizeIs(asked));
    EXPECT_THAT(events.back().at("group").get<std::string>(), SizeIs(12));
    return events.back().at("group");
  }

  SharedStage& stage;
  const Daemon& daemon;
  std::size_t asked = 0;
};

/// Sooner or later; a daemon learns it from Redis after it has come to know it.
bool come_to_agree(Asker& one, Asker& other) {
  return eventually([&] { return one.name() == other.name(); });
}

/// The digits of the group's key in Redis; there is one.
std::string in_redis(SharedStage& stage) {
  const std::string begin = stage.key("counter:");
  const auto keys = stage.redis.run({"KEYS", begin + "*"}).items;
  EXPECT_THAT(keys, SizeIs(1));
  return keys.at(0).text.substr(begin.size());
}

std::string key_in_redis(SharedStage& stage) { return stage.redis.run({"GET", "penstock:labels"}).text; }

/// The counter allows two: the third is refused, whichever process it asks.
void expect_one_limit(Asker& one, Asker& other) {
  EXPECT_EQ(one.status(), 200);
  EXPECT_EQ(other.status(), 200);
  EXPECT_EQ(one.status(), 429);
  EXPECT_EQ(other.status(), 429);
}

TEST(HeaderGroup, has_one_name_in_all_logs_by_which_no_guess_can_be_checked) {
  SharedStage stage(by_header());
  Asker one{stage, stage.add()}, other{stage, stage.add()};
  expect_one_limit(one, other);
  EXPECT_TRUE(come_to_agree(one, other));
  EXPECT_THAT(in_redis(stage), Not(StartsWith(one.name()))) << "that hash is made of public names";
}

TEST(HeaderGroup, keeps_its_name_in_later_processes_and_when_redis_has_lost_its_memory) {
  SharedStage stage(by_header());
  Asker first{stage, stage.add()};
  const auto name = first.name();
  Asker later{stage, stage.add()};
  EXPECT_TRUE(come_to_agree(first, later));
  const auto key = key_in_redis(stage);
  EXPECT_THAT(key, SizeIs(32));
  stage.redis.restart_empty();
  ASSERT_TRUE(eventually([&] { return key_in_redis(stage) == key; }));
  Asker last{stage, stage.add()};
  EXPECT_TRUE(come_to_agree(first, last));
  EXPECT_EQ(first.name(), name);
}

TEST(HeaderGroup, keeps_its_name_when_redis_forgets_all_and_stays_connected) {
  SharedStage stage(by_header());
  Asker first{stage, stage.add()};
  const auto name = first.name();
  stage.redis.run({"FLUSHALL"});
  EXPECT_EQ(first.name(), name);
  ASSERT_TRUE(eventually([&] { return key_in_redis(stage).size() == 32; }));
  Asker last{stage, stage.add()};
  EXPECT_TRUE(come_to_agree(first, last));
  EXPECT_EQ(first.name(), name);
}

TEST(HeaderGroup, has_a_name_of_the_process_s_own_until_redis_is_reached_for_the_first_time) {
  SharedStage stage(by_header());
  stage.redis.stop();
  Asker one{stage, stage.add(false)}, other{stage, stage.add(false)};
  EXPECT_NE(one.name(), other.name());
  stage.redis.start();
  EXPECT_TRUE(come_to_agree(one, other));
}

TEST(HeaderGroup, under_a_secret_is_called_in_redis_as_in_logs_and_under_another_is_another) {
  SharedStage stage(by_header(", secret: of-sixteen-letters"));
  Asker one{stage, stage.add()}, other{stage, stage.add()};
  expect_one_limit(one, other);
  const auto name = one.name();
  EXPECT_EQ(other.name(), name);
  EXPECT_THAT(in_redis(stage), StartsWith(name));
  EXPECT_EQ(key_in_redis(stage), "") << "all know the secret";
  Asker stranger{stage, stage.add(by_header(", secret: of-sixteen-others"))};
  EXPECT_EQ(stranger.status(), 200) << "another limit";
  EXPECT_NE(stranger.name(), name);
  EXPECT_THAT(stage.redis.run({"KEYS", stage.key("counter:*")}).items, SizeIs(2));
  for (const auto& daemon : stage.daemons) {
    EXPECT_THAT(daemon.diagnostics() + daemon.admin("/status").body, Not(HasSubstr("of-sixteen")));
  }
}

TEST(HeaderGroup, that_a_reload_brings_has_one_name_in_all_logs_too) {
  SharedStage stage({.timeout = "8s"});
  const Daemon &one = stage.add(), &other = stage.add();
  EXPECT_EQ(stage.fetch(one).status, 200);
  EXPECT_EQ(key_in_redis(stage), "") << "nobody needs it";
  for (const Daemon* daemon : {&one, &other}) {
    ASSERT_TRUE(daemon->reloads(yaml_of(by_header(), stage.redis.port()))) << daemon->diagnostics();
  }
  Asker of_one{stage, one, 1}, of_other{stage, other};
  EXPECT_TRUE(come_to_agree(of_one, of_other));
}

}  // namespace
}  // namespace penstock::trial
