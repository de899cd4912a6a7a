// SPDX-License-Identifier: Apache-2.0
// A real Redis that works: ways to it, scripts, messages.
#include "redis/client/redis.h"

#include <gmock/gmock.h>

#include <thread>

#include "redis/redis_fixture.h"
#include "support/redis_server.h"
#include "support/sockets.h"

namespace penstock::redis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RedisTest : public RedisFixture {
 protected:
  RedisTest() { config_.timeout = 2s; }  // nothing here is about a Redis that is late
  test::RedisServer server_;
};

class RedisWithOptions : public RedisFixture {
 protected:
  RedisWithOptions() { config_.timeout = 2s; }
};

TEST_F(RedisTest, calls_a_script_and_brings_its_answer) {
  open(server_.port());
  ASSERT_TRUE(comes_up());
  EXPECT_EQ(answer_to(kEcho, {"hello"}), "hello");
  EXPECT_EQ(answer_to(kCount, {}, {"n"}), "1");
  EXPECT_EQ(answer_to(kCount, {}, {"n"}), "2");
  EXPECT_THAT(notices_, IsEmpty());
}

TEST_F(RedisTest, is_down_until_it_has_come_up) {
  open(server_.port());
  EXPECT_FALSE(redis_->up());
  EXPECT_EQ(answer_to(kEcho, {"hello"}), "down");
  ASSERT_TRUE(comes_up());
  EXPECT_EQ(ups_, 1);
  EXPECT_EQ(downs_, 0);
}

TEST_F(RedisTest, brings_answers_in_the_order_of_the_calls) {
  open(server_.port());
  ASSERT_TRUE(comes_up());
  std::vector<std::string> answers;
  for (int i = 0; i < 200; ++i) {
    const std::string number = std::to_string(i), large(i == 100 ? 300'000 : 0, 'x');
    const std::string_view words[] = {i == 100 ? large : number};
    redis_->call(kEcho, {}, words, [&](const Outcome& outcome, std::int64_t) { answers.push_back(told(outcome)); });
  }
  ASSERT_TRUE(run_.run_until([&] { return answers.size() == 200; }));
  for (int i = 0; i < 200; ++i) {
    if (i != 100) {
      EXPECT_EQ(answers[static_cast<std::size_t>(i)], std::to_string(i));
    }
  }
  EXPECT_EQ(answers[100].size(), 300'000u);
}

TEST_F(RedisTest, tells_when_a_call_was_sent_and_how_long_each_took) {
  open(server_.port());
  ASSERT_TRUE(comes_up());
  round_trips_.clear();
  const auto calls = redis_->counts().calls;
  const auto before = run_.loop.now();
  std::int64_t sent_at = 0;
  const std::string_view words[] = {"x"};
  redis_->call(kEcho, {}, words, [&](const Outcome&, std::int64_t sent) { sent_at = sent; });
  ASSERT_TRUE(run_.run_until([&] { return sent_at != 0; }));
  EXPECT_GE(sent_at, before);
  ASSERT_EQ(round_trips_.size(), 1u);
  EXPECT_GT(round_trips_[0], 0);
  EXPECT_LE(sent_at + round_trips_[0], run_.loop.now());
  EXPECT_EQ(redis_->counts().calls, calls + 1);
}

/// A call is sent at the end of the loop's iteration. Here that lasts longer than Redis has to answer.
TEST_F(RedisTest, has_its_time_from_when_a_call_is_sent) {
  config_.timeout = 500ms;
  open(server_.port());
  ASSERT_TRUE(comes_up());
  std::string answer;
  redis_->call(kSlow, {}, {}, [&](const Outcome& outcome, std::int64_t) { answer = told(outcome); });
  std::this_thread::sleep_for(config_.timeout + 50ms);
  ASSERT_TRUE(run_.run_until([&] { return !answer.empty(); }));
  EXPECT_EQ(answer, "slow");
}

TEST_F(RedisTest, speaks_through_a_unix_socket) {
  config_.path = server_.socket();
  open();
  ASSERT_TRUE(comes_up());
  EXPECT_EQ(answer_to(kEcho, {"hello"}), "hello");
}

TEST_F(RedisTest, is_found_by_name_though_it_does_not_listen_on_every_address_of_it) {
  config_.host = "localhost";
  open(server_.port());
  ASSERT_TRUE(comes_up());
  EXPECT_EQ(answer_to(kEcho, {"hello"}), "hello");
}

TEST_F(RedisTest, keeps_to_its_database) {
  config_.database = 3;
  open(server_.port());
  ASSERT_TRUE(comes_up());
  EXPECT_EQ(answer_to(kCount, {}, {"n"}), "1");
  EXPECT_THAT(server_.run({"INFO", "keyspace"}).text, HasSubstr("db3:"));
  EXPECT_EQ(server_.run({"EXISTS", "n"}).integer, 0);
}

TEST_F(RedisTest, loads_scripts_again_that_were_flushed_and_runs_them_once) {
  open(server_.port());
  ASSERT_TRUE(comes_up());
  server_.run({"SCRIPT", "FLUSH", "SYNC"});
  std::vector<std::string> answers;
  const std::string_view keys[] = {"n"};
  for (int i = 0; i < 3; ++i) {
    redis_->call(kCount, keys, {}, [&](const Outcome& outcome, std::int64_t) { answers.push_back(told(outcome)); });
  }
  ASSERT_TRUE(run_.run_until([&] { return answers.size() == 3; }));
  EXPECT_THAT(answers, ElementsAre("1", "2", "3"));
  EXPECT_EQ(downs_, 0);
  EXPECT_EQ(redis_->counts().of(FailureKind::noscript), 0u);
}

TEST_F(RedisTest, hears_what_is_published_for_it) {
  open(server_.port());
  ASSERT_TRUE(comes_up());
  ASSERT_TRUE(run_.run_until([&] { return server_.run({"PUBLISH", "penstock:to:me", "github line"}).integer == 1; }));
  server_.run({"PUBLISH", "penstock:to:another", "not for us"});
  server_.run({"PUBLISH", "penstock:to:me", "message"});
  ASSERT_TRUE(run_.run_until([&] { return messages_.size() >= 2; }));
  EXPECT_THAT(messages_, ElementsAre("github line", "message"));
}

TEST_F(RedisTest, fails_one_call_where_one_key_is_to_blame) {
  open(server_.port());
  ASSERT_TRUE(comes_up());
  server_.run({"LPUSH", "list", "x"});
  EXPECT_EQ(answer_to(kCount, {}, {"list"}), "!wrongtype");
  EXPECT_TRUE(redis_->up());
  EXPECT_EQ(redis_->counts().of(FailureKind::wrongtype), 1u);
  EXPECT_EQ(failures_, 1);
  EXPECT_EQ(answer_to(kEcho, {"hello"}), "hello");
}

TEST_F(RedisTest, answers_nobody_once_it_is_gone) {
  open(server_.port());
  ASSERT_TRUE(comes_up());
  bool answered = false;
  const std::string_view words[] = {"x"};
  redis_->call(kEcho, {}, words, [&](const Outcome&, std::int64_t) { answered = true; });
  redis_.reset();
  run_.run_for(20'000);
  EXPECT_FALSE(answered);
}

TEST_F(RedisWithOptions, logs_in_with_a_password) {
  const test::RedisServer server({"--requirepass", "se cret"});
  config_.password = "se cret";
  open(server.port());
  ASSERT_TRUE(comes_up());
  EXPECT_EQ(answer_to(kEcho, {"hello"}), "hello");
}

TEST_F(RedisWithOptions, says_that_the_password_is_wrong) {
  const test::RedisServer server({"--requirepass", "secret"});
  config_.password = "guess";
  open(server.port());
  ASSERT_TRUE(run_.run_until([&] { return !notices_.empty(); }));
  EXPECT_EQ(notices_[0].level, LogLevel::warn);
  EXPECT_THAT(notices_[0].text, HasSubstr("WRONGPASS"));
  EXPECT_GE(redis_->counts().of(FailureKind::noauth), 1u);
  EXPECT_FALSE(redis_->up());
}

TEST_F(RedisWithOptions, says_that_a_password_is_missing) {
  const test::RedisServer server({"--requirepass", "secret"});
  open(server.port());
  ASSERT_TRUE(run_.run_until([&] { return !notices_.empty(); }));
  EXPECT_THAT(notices_[0].text, HasSubstr("NOAUTH"));
}

TEST_F(RedisWithOptions, refuses_a_cluster_and_says_how_to_write_one) {
  const test::HeldPort bus;
  const test::RedisServer server({"--cluster-enabled", "yes", "--cluster-port", std::to_string(bus.number())});
  open(server.port());
  ASSERT_TRUE(run_.run_until([&] { return !notices_.empty(); }));
  EXPECT_THAT(notices_[0].text, HasSubstr("it is a Redis Cluster: write redis+cluster://HOST:6379 in redis.url"));
  EXPECT_FALSE(redis_->up());
}

}  // namespace
}  // namespace penstock::redis
