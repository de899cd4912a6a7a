// SPDX-License-Identifier: Apache-2.0
// Where Redis may be, and that no password is ever repeated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "penstock/config.h"

namespace penstock {
namespace {

using testing::HasSubstr;
using testing::Not;

RedisConfig at(std::string_view url) {
  const auto redis = parse_redis_url(url);
  EXPECT_TRUE(redis) << url << ": " << redis.error();
  return redis.value_or(RedisConfig{});
}

std::string redis_url_refusal(std::string_view url) {
  const auto redis = parse_redis_url(url);
  return redis ? "taken as " + to_string(*redis) : redis.error();
}

TEST(RedisUrl, names_a_host_and_leaves_the_rest_to_the_defaults) {
  EXPECT_EQ(at("redis://127.0.0.1"), RedisConfig{});
  EXPECT_EQ(at("redis://127.0.0.1/"), RedisConfig{});
  EXPECT_EQ(at("redis://Redis.internal").host, "redis.internal");
}

TEST(RedisUrl, has_port_and_database) {
  const auto redis = at("redis://r1:6380/3");
  EXPECT_EQ(redis.host, "r1");
  EXPECT_EQ(redis.port, 6380);
  EXPECT_EQ(redis.database, 3);
  EXPECT_EQ(at("redis://[::1]:6380").host, "::1");
}

TEST(RedisUrl, has_a_password_with_or_without_a_user) {
  const auto redis = at("redis://me:s3cret@r1:6380/3");
  EXPECT_EQ(redis.user, "me");
  EXPECT_EQ(redis.password, "s3cret");
  EXPECT_EQ(redis.host, "r1");
  EXPECT_EQ(at("redis://:s3cret@r1").user, "");
  EXPECT_EQ(at("redis://:s3cret@r1").password, "s3cret");
  EXPECT_EQ(at("redis://:a@b@r1").password, "a@b");
}

TEST(RedisUrl, decodes_percent_signs) {
  const auto redis = at("redis://m%65:a%2Fb%40c%3a%25@r1");
  EXPECT_EQ(redis.user, "me");
  EXPECT_EQ(redis.password, "a/b@c:%");
  EXPECT_EQ(at("unix:///run/my%20redis").path, "/run/my redis");
}

TEST(RedisUrl, names_a_unix_socket) {
  EXPECT_EQ(at("unix:///run/redis@1.sock").path, "/run/redis@1.sock");
  const auto redis = at("unix://me:s3cret@/run/redis.sock?db=2");
  EXPECT_EQ(redis.path, "/run/redis.sock");
  EXPECT_EQ(redis.user, "me");
  EXPECT_EQ(redis.password, "s3cret");
  EXPECT_EQ(redis.database, 2);
}

TEST(RedisUrl, names_nodes_of_a_cluster) {
  const auto redis = at("redis+cluster://me:s3cret@r1,r2:6380,[::1]:6381");
  EXPECT_EQ(redis.cluster, (std::vector<Endpoint>{{"r1", 6379}, {"r2", 6380}, {"::1", 6381}}));
  EXPECT_EQ(redis.host, "r1");
  EXPECT_EQ(redis.port, 6379);
  EXPECT_EQ(redis.user, "me");
  EXPECT_EQ(redis.tls, std::nullopt);
  EXPECT_EQ(to_string(redis), "redis+cluster://r1:6379,r2:6380,[::1]:6381");
  EXPECT_EQ(at("rediss+cluster://r1").tls, RedisTlsConfig{});
  EXPECT_EQ(to_string(at("rediss+cluster://r1/")), "rediss+cluster://r1:6379");
  EXPECT_EQ(at("redis+cluster://r1/0").cluster.size(), 1u);
  EXPECT_TRUE(at("redis://r1").cluster.empty());
  for (const char* url : {"redis+cluster://", "redis+cluster://r1,", "redis+cluster://r1:x"})
    EXPECT_THAT(redis_url_refusal(url), HasSubstr("the hosts are not ones, as in redis+cluster://")) << url;
  for (const char* url : {"redis+cluster://r1/1", "redis+cluster://r1/main"})
    EXPECT_THAT(redis_url_refusal(url), HasSubstr("a Redis Cluster has the database 0 alone")) << url;
  for (const char* url : {"redis-cluster://r1", "cluster://r1"})
    EXPECT_EQ(redis_url_refusal(url), "Redis Cluster is written redis+cluster://host:6379,host:6379") << url;
}

TEST(RedisUrl, names_sentinels_and_their_master) {
  const auto redis = at("redis+sentinel://me:s3cret@s1,s2:26380,[::1]:26381/mymaster/3");
  ASSERT_TRUE(redis.sentinel);
  EXPECT_EQ(redis.sentinel->hosts, (std::vector<SentinelConfig::Host>{{"s1", 26379}, {"s2", 26380}, {"::1", 26381}}));
  EXPECT_EQ(redis.sentinel->master, "mymaster");
  EXPECT_EQ(redis.database, 3);
  EXPECT_EQ(redis.user, "me") << "of the master";
  EXPECT_EQ(redis.tls, std::nullopt);
  EXPECT_EQ(to_string(redis), "redis+sentinel://s1:26379,s2:26380,[::1]:26381/mymaster/3");
  EXPECT_EQ(at("rediss+sentinel://s1/m").tls, RedisTlsConfig{});
  for (const char* url : {"redis+sentinel://s1", "redis+sentinel://s1/", "redis+sentinel://s1//0"})
    EXPECT_THAT(redis_url_refusal(url), HasSubstr("the name of the master is missing")) << url;
  for (const char* url : {"redis+sentinel:///m", "redis+sentinel://s1,/m", "redis+sentinel://s1:x/m"})
    EXPECT_THAT(redis_url_refusal(url), HasSubstr("the hosts are not ones, as in redis+sentinel://")) << url;
  EXPECT_THAT(redis_url_refusal("redis+sentinel://s1/m/x"), HasSubstr("the database must be a number"));
  for (const char* url : {"redis-sentinel://s1/m", "sentinel://s1/m"})
    EXPECT_EQ(redis_url_refusal(url), "Sentinel is written redis+sentinel://host:26379,host:26379/MASTER") << url;
}

TEST(RedisUrl, asks_for_tls) {
  const auto redis = at("rediss://me:s3cret@r1");
  EXPECT_EQ(redis.tls, RedisTlsConfig{});
  EXPECT_EQ(redis.password, "s3cret");
  EXPECT_EQ(redis.port, 6379);
  EXPECT_EQ(at("redis://r1").tls, std::nullopt);
  EXPECT_EQ(to_string(redis), "rediss://r1:6379/0");
  EXPECT_EQ(redis_url_refusal("redis+tls://r1"), "TLS to Redis is written rediss://host:port");
}

TEST(RedisUrl, says_what_is_wrong) {
  EXPECT_EQ(redis_url_refusal("127.0.0.1:6379"),
            "it must begin with redis://, rediss:// (TLS), redis+sentinel://, redis+cluster:// or unix://");
  EXPECT_EQ(redis_url_refusal("http://r1"),
            "it must begin with redis://, rediss:// (TLS), redis+sentinel://, redis+cluster:// or unix://");
  EXPECT_EQ(redis_url_refusal(""),
            "it must begin with redis://, rediss:// (TLS), redis+sentinel://, redis+cluster:// or unix://");
  for (const char* url : {"redis://", "redis://:6379", "redis://r1:0", "redis://r1:65536", "redis://r1:x",
                          "redis://a b", "redis://*.r1", "redis://::1", "redis://user:p/ss@r1"}) {
    EXPECT_THAT(redis_url_refusal(url), HasSubstr("the host is not one, as in redis://127.0.0.1:6379/0")) << url;
  }
  for (const char* url : {"redis://r1/x", "redis://r1/-1", "redis://r1/0/1", "redis://r1/65536", "unix:///a?db=x"})
    EXPECT_THAT(redis_url_refusal(url), HasSubstr("the database must be a number")) << url;
  EXPECT_EQ(redis_url_refusal("redis://r1/0?timeout=3"), "redis:// takes no parameters after a ?");
  EXPECT_EQ(redis_url_refusal("unix:///a?timeout=3"), "unix:// takes no parameter but ?db=N");
  EXPECT_THAT(redis_url_refusal("unix://"), HasSubstr("the path of the socket is missing"));
  EXPECT_THAT(redis_url_refusal("unix://run/redis"), HasSubstr("the path of the socket is missing"));
  EXPECT_THAT(redis_url_refusal("unix:///" + std::string(107, 'a')), HasSubstr("at most 107 bytes"));
  for (const char* url : {"redis://me@r1", "redis://me:@r1", "redis://:@r1", "redis://@r1"})
    EXPECT_THAT(redis_url_refusal(url), HasSubstr("there is no password before the @")) << url;
  for (const char* url : {"redis://:a%@r1", "redis://:a%4@r1", "redis://:a%4g@r1", "redis://:%-1@r1", "unix:///a%"})
    EXPECT_THAT(redis_url_refusal(url), HasSubstr("a % must be followed by two hexadecimal digits")) << url;
}

TEST(RedisUrl, is_never_repeated_in_a_complaint) {
  for (const char* url :
       {"redis://s3cret:s3cret@r1:x", "redis://:s3cret@r1/x", "redis://:s3cret/%@r1", "rediss://:s3cret@r1/x",
        "redis://s3cret@r1", "unix://s3cret:s3cret@run", "redis://s3cret:s3cret%@r1", "s3cret"}) {
    ASSERT_FALSE(parse_redis_url(url)) << url;
    EXPECT_THAT(redis_url_refusal(url), Not(HasSubstr("s3cret"))) << url;
    const auto config = read_config("version: 1\nredis: { url: '" + std::string(url) + "' }\n", "f");
    ASSERT_FALSE(config);
    EXPECT_THAT(to_string(config.error().at(0)), Not(HasSubstr("s3cret")));
  }
}

TEST(RedisUrl, is_shown_without_user_and_password) {
  EXPECT_EQ(to_string(at("redis://me:s3cret@r1:6380/3")), "redis://r1:6380/3");
  EXPECT_EQ(to_string(at("redis://[::1]")), "redis://[::1]:6379/0");
  EXPECT_EQ(to_string(at("unix://me:s3cret@/run/redis.sock")), "unix:///run/redis.sock?db=0");
}

}  // namespace
}  // namespace penstock
