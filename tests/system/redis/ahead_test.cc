// SPDX-License-Identifier: Apache-2.0
// What /ahead says where limits are shared, and what the next request then meets: what others have spent, Redis that is
// away, and a file that changes while Redis is asked.
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <stop_token>
#include <thread>

#include "system/redis_stage.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;

constexpr double kHour = 3'600'000;  // ms
/// Three departures an hour; whatever else comes waits.
const Shared kThreeAnHour{.limits = "slidingWindow: { max: 3, interval: 1h }", .upstream = "queue: { maxWait: 24h }"};

Reply asked(const Daemon& daemon, const Origin& origin) { return daemon.admin("/ahead?url=" + origin.url("/")); }
Json ahead(const Daemon& daemon, const Origin& origin) { return Json::parse(asked(daemon, origin).body); }

void expect_an_hour(const Json& ahead) {
  EXPECT_EQ(ahead.at("limitedBy"), "slidingWindow");
  EXPECT_GT(ahead.at("waitMs"), kHour - 60'000);
  EXPECT_LT(ahead.at("waitMs"), kHour + 50) << "what a forecast may be wrong by";
}

TEST(SharedAhead, knows_what_another_process_has_spent) {
  SharedStage stage(kThreeAnHour);
  const Daemon &here = stage.add(), &there = stage.add();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(stage.fetch(there).status, 200);
  expect_an_hour(ahead(here, stage.origin));
}

/// Two daemons with this file, of which the first has spent what "*" passes.
struct UnnamedHost {
  UnnamedHost() {
    for (const auto* daemon : {&there, &here}) {
      EXPECT_TRUE(eventually([&] { return is_up(*daemon) && !is_degraded(*daemon); })) << daemon->diagnostics();
    }
    for (int i = 0; i < 3; ++i) EXPECT_EQ(there.ask(get(origin.url("/"))).status, 200);
  }
  ~UnnamedHost() { EXPECT_EQ(origin.complaint(), ""); }

  test::RedisServer redis;
  Origin origin;
  const Given given{.yaml = "redis: { url: 'redis://127.0.0.1:" + std::to_string(redis.port()) +
                            "', timeout: 3s }\nupstreams: { '*': { queue: { maxWait: 24h }, limits: "
                            "[{ slidingWindow: { max: 3, interval: 1h } }] } }\n"};
  Daemon there{given}, here{given};
};

TEST(SharedAhead, of_a_host_that_no_entry_names_is_known_once_it_is_used) {
  UnnamedHost stage;
  EXPECT_TRUE(ahead(stage.here, stage.origin).at("waitMs").is_null()) << "Redis has told nothing of it here";
  Client waits(stage.here.port());
  waits.send(get(stage.origin.url("/waits")));
  ASSERT_TRUE(stage.here.await_pending(stage.origin.host(), 1));
  expect_an_hour(ahead(stage.here, stage.origin));
}

/// One daemon that has spent its limit, and then loses Redis.
struct WithoutRedis : SharedStage {
  explicit WithoutRedis(const char* rule) : SharedStage(ruled(rule)), daemon(add()) {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(fetch(daemon).status, 200);
    redis.stop(SIGKILL);
    EXPECT_TRUE(eventually([&] { return is_degraded(daemon); }));
  }
  static Shared ruled(const char* rule) {
    Shared shared = kThreeAnHour;
    shared.when_down = rule;
    return shared;
  }
  Json said() const { return ahead(daemon, origin); }

  const Daemon& daemon;
};

TEST(AheadWithoutRedis, has_the_words_of_the_refusal_where_all_is_refused) {
  const WithoutRedis stage("refuse");
  const Reply told = asked(stage.daemon, stage.origin), met = stage.fetch(stage.daemon);
  EXPECT_EQ(told.status, 200);
  const std::string refused = Json::parse(told.body).at("refused");
  EXPECT_NE(refused, "");
  EXPECT_EQ(met.status, 503);
  EXPECT_THAT(met.body, HasSubstr(refused));
}

TEST(AheadWithoutRedis, is_at_once_where_limits_do_not_count) {
  const WithoutRedis stage("open");
  EXPECT_EQ(stage.said().at("waitMs"), 0);
  EXPECT_EQ(stage.fetch(stage.daemon).status, 200);
}

TEST(AheadWithoutRedis, is_unknown_where_all_wait_for_it) {
  const WithoutRedis stage("wait");
  EXPECT_TRUE(stage.said().at("waitMs").is_null());
  EXPECT_EQ(stage.said().at("limitedBy"), "redis");
  Client waits(stage.daemon.port());
  waits.send(get(stage.origin.url("/")));
  EXPECT_TRUE(stage.daemon.await_pending("api", 1));
}

TEST(AheadWithoutRedis, is_by_the_own_share_where_that_may_be_used) {
  const WithoutRedis stage("share");
  expect_an_hour(stage.said());
}

/// Four clients that ask all the time. Each is told when a request would leave; or that the limits were replaced
/// meanwhile, if those ended before Redis had answered.
class Askers {
 public:
  Askers(const Daemon& daemon, const Origin& origin) : daemon_(daemon), origin_(origin) {
    for (auto& asker : askers_) asker = std::jthread([this](const std::stop_token& ends) { ask_until(ends); });
  }

  std::atomic<int> answers = 0;

 private:
  void ask_until(const std::stop_token& ends) {
    while (!ends.stop_requested()) {
      const Reply reply = asked(daemon_, origin_);
      const bool told = reply.status == 200 && reply.body.contains("\"waitMs\"");
      const bool replaced = reply.status == 503 && reply.body.contains("the limits were replaced meanwhile; ask again");
      ASSERT_TRUE(reply.whole && (told || replaced)) << reply.head << reply.body;
      ++answers;
    }
  }

  const Daemon& daemon_;
  const Origin& origin_;
  std::array<std::jthread, 4> askers_;
};

TEST(SharedAhead, is_answered_though_limits_come_and_go_while_redis_is_asked) {
  SharedStage stage(kThreeAnHour);
  Relay relay(stage.redis.port());
  const Daemon& daemon = stage.add(relay);
  Shared far = stage.shared;
  far.port = relay.port();
  const std::string limited = yaml_of(far, far.port), unlimited = "upstreams: { api: { match: 127.0.0.1 } }\n";
  relay.slow_down(20ms);  // so that there is nearly always one that waits for Redis
  Askers askers(daemon, stage.origin);
  for (int i = 0; i < 4; ++i) {
    const int before = askers.answers;
    ASSERT_TRUE(eventually([&] { return ahead(daemon, stage.origin).at("waitMs") == 0; })) << "Redis has told";
    ASSERT_TRUE(eventually([&] { return askers.answers > before + 8; })) << "each has asked since";
    EXPECT_TRUE(daemon.reloads(unlimited));
    EXPECT_TRUE(daemon.reloads(limited));
  }
  const int before = askers.answers;
  EXPECT_TRUE(eventually([&] { return askers.answers > before + 8; })) << "none waits for ever";
}

}  // namespace
}  // namespace penstock::trial
