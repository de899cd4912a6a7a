// SPDX-License-Identifier: Apache-2.0
// A name of Redis that has several addresses; what is said where none is reached.
#include "redis/wire/dialer.h"

#include <memory>
#include <string>

#include "redis/fake_redis.h"
#include "redis/redis_fixture.h"
#include "support/held_port.h"
#include "support/name_server.h"
#include "support/redis_server.h"

namespace penstock::redis {
namespace {

/// No route leads to 127.0.0.2, as to an IPv6 address on a machine without IPv6: the stream fails at once.
class WithoutRoute final : public Network {
 public:
  std::unique_ptr<loop::Stream> dial(loop::Loop& loop, const Endpoint& there, const std::string& host,
                                     loop::StreamEvents& events) override {
    if (there.address == "127.0.0.1") return sockets().dial(loop, there, host, events);
    ++failed;
    return sockets().dial(loop, {"no address", there.port}, host, events);
  }
  std::unique_ptr<loop::Stream> dial_path(loop::Loop& loop, const std::string& path,
                                          loop::StreamEvents& events) override {
    return sockets().dial_path(loop, path, events);
  }
  std::uint64_t draw() override { return sockets().draw(); }
  int failed = 0;
};

class DialerTest : public RedisFixture {
 protected:
  test::RedisServer server_;
  test::NameServer names_{[](const std::string&, std::uint16_t type) -> std::optional<test::NameServer::Reply> {
    if (type != test::NameServer::kA) return test::NameServer::Reply{};
    return test::NameServer::Reply{.addresses = {"127.0.0.2", "127.0.0.1"}};
  }};
};

/// Whichever address comes first, the other is tried before the connection counts as failed.
TEST_F(DialerTest, tries_the_next_address_where_one_fails_at_once) {
  config_.host = "redis.test.", config_.port = server_.port(), config_.timeout = 2s;
  loop::Resolver resolver(run_.loop, DnsConfig{.servers = {names_.address()}});
  WithoutRoute network;
  for (int i = 0; i < 4; ++i) {
    Redis redis(run_.loop, resolver, network, config_, kScripts, "me", *this, [](const Notice&) {});
    ASSERT_TRUE(run_.run_until([&] { return redis.up(); }));
  }
  EXPECT_GT(network.failed, 0);
  EXPECT_EQ(downs_, 0);
  EXPECT_EQ(failures_, 0);
}

using DialerFailure = RedisFixture;

/// The words are the system's.
TEST_F(DialerFailure, says_why_there_is_no_connection) {
  const auto why = [this] {
    notices_.clear();
    open();
    EXPECT_TRUE(run_.run_until([this] { return !notices_.empty(); }));
    const auto text = notices_.empty() ? std::string() : notices_[0].text;
    return text.substr(text.rfind(": ") + 2);
  };
  const test::HeldPort nobody;
  config_.port = nobody.number();
  EXPECT_EQ(why(), "Connection refused");
  config_.path = "/no/such/socket";
  EXPECT_EQ(why(), "No such file or directory");
  config_.path = "/" + std::string(200, 'x');
  EXPECT_EQ(why(), "File name too long");
}

TEST_F(DialerFailure, says_that_redis_has_closed_the_connection) {
  test::Origin server([](test::Origin&, test::Socket& peer, int) { next_command(peer); });
  open(server.port());
  ASSERT_TRUE(run_.run_until([this] { return !notices_.empty(); }));
  EXPECT_TRUE(notices_[0].text.ends_with(" is down: it closed the connection")) << notices_[0].text;
  EXPECT_GE(redis_->counts().of(FailureKind::lost), 1u);
  redis_.reset();
}

}  // namespace
}  // namespace penstock::redis
