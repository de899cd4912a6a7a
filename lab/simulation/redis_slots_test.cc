// SPDX-License-Identifier: Apache-2.0
// For which keys a node of a simulated cluster answers, and what it says otherwise.
#include "simulation/redis_slots.h"

#include <gtest/gtest.h>

#include <vector>

#include "redis/wire/slot_map.h"
#include "simulation/redis_server.h"

namespace penstock::simulation {
namespace {

/// "foo" is in slot 12182, "bar" in 5061: the reference of Redis Cluster.
TEST(RedisSlots, are_those_of_redis) {
  EXPECT_EQ(RedisSlots::slot_of("123456789"), 0x31C3) << "the check value of CRC-16/XMODEM, below 16384";
  EXPECT_EQ(RedisSlots::slot_of("foo"), 12182);
  EXPECT_EQ(RedisSlots::slot_of("bar"), 5061);
  for (const std::string_view key : {"", "{}", "{", "a{b}c", "{}a{b}", "{{a}b}", "a{b}{c}", "p:{api}:head"}) {
    EXPECT_EQ(RedisSlots::slot_of(key), redis::slot_of(key)) << key;
  }
}

class TwoNodes : public testing::Test {
 protected:
  static constexpr std::string_view kOne = "{x}1", kTwo = "{x}2";
  static constexpr const char *kNotLocal = "ERR Script attempted to access a non local key in a cluster node",
                              *kTryAgain = "TRYAGAIN Multiple keys request during rehashing of slot";

  TwoNodes() {
    for (int slot = 0; slot < RedisSlots::kSlots; ++slot) {
      here_.give(slot, 0);
      there_.give(slot, 0);
    }
  }
  std::string of_here(std::vector<std::string_view> keys) { return here_.refusal(keys, false, keys_here_); }
  std::string of_there(std::vector<std::string_view> keys, bool asking) {
    return there_.refusal(keys, asking, keys_there_);
  }

  const int slot_ = RedisSlots::slot_of(kOne);
  const std::string ask_ = "ASK " + std::to_string(slot_) + " 10.0.0.1:7001",
                    moved_ = "MOVED " + std::to_string(slot_) + " 10.0.0.1:7000";
  RedisSlots here_{0}, there_{1};
  RedisKeys keys_here_, keys_there_;
};

TEST_F(TwoNodes, answer_for_their_own_keys_and_tell_who_has_the_others) {
  EXPECT_EQ(of_here({kOne, kTwo}), "");
  EXPECT_EQ(of_there({kOne}, false), moved_);
  EXPECT_EQ(of_there({kOne}, true), moved_) << "it imports nothing";
  EXPECT_EQ(of_here({kOne, "{y}1"}), "CROSSSLOT Keys in request don't hash to the same slot");
  EXPECT_EQ(of_here({}), "");
}

TEST_F(TwoNodes, send_whom_asks_for_what_has_moved_and_nobody_who_asks_for_more) {
  here_.migrate(slot_, 1);
  there_.import(slot_, 0);
  keys_here_.put(kOne), keys_here_.put(kTwo);
  EXPECT_EQ(of_here({kOne, kTwo}), "");
  keys_here_.erase(kTwo), keys_there_.put(kTwo);
  EXPECT_EQ(of_here({kOne, kTwo}), kTryAgain);
  EXPECT_EQ(of_here({kTwo}), ask_);
  EXPECT_EQ(of_here({"{x}new"}), ask_) << "a key that is nowhere comes to be there";
  EXPECT_EQ(of_there({kTwo}, false), moved_);
  EXPECT_EQ(of_there({kTwo}, true), "");
  EXPECT_EQ(of_there({kOne, kTwo}, true), kTryAgain);
  EXPECT_EQ(of_there({kOne}, true), "") << "alone";
}

TEST_F(TwoNodes, let_scripts_use_only_what_is_there) {
  here_.migrate(slot_, 1);
  keys_here_.put(kOne);
  EXPECT_EQ(here_.refusal_to_script(kOne, false, keys_here_), "");
  EXPECT_EQ(here_.refusal_to_script(kTwo, false, keys_here_), kNotLocal);
  here_.set_down(true);
  EXPECT_EQ(here_.refusal_to_script(kOne, false, keys_here_),
            "ERR Script attempted to execute a command while the cluster is down");
}

TEST_F(TwoNodes, answer_for_all_keys_once_the_slot_is_theirs) {
  there_.import(slot_, 0);
  there_.settle();
  there_.give(slot_, 1);
  EXPECT_EQ(of_there({kOne, kTwo}, false), "");
  here_.learn(there_);
  EXPECT_EQ(of_here({kOne}), "MOVED " + std::to_string(slot_) + " 10.0.0.1:7001");
}

TEST_F(TwoNodes, answer_for_nothing_while_the_cluster_is_down_or_nobody_has_the_slot) {
  here_.set_down(true);
  EXPECT_EQ(of_here({kOne}), "CLUSTERDOWN The cluster is down");
  here_.set_down(false);
  here_.give(slot_, RedisSlots::kNobody);
  EXPECT_EQ(of_here({kOne}), "CLUSTERDOWN Hash slot not served");
}

class Listening final : public RedisServer::Client {
 public:
  void on_bytes(std::string_view some) override { bytes += some; }
  void on_closed() override {}
  std::string take() { return std::exchange(bytes, {}); }
  std::string bytes;
};

TEST_F(TwoNodes, of_a_server_tell_their_map_and_forget_asking_with_the_next_command) {
  RedisServer server([] { return std::int64_t{1}; }, "id");
  std::vector<std::string> relayed;
  server.join(there_,
              [&](auto channel, auto payload) { relayed.push_back(std::string(channel) + std::string(payload)); });
  there_.import(slot_, 0);
  Listening client;
  const auto connection = server.connect(client);
  server.feed(connection, "CLUSTER SLOTS\r\n");
  EXPECT_EQ(client.take(), "*1\r\n*3\r\n:0\r\n:16383\r\n*4\r\n$8\r\n10.0.0.1\r\n:7000\r\n$5\r\nnode0\r\n*0\r\n");
  server.feed(connection, "ASKING\r\nSET {x}1 a\r\nSET {x}1 b\r\n");
  EXPECT_EQ(client.take(), "+OK\r\n+OK\r\n-" + moved_ + "\r\n");
  server.feed(connection, "ASKING\r\nEVAL return(redis.call('GET',KEYS[1])) 1 {x}1\r\n");
  EXPECT_EQ(client.take(), "+OK\r\n$1\r\na\r\n");
  server.feed(connection, "PUBLISH c m\r\nSUBSCRIBE c\r\n");
  EXPECT_EQ(relayed, std::vector<std::string>{"cm"});
  client.take();
  server.hear("c", "other");
  EXPECT_EQ(client.take(), "*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$5\r\nother\r\n");
  EXPECT_EQ(relayed.size(), 1u) << "what another relays goes no further";
}

}  // namespace
}  // namespace penstock::simulation
