// SPDX-License-Identifier: Apache-2.0
// Upstreams that are hard to find: names that nobody knows or tells, name servers that keep silent, addresses of which
// only some are alive or allowed, and names that lead back here.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <deque>
#include <thread>

#include "support/bind.h"
#include "support/name_server.h"
#include "system/loop_watch.h"
#include "system/stage.h"

namespace penstock::trial {
namespace {

using test::NameServer;
using testing::HasSubstr;
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

TEST(Name, that_does_not_exist_or_has_no_address_is_502_with_the_word_of_its_server) {
  NamedUpstream stage([](const std::string& name, std::uint16_t) -> NameServer::Reply {
    if (name == "servfail.test") return {.rcode = NameServer::kServfail};
    return {.rcode = name == "nxdomain.test" ? NameServer::kNxdomain : NameServer::kNoError};
  });
  for (const auto& [name, rcode] : {std::pair("nxdomain.test"s, "NXDOMAIN"s), std::pair("servfail.test"s, "SERVFAIL"s),
                                    std::pair("empty.test"s, "NOERROR"s)}) {
    SCOPED_TRACE(name);
    for (const auto& request : {get("http://" + name + "/"), "CONNECT " + name + ":443 HTTP/1.1\r\nHost: a\r\n\r\n"}) {
      const Reply reply = stage.ask(request);
      expect_own_answer(reply, {502}, "dns_error");
      EXPECT_THAT(reply.field("proxy-status"), HasSubstr("; rcode=\"" + rcode + "\""));
    }
    EXPECT_GE(stage.names.asked(name, NameServer::kA), 1);
    EXPECT_TRUE(stage.daemon.await_in_flight(name + ":80", 0));
  }
  EXPECT_EQ(stage.daemon.await_events(6, "error").size(), 6u);
  EXPECT_EQ(stage.daemon.metric("penstock_requests_total", "outcome=\"upstream_error\""), 6);
}

TEST(SilentNameServer, is_504_when_its_time_is_over_and_meanwhile_stalls_nobody) {
  NamedUpstream stage([](const std::string&, std::uint16_t) { return std::nullopt; }, "", "6s");
  const auto start = Clock::now();
  std::deque<Client> waiting;
  for (int i = 0; i < 50; ++i)
    waiting.emplace_back(stage.daemon.port()).send(get("http://n" + std::to_string(i) + ".test/"));
  while (Clock::now() - start < 3s) {
    const auto before = Clock::now();
    EXPECT_EQ(stage.ask(get(stage.origin.url())).status, 200);
    ASSERT_TRUE(within(kLate, before)) << "a look-up that blocks would take all six seconds";
  }
  for (auto& client : waiting) expect_own_answer(client.reply(), {504}, "dns_timeout");
  EXPECT_GE(Clock::now() - start, 5990ms);
  EXPECT_TRUE(within(6s + kLate, start));
  EXPECT_EQ(stage.daemon.metric("penstock_in_flight_requests"), 0);
}

TEST(SilentNameServer, stalls_no_turn_of_the_loop) {
  NamedUpstream stage([](const std::string&, std::uint16_t) { return std::nullopt; }, "", "1s");
  const LoopWatch loop(stage.daemon);
  std::deque<Client> waiting;
  for (int i = 0; i < 50; ++i)
    waiting.emplace_back(stage.daemon.port()).send(get("http://m" + std::to_string(i) + ".test/"));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(stage.ask(get(stage.origin.url())).status, 200);
  for (auto& client : waiting) expect_own_answer(client.reply(), {504}, "dns_timeout");
  loop.expect_quick_iterations();
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

TEST(Addresses, that_are_denied_are_not_tried_though_the_name_has_others) {
  NamedUpstream stage(leads_always({"127.9.0.2", "127.0.0.1"}), "access: { allow: [loopback], deny: [127.9.0.2] }\n");
  const Socket forbidden = listen_at("127.9.0.2", stage.origin.port(), 8);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(stage.ask(get(stage.url("some.test"))).status, 200);
  EXPECT_EQ(stage.origin.count(), 3u);
  EXPECT_LT(::accept(forbidden.fd(), nullptr, nullptr), 0) << "nobody came";
}

TEST(Loop, by_a_name_of_ours_is_noticed_before_a_socket_is_opened) {
  NamedUpstream stage(leads_always({"127.0.0.1"}));
  for (const std::uint16_t port : {stage.daemon.port(), stage.daemon.admin_port()}) {
    const Reply reply = stage.ask(get("http://me.test:" + std::to_string(port) + "/"));
    expect_own_answer(reply, {502}, "proxy_loop_detected");
  }
  EXPECT_LE(stage.daemon.metric("penstock_connections"), 3) << "no connection of its own to itself";
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
