// SPDX-License-Identifier: Apache-2.0
// A name of Redis that has several addresses.
#include "redis/wire/connection.h"

#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "redis/redis_fixture.h"
#include "support/name_server.h"
#include "support/redis_server.h"

namespace penstock::redis {
namespace {

/// No route leads to 127.0.0.2, as to an IPv6 address on a machine without IPv6: connect() fails at once.
class WithoutRoute final : public Network {
 public:
  std::unique_ptr<Wire> wire(loop::Loop& loop, WireEvents& events) override {
    return std::make_unique<Fenced>(sockets().wire(loop, events), failed);
  }
  std::uint64_t draw() override { return sockets().draw(); }
  int failed = 0;

 private:
  class Fenced final : public Wire {
   public:
    Fenced(std::unique_ptr<Wire> wire, int& failed) : wire_(std::move(wire)), failed_(failed) {}
    int connect(const sockaddr* address, unsigned size) override {
      sockaddr_in v4{};
      std::memcpy(&v4, address, std::min<std::size_t>(size, sizeof v4));
      if (ntohl(v4.sin_addr.s_addr) == INADDR_LOOPBACK) return wire_->connect(address, size);
      return ++failed_, ENETUNREACH;
    }
    int write(std::string_view bytes) override { return wire_->write(bytes); }
    void read_now() override { wire_->read_now(); }
    void close() override { wire_->close(); }
    bool connected() const override { return wire_->connected(); }

   private:
    const std::unique_ptr<Wire> wire_;
    int& failed_;
  };
};

class ConnectionTest : public RedisFixture {
 protected:
  test::RedisServer server_;
  test::NameServer names_{[](const std::string&, std::uint16_t type) -> std::optional<test::NameServer::Reply> {
    if (type != test::NameServer::kA) return test::NameServer::Reply{};
    return test::NameServer::Reply{.addresses = {"127.0.0.2", "127.0.0.1"}};
  }};
};

/// Whichever address comes first, the other is tried before the connection counts as failed.
TEST_F(ConnectionTest, tries_the_next_address_where_one_fails_at_once) {
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

}  // namespace
}  // namespace penstock::redis
