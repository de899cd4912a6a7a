// SPDX-License-Identifier: Apache-2.0
// Whoever answers in Redis' place, whatever it says: the call fails, the connection is dropped, memory is bounded.
#include <gmock/gmock.h>

#include "redis/fake_redis.h"
#include "redis/redis_fixture.h"

namespace penstock::redis {
namespace {

using testing::HasSubstr;

class HostileTest : public RedisFixture {
 protected:
  HostileTest() { config_.timeout = 500ms; }  // no busy machine takes as long
  /// On its first connection scripts are answered like this, on all later ones with 7.
  std::string first_answer(const std::string& answer) {
    test::Origin server(greeting([answer](const Command& words, int number) -> std::string {
      if (words[0] != "EVALSHA") return "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n";
      return number == 1 ? answer : ":7\r\n";
    }));
    open(server.port());
    EXPECT_TRUE(comes_up());
    const std::string told = answer_to(kEcho, {"x"});
    EXPECT_TRUE(comes_up());
    EXPECT_EQ(answer_to(kEcho, {"x"}), "7");
    redis_.reset();
    return told;
  }
};

TEST_F(HostileTest, answers_in_another_protocol_end_the_connection) {
  EXPECT_EQ(first_answer("HTTP/1.1 400 Bad Request\r\n\r\n"), "!protocol");
  EXPECT_EQ(downs_, 1);
}

TEST_F(HostileTest, a_gigabyte_is_not_waited_for) {
  config_.timeout = 5s;  // what is read of it takes a while
  EXPECT_EQ(first_answer("$1073741824\r\n" + std::string(4 * 1024 * 1024, 'x')), "!protocol");
}

TEST_F(HostileTest, arrays_without_end_are_not_waited_for) {
  std::string many;
  for (int i = 0; i < 200'000; ++i) many += ":1\r\n";
  EXPECT_EQ(first_answer("*1000000000\r\n" + many), "!protocol");
}

TEST_F(HostileTest, nests_are_not_followed_down) {
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "*1\r\n";
  EXPECT_EQ(first_answer(deep), "!protocol");
}

TEST_F(HostileTest, two_answers_to_one_call_end_the_connection) {
  EXPECT_EQ(first_answer(":1\r\n:2\r\n"), "1");
  EXPECT_EQ(downs_, 1);
}

TEST_F(HostileTest, a_redirection_says_that_it_is_a_cluster) {
  EXPECT_EQ(first_answer("-MOVED 3999 127.0.0.1:6381\r\n"), "!unsupported");
  EXPECT_THAT(notices_[0].text, HasSubstr("it is a Redis Cluster: write redis+cluster://HOST:6379 in redis.url"));
}

TEST_F(HostileTest, a_script_that_is_lost_time_and_again_is_loaded_once_per_call) {
  test::Origin server(greeting([](const Command&, int) { return "-NOSCRIPT No matching script.\r\n"; }));
  open(server.port());
  ASSERT_TRUE(comes_up());
  const auto calls = redis_->counts().calls;
  EXPECT_EQ(answer_to(kEcho, {"x"}), "!noscript");
  EXPECT_EQ(redis_->counts().calls - calls, 3u);
}

TEST_F(HostileTest, each_way_in_which_redis_can_not_serve_takes_it_down_and_is_counted_by_name) {
  for (const std::string code : {"LOADING", "MASTERDOWN", "MISCONF", "CLUSTERDOWN", "TRYAGAIN", "NOAUTH"}) {
    std::string name = code;
    for (char& letter : name) letter = static_cast<char>(std::tolower(letter));
    EXPECT_EQ(first_answer("-" + code + " because\r\n"), "!" + name);
  }
  EXPECT_EQ(downs_, 6);
}

TEST_F(HostileTest, a_sentinel_is_refused_with_how_to_write_it) {
  test::Origin server([](test::Origin&, test::Socket& peer, int) {
    const std::string info = "redis_mode:sentinel\r\n";
    if (next_command(peer).empty()) return;
    peer.send("$" + std::to_string(info.size()) + "\r\n" + info + "\r\n");
    peer.read_to_end();
  });
  open(server.port());
  ASSERT_TRUE(run_.run_until([&] { return !notices_.empty(); }));
  EXPECT_THAT(notices_[0].text, HasSubstr("it is a Sentinel: write redis+sentinel://HOST:26379/MASTER in redis.url"));
  redis_.reset();
}

TEST_F(HostileTest, one_attempt_is_made_at_a_time_and_ever_fewer) {
  test::Origin server([](test::Origin&, test::Socket&, int) {});  // closes each
  open(server.port());
  run_.run_for(1'000'000);
  EXPECT_GE(server.connections(), 4);
  EXPECT_LE(server.connections(), 9);
  redis_.reset();
}

TEST_F(HostileTest, one_that_accepts_and_says_nothing_is_given_up) {
  test::Origin server([](test::Origin&, test::Socket& peer, int) { peer.read_to_end(); });
  open(server.port());
  ASSERT_TRUE(run_.run_until([&] { return redis_->counts().of(FailureKind::timeout) > 0; }));
  EXPECT_EQ(server.connections(), 1);
  redis_.reset();
}

}  // namespace
}  // namespace penstock::redis
