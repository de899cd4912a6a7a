// SPDX-License-Identifier: Apache-2.0
// What is said first, and which servers are refused.
#include "redis/wire/greeting.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "redis/wire/command.h"

namespace penstock::redis {
namespace {

class GreetingTest : public testing::Test {
 protected:
  std::expected<std::string, Failure> hears(const std::string& text) {
    const std::string bytes = text.starts_with('-') || text.starts_with('+')
                                  ? text + "\r\n"
                                  : "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
    EXPECT_TRUE(reader_.feed(bytes));
    EXPECT_EQ(reader_.next(), ReplyReader::Found::reply);
    const Reply reply = reader_.reply();
    return greeting_.next(reply.is_error() ? Outcome(std::unexpected(failure_of(reply.text()))) : Outcome(reply));
  }

  /// The last command: for people, who read CLIENT LIST.
  static std::string name() { return command({"CLIENT", "SETNAME", "penstock:" + std::to_string(::getpid())}); }

  RedisConfig config_;
  ReplyReader reader_;
  Greeting greeting_{config_, true};
};

TEST_F(GreetingTest, asks_which_server_it_is) {
  EXPECT_EQ(greeting_.begin(), (std::vector{command({"INFO", "server"}), name()}));
  EXPECT_FALSE(greeting_.done());
  EXPECT_EQ(hears("# Server\r\nredis_mode:standalone\r\nrun_id:0123456789abcdef0123\r\n"), "");
  EXPECT_FALSE(greeting_.done());
  EXPECT_EQ(hears("+OK"), "");
  EXPECT_TRUE(greeting_.done());
  EXPECT_EQ(greeting_.server_id(), "0123456789abcdef");
  EXPECT_EQ(greeting_.no_info(), "");
}

TEST_F(GreetingTest, logs_in_first_and_chooses_the_database_last) {
  config_.user = "me", config_.password = "secret", config_.database = 3;
  EXPECT_EQ(greeting_.begin(), (std::vector{command({"AUTH", "me", "secret"}), command({"INFO", "server"}),
                                            command({"SELECT", "3"}), name()}));
  EXPECT_EQ(hears("+OK"), "");
  EXPECT_EQ(hears("run_id:a\r\n"), "");
  EXPECT_FALSE(greeting_.done());
  EXPECT_EQ(hears("+OK"), "");
  EXPECT_EQ(hears("+OK"), "");
  EXPECT_TRUE(greeting_.done());
}

TEST_F(GreetingTest, goes_on_where_it_may_have_no_name) {
  greeting_.begin();
  hears("run_id:a\r\n");
  EXPECT_EQ(hears("-NOPERM this user has no permissions to run the 'client|setname' command"), "");
  EXPECT_TRUE(greeting_.done());
}

TEST_F(GreetingTest, asks_once_more_where_the_server_has_no_id) {
  greeting_.begin();
  EXPECT_EQ(hears("redis_mode:standalone\r\n"), command({"INFO", "replication"}));
  EXPECT_EQ(hears("+OK"), "");
  EXPECT_FALSE(greeting_.done());
  EXPECT_EQ(hears("master_replid:beef\r\n"), "");
  EXPECT_TRUE(greeting_.done());
  EXPECT_EQ(greeting_.server_id(), "beef");
}

TEST_F(GreetingTest, goes_on_where_info_is_refused) {
  greeting_.begin();
  EXPECT_EQ(hears("-NOPERM this user has no permissions to run the 'info' command"), "");
  EXPECT_EQ(hears("+OK"), "");
  EXPECT_TRUE(greeting_.done());
  EXPECT_EQ(greeting_.server_id(), "");
  EXPECT_NE(greeting_.no_info(), "");
}

TEST_F(GreetingTest, marks_the_id_of_a_node_of_a_cluster) {
  config_.cluster = {{"r1", 6379}};
  greeting_.begin();
  EXPECT_EQ(hears("redis_mode:cluster\r\nrun_id:0123456789abcdef0123\r\n"), "");
  EXPECT_EQ(greeting_.server_id(), "c-0123456789abcdef");
}

TEST_F(GreetingTest, refuses_a_cluster_that_the_configuration_does_not_expect) {
  greeting_.begin();
  const auto next = hears("redis_mode:cluster\r\nrun_id:0123456789abcdef0123\r\n");
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().text, kIsCluster);
}

TEST_F(GreetingTest, refuses_a_redis_that_is_too_old) {
  greeting_.begin();
  const auto next = hears("redis_version:4.0.14\r\nredis_mode:standalone\r\nrun_id:0123456789abcdef0123\r\n");
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().kind, FailureKind::unsupported);
  EXPECT_EQ(next.error().text, "it is Redis 4.0.14, and Penstock needs 5.0 or a later one: replace it");
}

class GreetingOfVersion : public GreetingTest, public testing::WithParamInterface<std::string> {};

TEST_P(GreetingOfVersion, that_is_not_too_old_or_not_told_goes_on) {
  greeting_.begin();
  EXPECT_TRUE(hears(GetParam() + "run_id:0123456789abcdef0123\r\n"));
}

INSTANTIATE_TEST_SUITE_P(Each, GreetingOfVersion,
                         testing::Values("redis_version:5.0.0\r\n", "redis_version:10.1\r\n",
                                         "redis_version:unstable\r\n", ""));

TEST_F(GreetingTest, takes_no_id_that_could_do_harm_in_a_key) {
  greeting_.begin();
  hears("run_id:{x}:*\r\n");
  EXPECT_EQ(greeting_.server_id(), "");
}

TEST_F(GreetingTest, ends_where_the_password_is_wrong) {
  config_.password = "guess";
  greeting_.begin();
  const auto next = hears("-WRONGPASS invalid username-password pair");
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().kind, FailureKind::noauth);
}

}  // namespace
}  // namespace penstock::redis
