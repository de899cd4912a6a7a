// SPDX-License-Identifier: Apache-2.0
// Sentinels that are wrong: one that is cut off from the others goes on naming a Redis that is gone, or a replica.
#include <gmock/gmock.h>

#include <algorithm>

#include "redis/fake_redis.h"
#include "redis/redis_fixture.h"
#include "support/origin.h"
#include "support/redis_server.h"

namespace penstock::redis {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Says what a sentinel does that knows of one Redis alone, since that `epoch`.
test::Origin::Script sentinel_that_names(std::uint16_t port, int epoch) {
  return [port, epoch](test::Origin&, test::Socket& peer, int) {
    for (Command words = next_command(peer); !words.empty(); words = next_command(peer)) {
      std::string answer = "+OK\r\n";
      if (words[0] == "INFO") answer = bulk("# Server\r\nredis_mode:sentinel\r\n");
      if (words[0] == "SENTINEL") answer = "*0\r\n";
      if (words[0] == "SENTINEL" && words[1] == "GET-MASTER-ADDR-BY-NAME")
        answer = "*2\r\n" + bulk("127.0.0.1") + bulk(std::to_string(port));
      if (words[0] == "SENTINEL" && words[1] == "MASTER")
        answer = "*6\r\n" + bulk("ip") + bulk("127.0.0.1") + bulk("port") + bulk(std::to_string(port)) +
                 bulk("config-epoch") + bulk(std::to_string(epoch));
      if (words[0] == "SUBSCRIBE") answer = "*3\r\n" + bulk("subscribe") + bulk(words[1]) + ":1\r\n";
      if (words[0] == "PING") answer = "*2\r\n" + bulk("pong") + bulk("");
      if (!peer.send(answer)) return;
    }
  };
}

class SentinelsTest : public RedisFixture {
 protected:
  SentinelsTest() { config_.timeout = 2s; }  // nothing here is about a Redis that is late
  void open_by(const test::Origin& one, const test::Origin& other) {
    config_.sentinel = {.hosts = {{"127.0.0.1", one.port()}, {"127.0.0.1", other.port()}}, .master = "mymaster"};
    open();
  }

  /// Once both sentinels are heard, nothing that they said before is news.
  bool comes_to_stay_up() {
    const auto hears_both = [&] { return std::ranges::count(redis_->nodes(), true, &RedisNodeSnapshot::up) == 3; };
    return run_.run_until([&] { return hears_both() && redis_->subscribed() && answer_to(kEcho, {"x"}) == "x"; });
  }

  test::RedisServer master_;
  test::Origin right_{sentinel_that_names(master_.port(), 2)};
};

TEST_F(SentinelsTest, that_name_a_replica_are_not_believed_and_it_is_not_written_to) {
  test::RedisServer replica({"--replicaof", "127.0.0.1", "1"});
  const test::Origin wrong(sentinel_that_names(replica.port(), 1));
  open_by(wrong, wrong);
  ASSERT_TRUE(run_.run_until([&] { return redis_->counts().of(FailureKind::readonly) >= 3; }));
  ASSERT_FALSE(notices_.empty());
  EXPECT_THAT(notices_[0].text, HasSubstr("it is a replica, though a sentinel calls it the master"));
  const auto called = replica.run({"INFO", "commandstats"}).text;
  EXPECT_THAT(called, HasSubstr("cmdstat_info"));
  EXPECT_THAT(called, Not(HasSubstr("cmdstat_script")));
  EXPECT_THAT(called, Not(HasSubstr("cmdstat_evalsha")));
  EXPECT_FALSE(redis_->up());
  redis_.reset();
}

TEST_F(SentinelsTest, that_name_one_that_is_gone_are_not_asked_again_before_the_others) {
  test::HeldPort nobody;
  const test::Origin wrong(sentinel_that_names(nobody.number(), 1));
  open_by(wrong, right_);
  ASSERT_TRUE(comes_to_stay_up());
  const auto nodes = redis_->nodes();
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[0].name, "127.0.0.1:" + std::to_string(master_.port()));
  EXPECT_TRUE(nodes[0].up);
  redis_.reset();
}

}  // namespace
}  // namespace penstock::redis
