// SPDX-License-Identifier: Apache-2.0
// The simulated Redis by itself: its faults, what its clients are told of them, and what judges see.
#include "simulation/redis_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "simulation/redis_pair.h"

namespace penstock::simulation {
namespace {

using Memory = RedisServer::Memory;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kSecond = 1'000'000;

class SimulatedRedis : public testing::Test {
 protected:
  std::string run(const std::vector<std::string>& words) {
    if (connection_ == 0) connection_ = server_.connect(heard_);
    server_.feed(connection_, request(words));
    return heard_.take();
  }
  void connect_again() {
    heard_ = {};
    connection_ = server_.connect(heard_);
  }
  std::string load(const std::string& script) { return run({"SCRIPT", "LOAD", script}).substr(5, 40); }
  std::vector<std::string> keys() {
    std::vector<std::string> names;
    for (const auto& key : server_.keys()) names.push_back(key.key);
    return names;
  }

  std::int64_t now_ = SharedClock::kStart;
  RedisServer server_{[this] { return now_; }, "first"};
  Heard heard_;
  RedisServer::Connection connection_ = 0;
};

TEST_F(SimulatedRedis, tells_which_run_it_is) {
  EXPECT_NE(run({"INFO", "server"}).find("run_id:first\r\n"), std::string::npos);
  EXPECT_NE(run({"INFO"}).find("redis_mode:standalone\r\n"), std::string::npos);
  server_.stop();
  server_.start(Memory::kept, "second");
  connect_again();
  EXPECT_NE(run({"INFO", "server"}).find("run_id:second\r\n"), std::string::npos);
}

TEST_F(SimulatedRedis, that_stops_ends_all_connections_and_refuses_new_ones) {
  Heard other;
  server_.connect(other);
  run({"SET", "k", "v"});
  server_.stop();
  EXPECT_TRUE(heard_.closed && other.closed);
  EXPECT_EQ(server_.connections(), 0U);
  EXPECT_EQ(server_.connect(other), 0U);
  EXPECT_EQ(run({"GET", "k"}), "") << "its connection is no more";
}

TEST_F(SimulatedRedis, remembers_what_the_kind_of_start_says) {
  run({"SET", "saved", "v", "PX", "5000"});
  server_.save();
  run({"SET", "lost", "v"});
  const auto keys_after = [&](Memory memory) {
    server_.stop();
    server_.start(memory, "next");
    return keys();
  };
  EXPECT_THAT(keys_after(Memory::kept), ElementsAre("lost", "saved"));
  EXPECT_THAT(keys_after(Memory::snapshot), ElementsAre("saved"));
  EXPECT_EQ(server_.keys()[0].expires_in, 5000);
  EXPECT_THAT(keys_after(Memory::empty), IsEmpty());
  now_ += 6 * kSecond;
  EXPECT_THAT(keys_after(Memory::snapshot), IsEmpty()) << "its time has passed meanwhile";
}

TEST_F(SimulatedRedis, forgets_scripts_when_it_starts_or_is_told_to) {
  const std::string digest = load("return 1");
  EXPECT_EQ(run({"EVALSHA", digest, "0"}), ":1\r\n");
  server_.script_flush();
  EXPECT_TRUE(run({"EVALSHA", digest, "0"}).starts_with("-NOSCRIPT "));
  load("return 1");
  server_.stop();
  server_.start(Memory::kept, "next");
  connect_again();
  EXPECT_TRUE(run({"EVALSHA", digest, "0"}).starts_with("-NOSCRIPT "));
  EXPECT_EQ(server_.calls(), 1U) << "those that were executed";
}

TEST_F(SimulatedRedis, can_throw_out_one_client_or_all) {
  Heard other;
  const auto second = server_.connect(other);
  run({"SUBSCRIBE", "a"});
  server_.kill_client(connection_);
  EXPECT_TRUE(heard_.closed);
  EXPECT_FALSE(other.closed);
  server_.feed(second, request({"PUBLISH", "a", "x"}));
  EXPECT_EQ(other.take(), ":0\r\n") << "no client listens any more";
  server_.kill_clients();
  EXPECT_TRUE(other.closed);
  EXPECT_NE(server_.connect(other), 0U);
}

TEST_F(SimulatedRedis, tells_a_client_that_left_nothing) {
  run({"SUBSCRIBE", "a"});
  server_.disconnect(connection_);
  Heard other;
  server_.feed(server_.connect(other), request({"PUBLISH", "a", "x"}));
  EXPECT_EQ(other.take(), ":0\r\n");
  EXPECT_EQ(heard_.take(), "");
  EXPECT_FALSE(heard_.closed);
}

TEST_F(SimulatedRedis, loses_single_keys_and_all) {
  run({"SET", "a", "1"});
  run({"SET", "b", "1"});
  EXPECT_TRUE(server_.erase("a"));
  EXPECT_FALSE(server_.erase("a"));
  EXPECT_TRUE(server_.expire_at("b", now_ / 1'000 + 10));
  EXPECT_THAT(keys(), ElementsAre("b"));
  now_ += 11'000;
  EXPECT_THAT(keys(), IsEmpty());
  run({"SET", "c", "1"});
  server_.flush();
  EXPECT_THAT(keys(), IsEmpty());
}

TEST_F(SimulatedRedis, refuses_all_but_a_greeting_while_it_is_told_to) {
  server_.refuse("LOADING Redis is loading the dataset in memory");
  EXPECT_EQ(run({"GET", "a"}), "-LOADING Redis is loading the dataset in memory\r\n");
  EXPECT_TRUE(run({"INFO", "server"}).starts_with("$"));
  server_.refuse({});
  EXPECT_EQ(run({"GET", "a"}), "$-1\r\n");
}

TEST_F(SimulatedRedis, throws_out_who_listens_to_what_is_denied) {
  run({"SUBSCRIBE", "a"});
  server_.deny("channels");
  EXPECT_TRUE(heard_.closed);
  connect_again();
  EXPECT_TRUE(run({"SUBSCRIBE", "a"}).starts_with("-NOPERM "));
  server_.allow_all();
  EXPECT_TRUE(run({"SUBSCRIBE", "a"}).starts_with("*3\r\n"));
}

TEST_F(SimulatedRedis, breaks_off_the_next_script_in_its_middle) {
  const std::string digest =
      load("redis.call('SET', 'a', '1') redis.call('SET', 'b', '1') return redis.call('SET', 'c', '1')");
  server_.fail_script(2);
  EXPECT_EQ(run({"EVALSHA", digest, "0"}), "-ERR simulated script: " + digest + ", on @user_script:1.\r\n");
  EXPECT_THAT(keys(), ElementsAre("a")) << "what was written before stays";
  EXPECT_EQ(run({"EVALSHA", digest, "0"}), "+OK\r\n") << "only once";
  server_.fail_script(7, "MISCONF disk");
  EXPECT_EQ(run({"EVALSHA", digest, "0"}), "+OK\r\n");
  EXPECT_EQ(run({"EVALSHA", digest, "0"}), "+OK\r\n") << "it was for the one before";
  server_.fail_script(1, "MISCONF disk");
  EXPECT_EQ(run({"EVAL", "return redis.pcall('GET', 'a')", "0"}), "-MISCONF disk\r\n");
}

TEST_F(SimulatedRedis, shows_judges_what_it_has) {
  run({"SET", "t", "text", "PX", "1500"});
  run({"RPUSH", "l", "1", "2"});
  run({"ZADD", "z", "2", "b", "1.5", "a"});
  run({"HSET", "h", "f", "1", "e", "2"});
  run({"SADD", "s", "y", "x"});
  run({"SELECT", "1"});
  run({"SET", "elsewhere", "x"});
  using Key = RedisServer::Key;
  EXPECT_EQ(server_.keys(), (std::vector<Key>{{"h", "hash", "f=1 e=2"},
                                              {"l", "list", "1 2"},
                                              {"s", "set", "x y"},
                                              {"t", "string", "text", 1500},
                                              {"z", "zset", "a=1.5 b=2"}}));
  EXPECT_EQ(server_.keys("t").size(), 1U);
  EXPECT_EQ(server_.commands(), 7U);
}

/// A client that calls the server from within its callback.
class Busy final : public RedisServer::Client {
 public:
  void on_bytes(std::string_view bytes) override {
    heard += bytes;
    if (auto next = std::exchange(then, {})) next();
  }
  void on_closed() override { closed = true; }
  std::string heard;
  bool closed = false;
  std::function<void()> then;
};

TEST_F(SimulatedRedis, may_be_called_from_within_what_it_tells) {
  Busy busy;
  const auto mine = server_.connect(busy);
  run({"SUBSCRIBE", "a"});
  busy.then = [&] { server_.feed(mine, request({"PUBLISH", "a", "x"})); };
  server_.feed(mine, request({"GET", "k"}));
  EXPECT_EQ(busy.heard, "$-1\r\n:1\r\n");
  EXPECT_NE(heard_.take(), "");
  busy.then = [&] { server_.disconnect(mine); };
  server_.feed(mine, request({"QUIT"}));
  EXPECT_FALSE(busy.closed) << "it had left by then";
}

TEST_F(SimulatedRedis, drops_keys_that_nobody_looks_for) {
  for (int i = 0; i < 5'000; ++i) {
    run({"SET", "k" + std::to_string(i), "v", "PX", "100"});
    now_ += 1'000;
  }
  EXPECT_LE(server_.keys().size(), 101U);
  EXPECT_LE(server_.remembered(), 1'024U);
}

}  // namespace
}  // namespace penstock::simulation
