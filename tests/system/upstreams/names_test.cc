// SPDX-License-Identifier: Apache-2.0
// Upstreams that are hard to find: names that nobody knows or tells, name servers that keep silent, addresses of which
// only some are alive or allowed, and names that lead back here.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <deque>

#include "support/bind.h"
#include "support/name_server.h"
#include "system/stage.h"

namespace penstock::trial {
namespace {

using test::NameServer;
using Addresses = std::vector<std::string>;

/// An origin, a name server and a proxy that asks it.
struct NamedUpstream {
  explicit NamedUpstream(NameServer::Answer answer, const std::string& yaml = "", const std::string& timeout = "10s")
      : names(std::move(answer)),
        daemon({.yaml = "dns: { servers: [\"" + names.address() + "\"], timeout: " + timeout + " }\n" + yaml}) {}
  ~NamedUpstream() { EXPECT_EQ(origin.complaint(), ""); }

  std::string url(const std::string& name, std::string_view path = "/") const {
    return origin.url_at(name + ":" + std::to_string(origin.port()), path);
  }
  Reply ask(std::string_view bytes) const {
    Client client(daemon.port());
    client.send(bytes);
    return client.reply();
  }

  Origin origin;
  NameServer names;
  Daemon daemon;
};

/// Whatever the name, these addresses.
NameServer::Answer leads_always(Addresses v4, Addresses v6 = {}) {
  return [=](const std::string&, std::uint16_t type) {
    return NameServer::Reply{.addresses = type == NameServer::kA ? v4 : v6};
  };
}

/// Somebody on another address of loopback, at a port that is taken on 127.0.0.1.
Socket listen_at(const char* address, std::uint16_t port, int backlog) {
  sockaddr_in place{.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {}, .sin_zero = {}};
  inet_pton(AF_INET, address, &place.sin_addr);
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  EXPECT_TRUE(test::take_place(socket.fd(), place)) << strerror(errno);
  EXPECT_EQ(::listen(socket.fd(), backlog), 0);
  return socket;
}

TEST(Address, that_no_route_leads_to_is_502) {
  const Daemon daemon({.yaml = "access: { allow: [224.0.0.1] }\n"});  // no TCP to a group, whatever the network
  for (const char* request :
       {"GET http://224.0.0.1/ HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT 224.0.0.1:443 HTTP/1.1\r\nHost: a\r\n\r\n"}) {
    Client client(daemon.port());
    client.send(request);
    expect_own_answer(client.reply(), {502}, "destination_ip_unroutable");
  }
}

TEST(Addresses, that_are_dead_give_way_to_one_that_lives) {
  for (const auto& [v4, v6] : {std::pair(Addresses{"127.9.0.2", "127.0.0.1"}, Addresses{}),
                               std::pair(Addresses{"127.0.0.1"}, Addresses{"::1"})}) {
    NamedUpstream stage(leads_always(v4, v6));
    const Reply reply = stage.ask(with_body("POST", stage.url("some.test", "/x"), "charge=1"));
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(stage.origin.count(), 1u) << "once";
    EXPECT_EQ(stage.origin.seen()[0].body, "charge=1");
    EXPECT_EQ(stage.origin.seen()[0].fields.find("host"), authority_of(stage.url("some.test")));
  }
}

TEST(Addresses, that_keep_silent_give_way_to_one_that_answers) {
  NamedUpstream stage(leads_always({"127.9.0.2", "127.0.0.1"}), "defaults: { timeouts: { connect: 4s } }\n");
  const Socket silent = listen_at("127.9.0.2", stage.origin.port(), 0);
  std::deque<Socket> fillers;
  for (int i = 0; i < 8; ++i) {
    sockaddr_in there{.sin_family = AF_INET, .sin_port = htons(stage.origin.port()), .sin_addr = {}, .sin_zero = {}};
    inet_pton(AF_INET, "127.9.0.2", &there.sin_addr);
    fillers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    ::connect(fillers.back().fd(), reinterpret_cast<const sockaddr*>(&there), sizeof there);
  }
  EXPECT_EQ(stage.ask(get(stage.url("some.test"))).status, 200);
  EXPECT_EQ(stage.origin.count(), 1u);
}

TEST(Loop, by_another_of_our_addresses_is_noticed) {
  const Daemon daemon({.yaml = "access: { allow: [loopback] }\n", .listen = "0.0.0.0:0"});
  for (const char* host : {"127.0.0.1", "127.9.0.2", "127.1.2.3", "0.0.0.0", "localhost", "[::ffff:127.9.0.9]"}) {
    SCOPED_TRACE(host);
    Client client(daemon.port());
    client.send(get("http://" + std::string(host) + ":" + std::to_string(daemon.port()) + "/"));
    expect_own_answer(client.reply(), {502}, "proxy_loop_detected");
  }
}

}  // namespace
}  // namespace penstock::trial
