// SPDX-License-Identifier: Apache-2.0
// Requests by http:// to upstreams that speak https: governed one by one, over TLS to the upstream, in the client's
// terms back.
#include <gmock/gmock.h>

#include "support/tls_authority.h"
#include "support/tls_server.h"
#include "system/stage.h"

namespace penstock::trial {
namespace {

using testing::ElementsAre;

/// An origin with real TLS, that of the entry `api`, which originates.
struct Originating {
  Originating()
      : daemon({.yaml = "upstreams: { api: { match: localhost, https: originate, tls: { ca: '" + authority.file() +
                        "' }, baseUrl: 'https://localhost:" + std::to_string(origin.port()) +
                        "/v1' } }\naccess: { connectPorts: [" + std::to_string(origin.port()) + "], plainPorts: [" +
                        std::to_string(origin.port()) + "] }\n"}) {}
  ~Originating() { EXPECT_EQ(origin.complaint(), ""); }

  std::string host() const { return "localhost:" + std::to_string(origin.port()); }
  std::string plain(const std::string& path) const { return "http://" + host() + path; }
  std::string secure(const std::string& path) const { return "https://" + host() + path; }

  test::Authority authority;
  test::TlsServer tls{authority.issue()};
  Origin origin{tls.wrap()};
  Daemon daemon;
};

TEST(Originating, is_reached_by_every_way_in) {
  Originating stage;
  EXPECT_EQ(stage.daemon.ask(get(stage.plain("/plain"))).body, "hello");
  EXPECT_EQ(stage.daemon.ask(get(stage.secure("/secure"))).body, "hello");
  EXPECT_EQ(stage.daemon.ask("GET /@api/gateway HTTP/1.1\r\nHost: localhost\r\n\r\n").body, "hello");
  Client client(stage.daemon.port());
  client.send("CONNECT " + stage.host() + " HTTP/1.1\r\nHost: a\r\n\r\nGET /inside HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(client.head().status, 200);
  EXPECT_EQ(client.reply().body, "hello");
  std::vector<std::string> targets;
  for (const auto& seen : stage.origin.seen()) {
    targets.push_back(seen.target);
    EXPECT_EQ(seen.fields.find("host"), stage.host());
  }
  EXPECT_THAT(targets, ElementsAre("/plain", "/secure", "/v1/gateway", "/inside"));
  for (const auto& event : stage.daemon.await_events(4, "complete")) EXPECT_EQ(event["upstream"], "api");
}

TEST(Originating, inside_a_connect_is_over_tls_however_late_it_comes) {
  Originating stage;
  Client client(stage.daemon.port());
  client.send("CONNECT " + stage.host() + " HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(client.head().status, 200);
  // A plain upstream would get its tunnel within this time, to hear its first word.
  EXPECT_FALSE(eventually([&] { return !stage.daemon.events().empty(); }, 4s));
  client.send("GET /late HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(client.reply().status, 200);
  EXPECT_EQ(stage.daemon.await_events(1, "complete").at(0)["path"], "/late");
}

}  // namespace
}  // namespace penstock::trial
