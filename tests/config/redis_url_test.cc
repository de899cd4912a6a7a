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

TEST(RedisUrl, says_what_is_not_supported_yet_and_what_to_use_instead) {
  EXPECT_THAT(redis_url_refusal("rediss://r1"), HasSubstr("TLS to Redis is not supported yet; use redis://"));
  EXPECT_THAT(redis_url_refusal("redis-sentinel://r1,r2/main"),
              HasSubstr("Sentinel is not supported yet; write the address"));
  EXPECT_THAT(redis_url_refusal("redis+sentinel://r1"), HasSubstr("Sentinel is not supported yet; write the address"));
  EXPECT_THAT(redis_url_refusal("redis-cluster://r1"),
              HasSubstr("Cluster is not supported yet; use a Redis of its own"));
}

TEST(RedisUrl, says_what_is_wrong) {
  EXPECT_EQ(redis_url_refusal("127.0.0.1:6379"), "it must begin with redis:// or unix://");
  EXPECT_EQ(redis_url_refusal("http://r1"), "it must begin with redis:// or unix://");
  EXPECT_EQ(redis_url_refusal(""), "it must begin with redis:// or unix://");
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
       {"redis://s3cret:s3cret@r1:x", "redis://:s3cret@r1/x", "redis://:s3cret/%@r1", "rediss://:s3cret@r1",
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
