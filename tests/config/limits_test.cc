// SPDX-License-Identifier: Apache-2.0
// Limits, groups and Redis in a file: what is read, and each thing that cannot work, with its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "penstock/config.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::string file(const std::string& lines) {
  return "version: 1\nupstreams:\n  a:\n    match: a.com\n" + lines;  // lines are numbered from 5
}

UpstreamSettings read_limits(const std::string& lines) {
  const auto config = read_config(file(lines), "f");
  if (config) return config->upstreams.at(0).settings;
  for (const auto& error : config.error()) ADD_FAILURE() << to_string(error);
  return {};
}

std::vector<std::string> faults(const std::string& lines) {
  std::vector<std::string> all;
  const auto config = read_config(file(lines), "f");
  if (!config) {
    for (const auto& error : config.error()) all.push_back(to_string(error));
  }
  return all;
}

std::vector<std::string> faults_of(const std::string& limit) { return faults("    limits: [ { " + limit + " } ]\n"); }

// Limits as a file gives them.

TEST(Limits, of_every_kind_are_read_in_order) {
  const auto settings = read_limits(R"(    limits:
      - pacer: { qps: 12.5, maxBurst: 10, burstAllowanceFactor: 1 }
      - window: { reservoir: 5000, interval: 1h, spread: true }
      - slidingWindow: { max: 100, interval: 1m }
      - tokenBucket: { capacity: 40, refillAmount: 2, refillFrequency: 1s }
      - semaphore: { capacity: 5, lease: 10s }
      - counter: { max: 7, period: 1d }
      - adaptive: { min: 30/m, max: 200/s }
)");
  EXPECT_THAT(
      settings.limits,
      ElementsAre(LimitConfig{PacerConfig{12.5, 10, 1}, "pacer"}, LimitConfig{WindowConfig{5000, 1h, true}, "window"},
                  LimitConfig{SlidingWindowConfig{100, 1min}, "slidingWindow"},
                  LimitConfig{TokenBucketConfig{40, 2, 1s}, "tokenBucket"},
                  LimitConfig{SemaphoreConfig{5, 10s}, "semaphore"}, LimitConfig{CounterConfig{7, 24h}, "counter"},
                  LimitConfig{AdaptiveConfig{0.5, 200}, "adaptive"}));
}

TEST(Limits, that_adapt_have_bounds_in_order_and_let_requests_wait) {
  EXPECT_EQ(read_limits("    limits: [ { adaptive: { max: 9/s } } ]\n").limits.at(0).kind,
            (LimitConfig::Kind{AdaptiveConfig{1, 9}}));
  EXPECT_THAT(faults_of("adaptive: { min: 10/s, max: 5/s }"), ElementsAre(HasSubstr("10/s, more than max, 5/s")));
  EXPECT_THAT(faults_of("adaptive: { min: 10/s }"),
              ElementsAre(HasSubstr("max in upstreams.a.limits.adaptive is missing")));
  EXPECT_THAT(faults_of("adaptive: { max: 10 }"), ElementsAre(HasSubstr("'10' is not a rate, as in 15/s")));
  EXPECT_THAT(faults_of("adaptive: { max: 5/s, mode: refuse }"), ElementsAre(HasSubstr("it must be delay")));
}

TEST(Limits, may_stop_nobody_if_they_can_tell_how_long_a_request_would_have_waited) {
  for (const char* kind :
       {"pacer: { qps: 1", "window: { reservoir: 1, interval: 1s", "slidingWindow: { max: 1, interval: 1s",
        "tokenBucket: { capacity: 1, refillAmount: 1, refillFrequency: 1s", "counter: { max: 1, period: 1s"}) {
    const auto settings = read_limits("    limits: [ { " + std::string(kind) + ", mode: shadow } } ]\n");
    EXPECT_EQ(settings.limits.at(0).mode, LimitConfig::Mode::shadow) << kind;
  }
  EXPECT_THAT(faults_of("semaphore: { capacity: 5, mode: shadow }"), ElementsAre(HasSubstr("must be delay or refuse")));
  EXPECT_THAT(faults_of("adaptive: { max: 5/s, mode: shadow }"),
              ElementsAre(HasSubstr("mode in upstreams.a.limits.adaptive is shadow; the rate grows only")));
}

TEST(Limits, have_what_is_common_to_all) {
  const auto settings = read_limits(
      "    group: host\n    limits: [ { window: { reservoir: 1, interval: 1s, name: w, per: group, "
      "shared: false, mode: refuse } } ]\n");
  EXPECT_THAT(settings.limits, ElementsAre(LimitConfig{WindowConfig{1, 1s}, "w", LimitConfig::Per::group, false,
                                                       LimitConfig::Mode::refuse}));
}

TEST(Limits, begin_with_those_that_a_rate_is_short_for) {
  const auto settings = read_limits("    limits: [ { window: { reservoir: 1, interval: 1s } } ]\n    rate: 900/m\n");
  EXPECT_THAT(settings.limits, ElementsAre(LimitConfig{pacer_of({900, 60s}), "rate"},
                                           LimitConfig{SlidingWindowConfig{900, 60019900us, true}, "rate.window"},
                                           LimitConfig{WindowConfig{1, 1s}, "window"}));
}

TEST(Limits, stand_in_the_entry_star_too) {
  const auto config = read_config("version: 1\nupstreams:\n  '*': { rate: 5/s, group: host, obey: off }\n", "f");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->unmatched.limits.size(), 2u);
  EXPECT_EQ(config->unmatched.obey, Obey::off);
}

TEST(Limits, do_not_stand_in_the_defaults) {
  for (const char* key : {"rate: 5/s", "group: host", "limits: []", "obey: off", "maxPause: 1m", "pauseOn: [429]",
                          "pauseScope: upstream", "learn: on", "breaker: off"}) {
    const auto config = read_config("version: 1\ndefaults:\n  " + std::string(key) + "\n", "f");
    ASSERT_FALSE(config) << key;
    EXPECT_THAT(to_string(config.error().at(0)), StartsWith("f:3:3: unknown key")) << key;
  }
}

TEST(Limits, come_with_groups_and_pauses) {
  const auto settings = read_limits("    group: path:/api/v*/guilds/{guild}\n    obey: off\n    maxPause: 10m\n");
  EXPECT_EQ(settings.group, (GroupRule{GroupRule::By::path, "/api/v*/guilds/{guild}"}));
  EXPECT_EQ(settings.obey, Obey::off);
  EXPECT_EQ(settings.max_pause, 10min);
  EXPECT_EQ(settings.learn, Learn::off);
  EXPECT_EQ(read_limits("    learn: on\n").learn, Learn::on);
  EXPECT_EQ(read_limits("    obey: retryAfter\n").obey, Obey::retry_after);
}

TEST(Redis, is_read_with_all_its_keys) {
  const auto config = read_config(
      "version: 1\nredis: { url: 'redis://:${P}@r1', prefix: staging, timeout: 20ms, whenDown: refuse, "
      "secret: '0123-${P}-456789' }\n",
      "f", [](const std::string&) { return "s3cret"; });
  ASSERT_TRUE(config);
  RedisConfig wanted;
  wanted.host = "r1", wanted.password = "s3cret", wanted.prefix = "staging", wanted.timeout = 20ms;
  wanted.when_down = WhenDown::refuse, wanted.secret = "0123-s3cret-456789";
  EXPECT_EQ(config->redis, std::vector{wanted});
}

TEST(Redis, has_names_where_there_are_several) {
  const auto config = read_config(
      "version: 1\nredis:\n  main: { url: 'redis://r1' }\n  eu: { url: 'rediss://r2:6380', whenDown: wait, tls: { ca: "
      "/a.pem } }\nupstreams:\n  a: { match: a.test, redis: eu }\n  b: { match: b.test }\n  '*': { redis: eu }\n",
      "f");
  ASSERT_TRUE(config) << to_string(config.error().at(0));
  EXPECT_EQ(config->redis, (std::vector<RedisConfig>{{.name = "main", .host = "r1"},
                                                     {.name = "eu",
                                                      .host = "r2",
                                                      .port = 6380,
                                                      .tls = RedisTlsConfig{.ca = "/a.pem"},
                                                      .when_down = WhenDown::wait}}));
  EXPECT_EQ(redis_of(*config, config->upstreams[0].settings), &config->redis[1]);
  EXPECT_EQ(redis_of(*config, config->upstreams[1].settings), &config->redis[0]) << "the first in the file";
  EXPECT_EQ(redis_of(*config, config->unmatched), &config->redis[1]);
  EXPECT_EQ(redis_of(Config{}, {}), nullptr);
}

TEST(Redis, of_the_same_url_may_have_two_names) {
  EXPECT_TRUE(
      read_config("version: 1\nredis: { strict: { url: redis://r1, whenDown: refuse }, lax: { url: redis://r1, "
                  "whenDown: open } }\n",
                  "f"));
}

TEST(Redis, without_a_name_is_called_default) {
  const auto config =
      read_config("version: 1\nredis: { url: redis://r1 }\nupstreams: { a: { match: a.test, redis: default } }\n", "f");
  ASSERT_TRUE(config) << to_string(config.error().at(0));
  EXPECT_EQ(redis_of(*config, config->upstreams[0].settings), &config->redis[0]);
}

// What is refused, and where.

TEST(FaultyLimits, are_all_named_with_their_places) {
  EXPECT_THAT(faults(R"(    rate: 15
    group: guild
    limits:
      - pacer: { qps: many, maxBurst: -1 }
      - windows: {}
      - window: { reservoir: 0, interval: 1h }
    maxPause: 2d
)"),
              ElementsAre(StartsWith("f:5:11: rate in upstreams.a: '15' is not a rate, as in 15/s"),
                          StartsWith("f:6:12: group in upstreams.a: 'guild': it must be path:"),
                          StartsWith("f:8:23: qps in upstreams.a.limits.pacer: 'many' is not a plain number"),
                          StartsWith("f:8:39: maxBurst in upstreams.a.limits.pacer: '-1' is not a plain number"),
                          StartsWith("f:9:9: unknown key 'windows' in upstreams.a.limits; did you mean 'window'?"),
                          StartsWith("f:10:30: reservoir in upstreams.a.limits.window is 0; it must be between 1 and"),
                          StartsWith("f:11:15: maxPause in upstreams.a is 2d; it must be between 0s and 24h")));
}

TEST(FaultyLimits, keep_their_places_behind_a_rate_and_behind_what_cannot_be_read) {
  EXPECT_THAT(faults("    rate: 1/s\n    limits:\n      - nope: {}\n      - counter: { max: 0, period: 1s }\n"),
              ElementsAre(StartsWith("f:7:9: unknown key 'nope' in upstreams.a.limits; known here: pacer, window, "),
                          StartsWith("f:8:25: max in upstreams.a.limits.counter is 0")));
}

TEST(FaultyLimits, are_a_list_of_single_kinds) {
  EXPECT_THAT(faults("    limits: { pacer: { qps: 1 } }\n"),
              ElementsAre(HasSubstr("limits in upstreams.a must be a list")));
  for (const char* limits : {"[ pacer ]", "[ {} ]", "[ 5 ]", "[ [] ]", "\n      -"})
    EXPECT_THAT(faults("    limits: " + std::string(limits) + "\n"),
                ElementsAre(HasSubstr("must hold kinds of limits")))
        << limits;
  EXPECT_THAT(faults("    limits:\n      - pacer: { qps: 1 }\n        window: { reservoir: 1, interval: 1s }\n"),
              ElementsAre(StartsWith("f:7:9: one limit is one kind; begin the next with '- window:'")));
  EXPECT_THAT(faults("    limits:\n"), IsEmpty());
}

TEST(FaultyLimits, lack_a_parameter) {
  EXPECT_THAT(faults_of("pacer: {}"), ElementsAre(HasSubstr("qps in upstreams.a.limits.pacer is missing; it must be")));
  EXPECT_THAT(faults_of("window: { reservoir: 1 }"),
              ElementsAre(HasSubstr("interval in upstreams.a.limits.window is missing")));
}

TEST(FaultyLimits, cannot_work) {
  for (const char* limit : {"pacer: { qps: 0 }",
                            "pacer: { qps: -1 }",
                            "pacer: { qps: nan }",
                            "pacer: { qps: inf }",
                            "pacer: { qps: 1e3 }",
                            "pacer: { qps: 1000001 }",
                            "pacer: { qps: 1, burstAllowanceFactor: 0 }",
                            "pacer: { qps: 1, burstAllowanceFactor: 1.01 }",
                            "pacer: { qps: 1, maxBurst: 1.5 }",
                            "pacer: { qps: 1, maxBurst: 1000000001 }",
                            "window: { reservoir: 1, interval: 0s }",
                            "window: { reservoir: 1, interval: 5 }",
                            "window: { reservoir: 1, interval: 1s, spread: maybe }",
                            "slidingWindow: { max: 0, interval: 1s }",
                            "slidingWindow: { max: 10001, interval: 1s }",
                            "tokenBucket: { capacity: 0, refillAmount: 1, refillFrequency: 1s }",
                            "tokenBucket: { capacity: 1, refillAmount: 0, refillFrequency: 1s }",
                            "tokenBucket: { capacity: 1, refillAmount: 1, refillFrequency: 0s }",
                            "semaphore: { capacity: 0 }",
                            "semaphore: { capacity: 1, lease: 999ms }",
                            "semaphore: { capacity: 1, lease: 25h }",
                            "counter: { max: 1, period: 99ms }",
                            "counter: { max: 0, period: 1s }",
                            "pacer: { qps: 1, mode: drop }",
                            "pacer: { qps: 1, per: host }",
                            "pacer: { qps: 1, shared: maybe }"}) {
    EXPECT_EQ(faults_of(limit).size(), 1u) << limit;
  }
  for (const char* rate : {"0/s", "-1/s", "nan/s", "15/w", "15", "/s", "1e3/s", "15 /s", "2000000/s"})
    EXPECT_EQ(faults("    rate: " + std::string(rate) + "\n").size(), 1u) << rate;
}

TEST(FaultyLimits, have_a_lease_too_short_to_renew) {
  EXPECT_THAT(
      faults_of("semaphore: { capacity: 5, lease: 500ms }"),
      ElementsAre("f:5:50: lease in upstreams.a.limits.semaphore is 500ms; it must be between 1s and 24h: it is "
                  "renewed six times over, and a shorter one could not be"));
}

TEST(FaultyLimits, are_shared_without_redis) {
  EXPECT_THAT(
      faults_of("pacer: { qps: 1, shared: true }"),
      ElementsAre("f:5:42: shared in upstreams.a.limits.pacer needs Redis to share the limit through; set redis.url"));
  EXPECT_THAT(faults("    limits: [ { pacer: { qps: 1, shared: true } } ]\nredis: { url: 'redis://r1' }\n"), IsEmpty());
  EXPECT_THAT(faults_of("pacer: { qps: 1, shared: false }"), IsEmpty());
  EXPECT_THAT(faults_of("pacer: { qps: 1 }"), IsEmpty());
}

TEST(FaultyLimits, have_the_same_name) {
  EXPECT_THAT(faults("    limits:\n      - pacer: { qps: 1 }\n      - pacer: { qps: 2 }\n      - pacer: { qps: 3 }\n"),
              ElementsAre("f:7:16: two limits of upstreams.a are named 'pacer'; give one a name"));
  EXPECT_THAT(faults("    rate: 1/s\n    limits: [ { pacer: { qps: 2 } } ]\n"), IsEmpty());
  for (const std::string name : {"rate", "rate.window"})
    EXPECT_THAT(faults("    rate: 1/s\n    limits: [ { pacer: { qps: 2, name: " + name + " } } ]\n"),
                ElementsAre("f:6:24: two limits of upstreams.a are named '" + name +
                            "' (rate: has that name itself); give yours another"));
  EXPECT_THAT(
      faults("    limits: [ { window: { reservoir: 1, interval: 1s, name: x } }, { pacer: { qps: 2, name: x } } ]\n"),
      ElementsAre(HasSubstr("two limits of upstreams.a are named 'x'; give one a name")));
}

TEST(FaultyLimits, have_a_name_that_is_none) {
  for (const char* name :
       {"'a b'", "a:b", "'{x}'", "ü", "pause", "head", "line", "alive", "redis", "maxConcurrent", "maxTunnels"})
    EXPECT_EQ(faults_of("pacer: { qps: 1, name: " + std::string(name) + " }").size(), 1u) << name;
  EXPECT_EQ(faults_of("pacer: { qps: 1, name: " + std::string(65, 'x') + " }").size(), 1u);
  EXPECT_THAT(faults_of("pacer: { qps: 1, name: A.b_c-9 }"), IsEmpty());
}

TEST(FaultyLimits, are_per_group_without_groups) {
  EXPECT_THAT(
      faults_of("pacer: { qps: 1, per: group }"),
      ElementsAre("f:5:39: per in upstreams.a.limits.pacer is group, but the upstream has no groups; say what makes "
                  "them with group"));
}

TEST(FaultyLimits, would_cost_too_much_memory_per_group) {
  EXPECT_THAT(
      faults("    group: host\n    limits: [ { slidingWindow: { max: 8192, interval: 1s, per: group } } ]\n"),
      ElementsAre(HasSubstr("max in upstreams.a.limits.slidingWindow is 8192: about 80KiB of memory for each group")));
  EXPECT_THAT(faults("    group: host\n    limits: [ { slidingWindow: { max: 1000, interval: 1s, per: group } } ]\n"),
              IsEmpty());
  EXPECT_THAT(faults_of("slidingWindow: { max: 10000, interval: 1s }"), IsEmpty());
}

TEST(FaultyLimits, are_more_than_sixteen) {
  const auto limits = [](int count) {
    std::string lines = "    limits:\n";
    for (int i = 0; i < count; ++i) lines += "      - pacer: { qps: 1, name: p" + std::to_string(i) + " }\n";
    return lines;
  };
  EXPECT_THAT(faults(limits(17)), ElementsAre(HasSubstr("limits in upstreams.a has more than 16 limits")));
  EXPECT_THAT(faults("    rate: 1/s\n" + limits(14)), IsEmpty());
  EXPECT_THAT(faults("    rate: 1/s\n" + limits(15)),
              ElementsAre(HasSubstr("limits in upstreams.a has more than 16 limits; rate: is two of them")));
}

TEST(RedisKeys, hold_user_password_and_tls) {
  const auto read = [](const std::string& keys) { return read_config("version: 1\nredis: { " + keys + " }\n", "f"); };
  const auto config = read("url: 'rediss://r1', user: me, password: 'a@b/c:%', tls: { ca: /a.pem, serverName: r2 }");
  ASSERT_TRUE(config) << to_string(config.error()[0]);
  EXPECT_EQ(config->redis.front().user, "me");
  EXPECT_EQ(config->redis.front().password, "a@b/c:%");
  EXPECT_EQ(config->redis.front().tls, (RedisTlsConfig{.ca = "/a.pem", .server_name = "r2"}));
  const auto fault = [&](const std::string& keys) {
    const auto wrong = read(keys);
    return wrong ? std::string() : to_string(wrong.error()[0]);
  };
  EXPECT_EQ(fault("url: 'redis://me:x@r1', user: me"),
            "f:2:40: user in redis is given in url, too; write it in one place");
  EXPECT_EQ(fault("url: 'redis://:x@r1', password: x"),
            "f:2:42: password in redis is given in url, too; write it in one place");
  EXPECT_EQ(fault("url: 'redis://r1', user: me"), "f:2:35: user in redis has no password beside it");
  EXPECT_EQ(fault("url: 'redis://r1', password: ''"), "f:2:39: password in redis is empty; leave it out to have none");
  EXPECT_EQ(fault("url: 'redis://r1', tls: {}"), "f:2:34: tls in redis is for a url that begins with rediss");
  const auto by_sentinel = read("url: 'redis+sentinel://s1/m', sentinel: { user: me, password: x }");
  ASSERT_TRUE(by_sentinel) << to_string(by_sentinel.error()[0]);
  EXPECT_EQ(by_sentinel->redis.front().sentinel->user, "me");
  EXPECT_EQ(by_sentinel->redis.front().sentinel->password, "x");
  EXPECT_THAT(fault("url: 'redis+sentinel://s1/m', sentinel: { user: me }"), HasSubstr("has no password beside it"));
  EXPECT_THAT(fault("url: 'redis+sentinel://s1/a%20b'"), HasSubstr("has a name of a master that is not letters"));
  EXPECT_THAT(fault("url: 'redis://r1', sentinel: { password: x }"),
              HasSubstr("is for a url that begins with redis+sentinel://"));
  EXPECT_THAT(fault("url: 'rediss://r1', tls: { clientCert: a.pem }"), HasSubstr("has no clientKey beside it"));
  EXPECT_THAT(fault("url: 'rediss://r1', tls: { cert: a.pem }"), HasSubstr("cert"));
}

TEST(FaultyRedis, is_told_where_and_why) {
  const auto faults_of_redis = [](const std::string& keys) {
    const auto config = read_config("version: 1\nredis: { " + keys + " }\n", "f");
    return config ? std::string() : to_string(config.error().at(0));
  };
  EXPECT_EQ(faults_of_redis("prefix: x"), "f:2:8: redis has no url, as in url: redis://127.0.0.1:6379/0");
  EXPECT_THAT(faults_of_redis("url: 'redis-cluster://r1'"),
              StartsWith("f:2:15: url in redis: Redis Cluster is written redis+cluster://host:6379,host:6379"));
  std::string many = "redis+cluster://r0";
  for (int i = 1; i <= 16; ++i) many += ",r" + std::to_string(i);
  EXPECT_THAT(faults_of_redis("url: '" + many + "'"), HasSubstr("must have 1 to 16 nodes"));
  EXPECT_THAT(faults_of_redis("url: 'redis://r1', prefix: 'a{b}'"),
              StartsWith("f:2:37: prefix in redis must be at most 64"));
  EXPECT_THAT(faults_of_redis("url: 'redis://r1', timeout: 0s"),
              StartsWith("f:2:38: timeout in redis is 0s; it must be"));
  EXPECT_THAT(faults_of_redis("url: 'redis://r1', whenDown: panic"),
              "f:2:39: whenDown in redis must be share, wait, open or refuse");
  EXPECT_EQ(faults_of_redis("url: 'redis://r1', whenDown: hold"), "f:2:39: whenDown in redis: hold is now called wait");
  EXPECT_EQ(faults_of_redis("url: 'redis://r1', secret: ''"),
            "f:2:37: secret in redis is empty; leave it out to have none");
  EXPECT_EQ(
      faults_of_redis("url: 'redis://r1', secret: fifteen-letters"),
      "f:2:37: secret in redis must be at least 16 characters, for a shorter one can be guessed: openssl rand -hex 16");
}

TEST(FaultyRedis, of_several_is_told_by_its_name) {
  const auto faults = [](const std::string& text) {
    const auto config = read_config("version: 1\n" + text, "f");
    std::vector<std::string> all;
    if (!config) {
      for (const auto& error : config.error()) all.push_back(to_string(error));
    }
    return all;
  };
  EXPECT_THAT(faults("redis: { main: { url: redis://r1 }, eu: { prefix: x } }\n"),
              ElementsAre("f:2:37: redis.eu has no url, as in url: redis://127.0.0.1:6379/0"));
  EXPECT_THAT(faults("redis: { main: { url: redis://r1 }, eu: { url: redis://r2, timeout: 0s } }\n"),
              ElementsAre(HasSubstr("f:2:69: timeout in redis.eu is 0s; it must be")));
  EXPECT_THAT(faults("redis: { 'a b': { url: redis://r1 } }\n"),
              ElementsAre("f:2:10: the name 'a b' of a Redis must be at most 64 letters, digits and _.-"));
  EXPECT_THAT(faults("redis: { main: { url: redis://r1 }, main: { url: redis://r2 } }\n"),
              ElementsAre(HasSubstr("f:2:37: duplicate key 'main' in redis")));
  EXPECT_THAT(faults("redis: { main: { url: redis://r1 }, eu: redis://r2 }\n"),
              ElementsAre("f:2:41: eu in redis must hold keys, as in 'key: value'; write eu: { url: redis://r2 }"));
  EXPECT_THAT(faults("redis: { url: redis://r1, eu: { url: redis://r2 } }\n"),
              ElementsAre("f:2:27: 'eu' stands beside keys of a single Redis; give all a name, as in redis: { main: { "
                          "url: … }, eu: { url: … } }"));
  EXPECT_THAT(
      faults("redis: { main: { url: 'rediss://r1', tls: { clientCert: a.pem } }, eu: { url: redis://r2, tls: {} } }\n"),
      ElementsAre(HasSubstr("in redis.main.tls has no clientKey beside it"),
                  HasSubstr("tls in redis.eu is for a url that begins with rediss")));
  EXPECT_THAT(faults("redis: {}\n"), ElementsAre("f:2:8: redis has no url, as in url: redis://127.0.0.1:6379/0"));
}

TEST(FaultyRedis, is_named_by_an_upstream_and_is_not_there) {
  const auto fault = [](const std::string& redis, const std::string& name) {
    const auto config =
        read_config("version: 1\n" + redis + "upstreams:\n  a: { match: a.test, redis: " + name + " }\n", "f");
    return config ? std::string() : to_string(config.error().at(0));
  };
  const std::string two = "redis: { main: { url: redis://r1 }, eu: { url: redis://r2 } }\n";
  EXPECT_EQ(fault(two, "mian"), "f:4:30: redis in upstreams.a: there is no Redis 'mian'; did you mean 'main'?");
  EXPECT_EQ(fault(two, "asia"), "f:4:30: redis in upstreams.a: there is no Redis 'asia'; there are: main, eu");
  EXPECT_EQ(fault("", "main"), "f:3:30: redis in upstreams.a is 'main', but there is no Redis at all; set redis.url");
  EXPECT_EQ(fault(two, "eu"), "");
  Config config;
  config.redis = {{.name = "a"}, {.name = "a"}};
  ASSERT_EQ(validate(config).size(), 1u);
  EXPECT_EQ(validate(config)[0].message, "there are two Redis named 'a'");
}

// Limits that no file gives.

std::vector<std::string> faults_in(UpstreamSettings settings) {
  Config config;
  config.upstreams = {{"a", {parse_match("a.com").value()}, std::move(settings)}};
  std::vector<std::string> all;
  for (const auto& error : validate(config)) all.push_back(to_string(error));
  return all;
}

TEST(LimitsByHand, need_no_name) {
  EXPECT_THAT(faults_in({.limits = {{PacerConfig{5}}, {WindowConfig{1, 1s}}}}), IsEmpty());
  EXPECT_THAT(faults_in({.limits = {{PacerConfig{5}}, {PacerConfig{6}}}}), ElementsAre(HasSubstr("are named 'pacer'")));
}

TEST(LimitsByHand, are_held_against_the_same_bounds) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double qps : {0.0, -1.0, kNan, kInfinity})
    EXPECT_EQ(faults_in({.limits = {{PacerConfig{qps}}}}).size(), 1u) << qps;
  for (const double factor : {0.0, -1.0, kNan, kInfinity})
    EXPECT_EQ(faults_in({.limits = {{PacerConfig{1, 0, factor}}}}).size(), 1u) << factor;
  EXPECT_THAT(faults_in({.limits = {{WindowConfig{-1, -1s}}}}),
              ElementsAre(HasSubstr("reservoir in upstreams.a.limits.window is -1"),
                          HasSubstr("interval in upstreams.a.limits.window is negative")));
}

TEST(LimitsByHand, have_a_group_that_could_be_written) {
  using By = GroupRule::By;
  EXPECT_THAT(faults_in({.group = GroupRule{By::path, "/x"}}), ElementsAre(HasSubstr("no part is braced")));
  EXPECT_THAT(faults_in({.group = GroupRule{By::path, "/{x}/"}}), ElementsAre(HasSubstr("not in its plain form")));
  EXPECT_THAT(faults_in({.group = GroupRule{By::host, "x"}}), ElementsAre(HasSubstr("not in its plain form")));
}

}  // namespace
}  // namespace penstock
