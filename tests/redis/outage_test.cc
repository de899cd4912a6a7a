// SPDX-License-Identifier: Apache-2.0
// A real Redis that is killed, frozen, full, read-only, busy: calls fail within their time, and it is up again within a
// second of its return.
#include <gmock/gmock.h>

#include "redis/in_time.h"
#include "redis/redis_fixture.h"
#include "support/redis_server.h"

namespace penstock::redis {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class OutageTest : public RedisFixture {
 protected:
  OutageTest() { config_.timeout = 500ms; }  // no busy machine takes as long
  void open_and_come_up() {
    open(server_.port());
    ASSERT_TRUE(comes_up());
  }
  void comes_up_within_a_second() {
    const auto since = run_.loop.now();
    ASSERT_TRUE(comes_up());
    EXPECT_TRUE(in_time(kSecond, since, run_.loop.now()));
    EXPECT_EQ(answer_to(kEcho, {"again"}), "again");
  }

  test::RedisServer server_;
};

TEST_F(OutageTest, of_one_that_is_down_at_the_start_ends_when_it_starts) {
  server_.stop();
  open(server_.port());
  ASSERT_TRUE(run_.run_until([&] { return redis_->counts().of(FailureKind::unreachable) >= 6; }));
  EXPECT_EQ(answer_to(kEcho, {"x"}), "down");
  server_.start();
  comes_up_within_a_second();
  EXPECT_EQ(downs_, 0);
}

TEST_F(OutageTest, of_a_unix_socket_that_is_not_there_ends_when_it_is) {
  config_.path = server_.socket();
  server_.stop();
  open();
  ASSERT_TRUE(run_.run_until([&] { return redis_->counts().of(FailureKind::unreachable) >= 3; }));
  server_.start();
  comes_up_within_a_second();
}

TEST_F(OutageTest, of_a_killed_one_fails_the_calls_under_way_and_all_others_at_once) {
  open_and_come_up();
  std::string answer;
  server_.pause();
  redis_->call(kHang, {}, {}, [&](const Outcome& outcome, std::int64_t) {
    EXPECT_EQ(downs_, 1);
    answer = told(outcome);
  });
  run_.run_for(5'000);
  server_.stop(SIGKILL);
  ASSERT_TRUE(run_.run_until([&] { return !answer.empty(); }));
  EXPECT_EQ(answer, "!lost");
  EXPECT_EQ(answer_to(kEcho, {"x"}), "down");
  run_.run_for(400'000);
  server_.start();
  comes_up_within_a_second();
}

TEST_F(OutageTest, of_one_that_goes_while_nothing_is_asked_is_noticed) {
  open_and_come_up();
  server_.stop();
  EXPECT_TRUE(goes_down());
}

TEST_F(OutageTest, of_a_frozen_one_fails_a_call_in_time_and_mixes_up_no_answers) {
  open_and_come_up();
  server_.pause();
  const auto since = run_.loop.now();
  EXPECT_EQ(answer_to(kEcho, {"old"}), "!timeout");
  EXPECT_GE(run_.loop.now() - since, config_.timeout.count());
  EXPECT_TRUE(in_time(config_.timeout.count() + 10'000, since, run_.loop.now()));
  EXPECT_EQ(answer_to(kEcho, {"x"}), "down");
  // Attempts to connect are taken by the kernel, and not answered.
  ASSERT_TRUE(run_.run_until([&] { return redis_->counts().of(FailureKind::timeout) >= 2; }));
  server_.resume();
  comes_up_within_a_second();
  EXPECT_EQ(answer_to(kEcho, {"new"}), "new");
}

TEST_F(OutageTest, is_not_seen_where_we_ourselves_were_late) {
  open_and_come_up();
  std::string answer;
  const std::string_view words[] = {"x"};
  redis_->call(kEcho, {}, words, [&](const Outcome& outcome, std::int64_t) { answer = told(outcome); });
  run_.run_for(0);  // sent
  const auto until = run_.loop.now() + 3 * config_.timeout.count();
  while (run_.loop.now() < until) continue;
  ASSERT_TRUE(run_.run_until([&] { return !answer.empty(); }));
  EXPECT_EQ(answer, "x");
  EXPECT_TRUE(redis_->up());
}

TEST_F(OutageTest, of_a_replica_ends_when_it_is_a_master_again) {
  open_and_come_up();
  server_.run({"REPLICAOF", "127.0.0.1", "1"});
  EXPECT_THAT(answer_to(kWrite, {"v"}, {"k"}), testing::AnyOf("!readonly", "!masterdown"));
  run_.run_for(300'000);
  EXPECT_FALSE(redis_->up());
  server_.run({"REPLICAOF", "NO", "ONE"});
  comes_up_within_a_second();
}

TEST_F(OutageTest, of_one_without_memory_ends_when_there_is_some) {
  open_and_come_up();
  server_.run({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(answer_to(kWrite, {"v"}, {"k"}), "!oom");
  run_.run_for(300'000);
  EXPECT_FALSE(redis_->up());
  server_.run({"CONFIG", "SET", "maxmemory", "0"});
  comes_up_within_a_second();
}

TEST_F(OutageTest, of_one_that_has_too_few_replicas_ends_when_it_needs_none) {
  open_and_come_up();
  server_.run({"CONFIG", "SET", "min-replicas-to-write", "1"});
  EXPECT_EQ(answer_to(kWrite, {"v"}, {"k"}), "!noreplicas");
  run_.run_for(300'000);
  EXPECT_FALSE(redis_->up());
  server_.run({"CONFIG", "SET", "min-replicas-to-write", "0"});
  comes_up_within_a_second();
}

TEST_F(OutageTest, of_one_that_is_busy_ends_when_the_script_is_killed) {
  open_and_come_up();
  server_.run({"CONFIG", "SET", "busy-reply-threshold", "10"});
  EXPECT_EQ(answer_to(kHang), "!timeout");
  ASSERT_TRUE(run_.run_until([&] { return redis_->counts().of(FailureKind::busy) > 0; }));
  server_.run({"SCRIPT", "KILL"});
  comes_up_within_a_second();
}

TEST_F(OutageTest, of_one_that_has_no_room_for_another_client_ends_when_it_has) {
  server_.run({"CONFIG", "SET", "maxclients", "1"});
  open(server_.port());
  ASSERT_TRUE(run_.run_until([&] { return !notices_.empty(); }));
  EXPECT_THAT(notices_[0].text, HasSubstr("max number of clients"));
  server_.run({"CONFIG", "SET", "maxclients", "100"});
  comes_up_within_a_second();
}

TEST_F(OutageTest, of_one_that_denies_our_scripts_does_not_make_it_come_and_go_without_end) {
  open_and_come_up();
  server_.run({"ACL", "SETUSER", "default", "-evalsha"});
  const auto until = run_.loop.now() + kSecond;
  while (run_.loop.now() < until) answer_to(kEcho, {"x"}), run_.run_for(1'000);
  EXPECT_GE(redis_->counts().of(FailureKind::noperm), 2u);
  EXPECT_LE(redis_->counts().of(FailureKind::noperm), 12u);
  EXPECT_LE(notices_.size(), 2u);
}

TEST_F(OutageTest, is_told_in_one_line_each_way) {
  open_and_come_up();
  server_.stop();
  ASSERT_TRUE(run_.run_until([&] { return redis_->counts().of(FailureKind::unreachable) >= 5; }));
  ASSERT_THAT(notices_, SizeIs(1));
  EXPECT_EQ(notices_[0].level, LogLevel::warn);
  EXPECT_THAT(notices_[0].text, HasSubstr("Redis at 127.0.0.1:" + std::to_string(server_.port()) + " is down: "));
  server_.start();
  comes_up_within_a_second();
  ASSERT_THAT(notices_, SizeIs(2));
  EXPECT_EQ(notices_[1].level, LogLevel::info);
  EXPECT_THAT(notices_[1].text, HasSubstr("is up again, after "));
}

TEST_F(OutageTest, does_not_end_the_hearing_of_messages_for_good) {
  open_and_come_up();
  server_.restart_empty();
  ASSERT_TRUE(goes_down());
  comes_up_within_a_second();
  ASSERT_TRUE(run_.run_until([&] { return server_.run({"PUBLISH", "penstock:to:me", "after"}).integer == 1; }));
  ASSERT_TRUE(run_.run_until([&] { return !messages_.empty(); }));
  EXPECT_EQ(messages_[0], "after");
}

TEST_F(OutageTest, of_the_hearing_alone_is_mended_while_calls_go_on) {
  open_and_come_up();
  ASSERT_TRUE(run_.run_until([&] { return server_.run({"PUBLISH", "penstock:to:me", "before"}).integer == 1; }));
  server_.run({"CLIENT", "KILL", "TYPE", "pubsub"});
  ASSERT_TRUE(run_.run_until([&] { return server_.run({"PUBLISH", "penstock:to:me", "after"}).integer == 1; }));
  ASSERT_TRUE(run_.run_until([&] { return messages_.size() >= 2; }));
  EXPECT_EQ(messages_.back(), "after");
  EXPECT_EQ(downs_, 0);
}

}  // namespace
}  // namespace penstock::redis
