// SPDX-License-Identifier: Apache-2.0
// Requests for another protocol by every way in: inside a CONNECT, through a gateway, as http:// that leaves over TLS.
// What the upstream is told, and that one slot is held from the request to the end of the tunnel.
#include <gmock/gmock.h>

#include "support/tls_server.h"
#include "system/tunnels.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const std::string kLines = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: key\r\n\r\n";
const std::string kSwitchingProtocols =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";

constexpr const char* kFar = "127.9.0.3";  // where no other test's programs call

/// An entry `far` with one slot, that originates or not, and whose gateway leads over TLS or not.
struct WaysIn {
  explicit WaysIn(bool is_secure)
      : secure(is_secure),
        daemon({.yaml = "upstreams: { far: { match: " + std::string(kFar) +
                        ", maxConcurrent: 1, https: " + std::string(secure ? "originate" : "tunnel") +
                        ", tls: { ca: '" + authority.file() + "' }, baseUrl: '" + (secure ? "https://" : "http://") +
                        far.host() + "/v1' } }\naccess: { connectPorts: [" + std::to_string(far.port()) +
                        "], plainPorts: [" + std::to_string(far.port()) + "] }\n"}) {}

  std::unique_ptr<Near> client(const std::string& says) const {
    auto near = std::make_unique<Near>(Socket::connect(daemon.port()));
    EXPECT_TRUE(near->send(says));
    return near;
  }
  std::unique_ptr<Near> caller() {
    auto upstream = std::make_unique<Near>(far.accept());
    EXPECT_TRUE(!secure || upstream->socket.put_on(server.wrap()));
    return upstream;
  }
  /// From the 101 to the end of the tunnel; `path` is what the upstream must be asked for.
  void expect_tunnel(Near& client, const std::string& path) {
    auto upstream = caller();
    const std::string head = upstream->reader.head();
    EXPECT_THAT(head, StartsWith("GET " + path + " HTTP/1.1\r\nHost: " + far.host() + "\r\n"));
    EXPECT_THAT(head, HasSubstr("Connection: Upgrade\r\nUpgrade: websocket\r\n"));
    upstream->send(kSwitchingProtocols);
    EXPECT_EQ(client.reply().status, 101);
    client.send("ping");
    EXPECT_EQ(upstream->take(4), "ping");
    upstream->send("pong!");
    EXPECT_EQ(client.take(5), "pong!");
    expect_slot_held();
    upstream->socket.half_close();
    EXPECT_EQ(client.rest(), "");
    client.socket.half_close();
    EXPECT_TRUE(daemon.await_in_flight("far", 0));
    EXPECT_EQ(daemon.await_events(1, "complete").at(0).at("status"), 101);
  }
  /// Another request has to wait for it, and goes away again.
  void expect_slot_held() const {
    EXPECT_EQ(daemon.metric("penstock_tunnels"), 1);
    const auto waiter = client("GET http://" + far.host() + "/waits HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_TRUE(eventually([&] { return daemon.status("far").at("pending") == 1; }));
    EXPECT_FALSE(far.has_caller());
  }

  const bool secure;
  FarEnd far{kFar};
  test::Authority authority;
  test::TlsServer server{authority.issue({.addresses = {kFar}})};
  Daemon daemon;
};

TEST(UpgradeInsideConnect, is_a_tunnel_in_a_slot_of_its_own) {
  WaysIn stage(false);
  auto client = stage.client("CONNECT " + stage.far.host() + " HTTP/1.1\r\n\r\n");
  EXPECT_EQ(client->reply().status, 200);
  EXPECT_FALSE(stage.far.has_caller());
  client->send("GET /chat HTTP/1.1\r\nHost: elsewhere.test\r\n" + kLines);
  stage.expect_tunnel(*client, "/chat");
}

TEST(UpgradeThroughAGateway, is_a_tunnel_with_tls_and_without) {
  for (const bool secure : {false, true}) {
    SCOPED_TRACE(secure);
    WaysIn stage(secure);
    const auto client = stage.client("GET /@far/chat?room=1 HTTP/1.1\r\nHost: penstock\r\n" + kLines);
    stage.expect_tunnel(*client, "/v1/chat?room=1");
  }
}

TEST(UpgradeOriginated, leaves_over_tls) {
  WaysIn stage(true);
  const auto client = stage.client("GET http://" + stage.far.host() + "/chat HTTP/1.1\r\nHost: h\r\n" + kLines);
  stage.expect_tunnel(*client, "/chat");
}

TEST(UpgradeOriginated, that_is_answered_otherwise_comes_back_in_the_clients_terms) {
  WaysIn stage(true);
  const auto client = stage.client("GET http://" + stage.far.host() + "/chat HTTP/1.1\r\nHost: h\r\n" + kLines);
  const auto upstream = stage.caller();
  upstream->send("HTTP/1.1 302 Found\r\nLocation: https://" + stage.far.host() +
                 "/other\r\nStrict-Transport-Security: max-age=1\r\nContent-Length: 0\r\n\r\n");
  const Reply reply = client->reply();
  EXPECT_EQ(reply.status, 302);
  EXPECT_EQ(reply.field("location"), "http://" + stage.far.host() + "/other");
  EXPECT_FALSE(reply.fields.has("strict-transport-security"));
}

}  // namespace
}  // namespace penstock::trial
