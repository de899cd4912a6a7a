// SPDX-License-Identifier: Apache-2.0
// Hosts in access.allow and access.deny, by every way in; literal addresses of upstreams; and the many ways to write a
// host. What may not be dialled sees no packet.
#include <gmock/gmock.h>

#include "support/name_server.h"
#include "system/stage.h"

namespace penstock::trial {
namespace {

using test::NameServer;

/// Every name below .test is at 127.0.0.1, and nowhere else.
NameServer::Reply at_home(const std::string& name, std::uint16_t type) {
  if (!name.ends_with("test")) return {.rcode = NameServer::kNxdomain};
  return type == NameServer::kA ? NameServer::Reply{.addresses = {"127.0.0.1"}} : NameServer::Reply{};
}

struct Named {
  explicit Named(const std::string& access, const std::string& more = "")
      : names([](const std::string& name, std::uint16_t type) { return std::optional(at_home(name, type)); }),
        daemon({.yaml = "dns: { servers: ['" + names.address() + "'] }\naccess: { " + access + ", connectPorts: [" +
                        port() + "], plainPorts: [] }\n" + more}) {}
  ~Named() { EXPECT_EQ(origin.complaint(), ""); }

  std::string port() const { return std::to_string(origin.port()); }
  std::string at(const std::string& host) const { return host + ":" + port(); }
  Reply fetch(const std::string& host) const { return daemon.ask(get("http://" + at(host) + "/")); }

  NameServer names;
  Origin origin;
  Daemon daemon;
};

TEST(DeniedHost, is_not_even_looked_up_by_whichever_way_in) {
  Named stage("allow: [loopback], deny: [evil.test, '*.worse.test']",
              "upstreams: { api: { baseUrl: 'http://evil.test/v1', match: [] } }\n");
  const std::string evil = stage.at("evil.test");
  const std::string ways[] = {
      get("http://" + evil + "/"),
      get("http://EVIL.Test.:" + stage.port() + "/"),
      get("https://" + evil + "/"),
      get("http://" + stage.at("a.worse.test") + "/"),
      get("http://" + stage.at("A.b.WORSE.test.") + "/"),
      "CONNECT " + evil + " HTTP/1.1\r\n\r\n",
      "CONNECT " + stage.at("Evil.test.") + " HTTP/1.1\r\n\r\n",
      "GET /@api/x HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "GET http://" + evil + "/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
  };
  for (const auto& way : ways) {
    SCOPED_TRACE(shown(way));
    expect_denied(stage.daemon.ask(way), "(access.deny)");
  }
  EXPECT_EQ(stage.names.asked_in_all(), 0);
  EXPECT_EQ(stage.origin.connections(), 0u);
  EXPECT_EQ(stage.fetch("good.test").body, "hello");
  EXPECT_EQ(stage.fetch("notevil.test").body, "hello");
  EXPECT_EQ(stage.fetch("worse.test").body, "hello");
  EXPECT_EQ(stage.fetch("x.evil.test").body, "hello");
}

TEST(DeniedHost, is_denied_inside_a_connect_too) {
  Origin origin;
  NameServer names([](const std::string& name, std::uint16_t type) { return std::optional(at_home(name, type)); });
  const std::string port = std::to_string(origin.port());
  Daemon daemon({.yaml = "dns: { servers: ['" + names.address() +
                         "'] }\naccess: { allow: [loopback], deny: [evil.test], "
                         "connectPorts: [" +
                         port + "], plainPorts: [" + port + "] }\n"});
  expect_denied(daemon.ask("CONNECT evil.test:" + port + " HTTP/1.1\r\n\r\n"), "(access.deny)");
  EXPECT_EQ(names.asked_in_all(), 0);
  EXPECT_EQ(origin.connections(), 0u);
}

TEST(AllowedHost, leads_to_special_addresses_for_itself_alone) {
  Named stage("allow: [friend.test, '*.friends.test']");
  EXPECT_EQ(stage.fetch("friend.test").body, "hello");
  EXPECT_EQ(stage.fetch("FRIEND.test.").body, "hello");
  EXPECT_EQ(stage.fetch("a.b.friends.test").body, "hello");
  const auto before = stage.origin.connections();
  for (const auto* foe :
       {"foe.test", "friends.test", "x.friend.test", "127.0.0.1", "localhost", "[::ffff:127.0.0.1]"}) {
    SCOPED_TRACE(foe);
    expect_denied(stage.fetch(foe), "(access.allow)");
    expect_denied(stage.daemon.ask("CONNECT " + stage.at(foe) + " HTTP/1.1\r\n\r\n"), "(access.allow)");
    expect_denied(stage.daemon.ask("GET http://" + stage.at(foe) +
                                   "/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"),
                  "(access.allow)");
  }
  EXPECT_EQ(stage.origin.connections(), before) << "no connection of a friend's serves a foe";
  Client client(stage.daemon.port());
  client.send("CONNECT " + stage.at("friend.test") + " HTTP/1.1\r\n\r\n");
  EXPECT_EQ(client.head().status, 200);
}

TEST(UpstreamAddress, is_allowed_because_it_is_written_there) {
  Origin authenticator;
  Named stage("allow: []", "upstreams: { here: { match: '127.0.0.1:" + std::to_string(authenticator.port()) +
                               "' }, api: { baseUrl: 'http://" + authenticator.host() + "', match: [] } }\n");
  const std::string port = ":" + std::to_string(authenticator.port());
  EXPECT_EQ(stage.daemon.ask(get(authenticator.url())).body, "hello");
  EXPECT_EQ(stage.daemon.ask("GET /@api/x HTTP/1.1\r\nHost: localhost\r\n\r\n").body, "hello");
  expect_denied(stage.fetch("127.0.0.1"), "(access.allow)");
  const auto before = authenticator.connections();
  expect_denied(stage.daemon.ask(get("http://any.test" + port + "/")), "(access.allow)");
  expect_denied(stage.daemon.ask(get("http://127.0.0.2" + port + "/")), "(access.allow)");
  EXPECT_EQ(authenticator.connections(), before) << "a name that leads there is somebody else's idea";
  EXPECT_EQ(stage.origin.connections(), 0u);
}

// Where a lenient reader sees 127.0.0.1, a strict one sees either that or nothing.
TEST(OddSpelling, of_an_address_is_refused_or_judged_like_the_address) {
  Named stage("allow: []");
  for (const auto* host : {"127.1",
                           "127.0.1",
                           "2130706433",
                           "017700000001",
                           "0x7f000001",
                           "0x7f.1",
                           "0177.0.0.1",
                           "127.0.0.01",
                           "127.0.0.1.1",
                           "127.0.0.256",
                           "[127.0.0.1]",
                           "127.0.0.1.",
                           "[::ffff:7f00:1%25lo]",
                           "[::1%251]",
                           "[fe80::1%25eth0]",
                           "[fe80::1%eth0]",
                           "%31%32%37.0.0.1",
                           "127.0.0.1%00.test",
                           "127.0.0.1%2f.test",
                           "\uff11\uff12\uff17.0.0.1",
                           "127\u30020.0.1",
                           "0",
                           "0.0.0.0",
                           "[::]",
                           "[::ffff:0.0.0.0]",
                           "localhost",
                           "LOCALHOST.",
                           "LocalHost",
                           "[::ffff:7f00:1]",
                           "[0:0:0:0:0:ffff:127.0.0.1]",
                           "[::127.0.0.1]",
                           "[64:ff9b::127.0.0.1]",
                           "[2002:7f00:1::]",
                           "[::ffff:0:7f00:1]",
                           "any.test"}) {
    SCOPED_TRACE(shown(host));
    const Reply reply = stage.fetch(host);
    EXPECT_TRUE(reply.status == 400 || reply.status == 403) << reply.head;
    const Reply tunnel = stage.daemon.ask("CONNECT " + stage.at(host) + " HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(tunnel.status == 400 || tunnel.status == 403) << tunnel.head;
  }
  EXPECT_EQ(stage.origin.connections(), 0u);
}

TEST(Name, may_have_underscores_and_its_international_form_is_compared_as_it_stands) {
  Named stage("allow: [loopback], deny: [xn--bcher-kva.test]");
  EXPECT_EQ(stage.fetch("my_service.test").body, "hello");
  EXPECT_EQ(stage.fetch("_dmarc.a_b.test").body, "hello");
  EXPECT_EQ(stage.origin.seen().at(0).fields.find("host"), stage.at("my_service.test"));
  expect_denied(stage.fetch("XN--BCHER-KVA.test"), "(access.deny)");
  EXPECT_EQ(stage.fetch("b\u00fccher.test").status, 400);
  EXPECT_EQ(stage.fetch("b%C3%BCcher.test").status, 400);
  for (const auto* odd : {"xn--.test", "xn--a.test", "xn--99999999.test"})
    EXPECT_EQ(stage.fetch(odd).body, "hello") << odd;
}

}  // namespace
}  // namespace penstock::trial
