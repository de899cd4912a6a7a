// SPDX-License-Identifier: Apache-2.0
// What is said of a place that others named and that cannot be reached.
#include "redis/client/session.h"

#include <gmock/gmock.h>

#include <csignal>
#include <string>

#include "loop/resolver.h"
#include "support/held_port.h"
#include "support/redis_server.h"
#include "support/test_loop.h"

namespace penstock::redis {
namespace {

using testing::HasSubstr;
using testing::Not;

class SessionTest : public testing::Test, public SessionEvents {
 protected:
  void dial(std::uint16_t port) {
    config_.host = "127.0.0.1";
    config_.port = port;
    config_.cluster = {{"127.0.0.1", port}};
    session_.dial();
  }
  bool ends() {
    return run_.run_until([this] { return !why_.empty(); });
  }

  void on_found(const std::vector<Endpoint>&) override {}
  void on_ready() override { ready_ = true; }
  void on_reply(Call, const Outcome&) override {}
  void on_message(std::string_view) override {}
  void on_ended(const Failure& why, std::deque<Call>) override { why_ = why.text; }

  test::TestLoop run_;
  loop::Resolver resolver_{run_.loop, DnsConfig{}};
  RedisConfig config_;
  bool ready_ = false;
  std::string why_;
  Session session_{run_.loop, resolver_, sockets(), config_, Connection::For::commands, *this};
};

constexpr const char* kHint = "If that address cannot be reached from here, name another one by cluster-announce-ip";

TEST_F(SessionTest, to_a_place_that_never_answered_says_how_another_is_named) {
  const test::HeldPort nobody;
  dial(nobody.number());
  ASSERT_TRUE(ends());
  EXPECT_THAT(why_, HasSubstr("Connection refused"));
  EXPECT_THAT(why_, HasSubstr(kHint));
}

TEST_F(SessionTest, to_a_place_that_has_answered_before_does_not) {
  test::RedisServer server;
  dial(server.port());
  ASSERT_TRUE(run_.run_until([this] { return ready_ || !why_.empty(); }));
  ASSERT_TRUE(ready_) << why_;
  server.stop(SIGKILL);
  ASSERT_TRUE(ends());
  why_.clear();
  session_.dial();
  ASSERT_TRUE(ends());
  EXPECT_EQ(why_, "its cluster says that a node is there: Connection refused");
}

}  // namespace
}  // namespace penstock::redis
