// SPDX-License-Identifier: Apache-2.0
// A refusal on each way that a request may take: where it is seen the client gets the answer to the next attempt, and
// where it is not it gets the refusal as it came.
#include <gmock/gmock.h>

#include "support/tls_authority.h"
#include "support/tls_server.h"
#include "system/intercepted.h"
#include "system/limited.h"
#include "system/refusing.h"

namespace penstock::trial {
namespace {

TEST(RefusedOn, a_gateway_is_asked_again) {
  Origin origin;
  origin.otherwise(scripts::refuses(2));
  const Daemon daemon({.yaml = "upstreams: { api: { baseUrl: 'http://" + origin.host() + "/v1' } }\n"});
  const Reply reply = daemon.ask("GET /@api/x HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "served");
  expect_sent(origin, daemon, reply, 3);
  for (const Seen& seen : origin.seen()) EXPECT_EQ(seen.target, "/v1/x");
  EXPECT_EQ(origin.complaint(), "");
}

TEST(RefusedOn, an_originated_connection_is_asked_again) {
  test::Authority authority;
  test::TlsServer tls{authority.issue()};
  Origin origin{tls.wrap()};
  origin.otherwise(scripts::refuses(2));
  const std::string port = std::to_string(origin.port());
  const Daemon daemon({.yaml = "upstreams: { api: { match: localhost, https: originate, tls: { ca: '" +
                               authority.file() + "' } } }\naccess: { plainPorts: [" + port + "] }\n"});
  const Reply reply = daemon.ask(get("http://localhost:" + port + "/x"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "served");
  expect_sent(origin, daemon, reply, 3);
  EXPECT_EQ(origin.complaint(), "");
}

TEST(RefusedOn, an_intercepted_connection_is_asked_again) {
  Intercepted stage;
  stage.origin.otherwise(scripts::refuses(2));
  const auto client = stage.open();
  client->send(stage.request("/x"));
  const Reply reply = client->reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "served");
  expect_sent(stage.origin, stage.daemon, reply, 3);
  stage.expect_served(*client);
}

/// The bytes are the client's and the origin's alone: nothing is learned of them.
TEST(RefusedOn, a_tunnel_is_between_the_client_and_the_origin) {
  Intercepted stage({.https = "tunnel"});
  stage.origin.otherwise(scripts::refuses(1, "Retry-After: 30\r\n"));
  test::Shaking how = stage.trusting();
  how.ca = stage.roots.file();
  const auto client = stage.connect(how);
  ASSERT_TRUE(client->shake());
  client->send(stage.request("/x"));
  const Reply reply = client->reply();
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(reply.body, "busy 1");
  EXPECT_EQ(reply.field("retry-after"), "30");
  client->send(stage.request("/y"));
  EXPECT_EQ(client->reply().body, "served") << "nobody pauses it";
  const auto other = stage.connect(how);
  ASSERT_TRUE(other->shake()) << "nor another";
  client->close();
  other->close();
  EXPECT_EQ(sendings(stage.daemon, 2), 2);
  EXPECT_EQ(stage.origin.count(), 2u);
}

TEST(RefusedOn, a_plain_tunnel_is_asked_again) {
  Origin origin;
  origin.otherwise(scripts::refuses(2));
  const Daemon daemon({.yaml = api("maxConcurrent: 4") + "access: { connectPorts: [" + std::to_string(origin.port()) +
                               "], plainPorts: [" + std::to_string(origin.port()) + "] }\n"});
  Client client(daemon.port());
  client.send("CONNECT " + origin.host() + " HTTP/1.1\r\nHost: a\r\n\r\nGET /x HTTP/1.1\r\nHost: " + origin.host() +
              "\r\n\r\n");
  EXPECT_EQ(client.head().status, 200);
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "served");
  expect_sent(origin, daemon, reply, 3);
}

std::string switching(const Stage& stage) {
  return get(stage.url("/chat"), "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: key\r\n");
}

TEST(RefusedOn, its_way_to_another_protocol_is_told_its_client) {
  Limited stage("maxConcurrent: 4");
  stage.origin.on("/chat", scripts::refuses(1));
  const Reply reply = stage.ask(switching(stage));
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(reply.body, "busy 1");
  EXPECT_EQ(reply.field("retry-after-ms"), "50");
  expect_sent(stage.origin, stage.daemon, reply, 1);
}

TEST(RefusedOn, its_way_to_another_protocol_pauses_the_others) {
  Limited stage("maxConcurrent: 4");
  stage.origin.on("/chat", scripts::refuses(1, "Retry-After: 30\r\n"));
  EXPECT_EQ(stage.ask(switching(stage)).status, 429);
  expect_limited(stage.fetch("/x", "Penstock-Max-Wait: 0s\r\n"), 503, "pause");
  EXPECT_EQ(stage.origin.count(), 1u);
}

TEST(Switched, has_a_refusal_in_its_bytes_that_nobody_reads) {
  Limited stage("maxConcurrent: 4");
  const std::string inside = "HTTP/1.1 429 No\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n";
  stage.origin.on("/chat", scripts::says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
                                         "Upgrade\r\n\r\n" +
                                         inside));
  Client client(stage.daemon.port());
  client.send(switching(stage));
  EXPECT_EQ(client.head().status, 101);
  EXPECT_EQ(client.rest(), inside);
  EXPECT_EQ(stage.fetch("/x", "Penstock-Max-Wait: 0s\r\n").status, 200) << "no pause";
  EXPECT_EQ(stage.origin.count(), 2u);
}

}  // namespace
}  // namespace penstock::trial
