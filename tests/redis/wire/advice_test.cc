// SPDX-License-Identifier: Apache-2.0
// What people are told to do names the keys and the scheme of the configuration that the failure is about.
#include "redis/wire/advice.h"

#include <gtest/gtest.h>

#include "redis/wire/sentinel.h"

namespace penstock::redis {
namespace {

constexpr auto kToSentinel = Greeting::Server::sentinel;

RedisConfig named(const std::string& name) { return {.name = name}; }
RedisConfig by_sentinel(const std::string& name = "default") {
  RedisConfig config{.name = name};
  config.sentinel = {.hosts = {{"s1", 26379}}, .master = "mymaster"};
  return config;
}
RedisConfig of_cluster() {
  RedisConfig config;
  config.cluster = {{"r1", 6379}};
  return config;
}
RedisConfig over_tls(RedisConfig config) {
  config.tls = RedisTlsConfig{};
  return config;
}
std::string told(Advice advice, const RedisConfig& config, Greeting::Server server = Greeting::Server::redis) {
  return advised({FailureKind::error, "It", advice}, config, server).text;
}

TEST(Advice, to_log_in_names_the_keys_of_the_server_that_refused) {
  const auto wrong = failure_of("WRONGPASS no.");
  EXPECT_EQ(advised(wrong, {}).text, "WRONGPASS no. See redis.user and redis.password");
  EXPECT_EQ(advised(wrong, named("us")).text, "WRONGPASS no. See redis.us.user and redis.us.password");
  EXPECT_EQ(advised(wrong, by_sentinel()).text, "WRONGPASS no. See redis.user and redis.password");
  EXPECT_EQ(advised(wrong, as_sentinel(by_sentinel("us")), kToSentinel).text,
            "WRONGPASS no. See redis.us.sentinel.user and redis.us.sentinel.password");
  EXPECT_EQ(
      advised(failure_of("NOAUTH Authentication required."), as_sentinel(by_sentinel()), kToSentinel).text,
      "NOAUTH Authentication required. Set redis.sentinel.password, and redis.sentinel.user if it is not the user "
      "default");
}

TEST(Advice, about_tls_keeps_to_the_way_to_redis) {
  EXPECT_EQ(told(Advice::no_tls, over_tls({})), "It; where it does not speak TLS, write redis:// in redis.url");
  EXPECT_EQ(told(Advice::no_tls, over_tls(of_cluster())),
            "It; where it does not speak TLS, write redis+cluster:// in redis.url");
  EXPECT_EQ(told(Advice::no_tls, as_sentinel(over_tls(by_sentinel("us"))), kToSentinel),
            "It; where it does not speak TLS, write redis+sentinel:// in redis.us.url");
  EXPECT_EQ(told(Advice::tls, of_cluster()), "It: write rediss+cluster:// in redis.url");
  EXPECT_EQ(told(Advice::reset, as_sentinel(by_sentinel()), kToSentinel),
            "It; where it speaks TLS, write rediss+sentinel:// in redis.url");
  EXPECT_EQ(told(Advice::reset, over_tls(named("us"))),
            "It; perhaps it demands a client certificate (redis.us.tls.clientCert, clientKey)");
  EXPECT_EQ(told(Advice::reset, {.path = "/run/redis"}), "It");
}

TEST(Advice, about_another_kind_of_server_says_how_that_is_written) {
  EXPECT_EQ(told(Advice::cluster, over_tls({})), "It: write rediss+cluster://HOST:6379 in redis.url");
  EXPECT_EQ(told(Advice::sentinel, {}), "It: write redis+sentinel://HOST:26379/MASTER in redis.url");
  EXPECT_EQ(told(Advice::no_cluster, of_cluster()), "It: write redis:// in redis.url");
  EXPECT_EQ(told(Advice::no_sentinel, as_sentinel(by_sentinel()), kToSentinel),
            "It: name its sentinels in redis.url, or write redis://HOST:6379 for this Redis alone");
}

TEST(Advice, about_a_replica_is_given_where_only_people_can_help) {
  const auto why = failure_of("READONLY You can't write against a read only replica.");
  EXPECT_EQ(advised(why, {}).text,
            "READONLY You can't write against a read only replica. It is a replica: name its master in redis.url, or "
            "write redis+sentinel://HOST:26379/MASTER");
  EXPECT_EQ(advised(why, by_sentinel()).text, why.text);
}

TEST(Advice, is_given_once) {
  const auto once = advised(failure_of("WRONGPASS no."), {});
  EXPECT_EQ(advised(once, {}).text, once.text);
}

}  // namespace
}  // namespace penstock::redis
