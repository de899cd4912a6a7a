// SPDX-License-Identifier: Apache-2.0
// Clients of an intercepted host that speak HTTP/2 and not HTTP/1.1, as gRPC does: tunnels, unless they are refused.
#include <gmock/gmock.h>

#include "system/intercepted.h"
#include "system/tunnels.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;
using testing::Not;

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// The hello of a client, as its CONNECT's first bytes.
std::string hello_of(const test::Shaking& how) {
  test::TlsClient tls(how);
  tls.shake();
  return tls.take_out();
}

struct HasFarEnd {
  FarEnd far;
};

/// A host whose far end the test plays.
struct Modern : HasFarEnd, Intercepted {
  explicit Modern(Scene its = {}) : Intercepted(with_port(std::move(its), far.port())) { port = far.port(); }
  static Scene with_port(Scene its, std::uint16_t port) {
    its.ports.push_back(port);
    return its;
  }
  test::Shaking offering(const std::string& alpn) const {
    auto how = trusting();
    how.alpn = alpn;
    return how;
  }
  /// Bytes pass both ways, the hello first and once.
  void expect_tunnel(TlsCaller& client, const std::string& hello) {
    Near upstream(far.accept());
    EXPECT_EQ(upstream.take(hello.size()), hello);
    EXPECT_TRUE(upstream.send("from the far end"));
    std::string heard;
    while (heard.size() < 16 && client.socket().receive(heard)) {
    }
    EXPECT_EQ(heard, "from the far end");
    client.send("more");
    EXPECT_EQ(upstream.take(4), "more");
  }
};

TEST(H2Only, gets_a_tunnel_that_is_counted_and_told_of_once_a_host) {
  Modern stage({.settings = "maxConcurrent: 64, rate: 100/s"});
  for (int i = 0; i < 3; ++i) {
    const auto how = stage.offering("h2");
    const auto client = stage.connect(how);
    const std::string hello = hello_of(how);
    client->send(hello);
    stage.expect_tunnel(*client, hello);
  }
  const auto dispatched = stage.daemon.await_events(3, "dispatch");
  ASSERT_EQ(dispatched.size(), 3u);
  EXPECT_EQ(dispatched[0].at("upstream"), "api");
  EXPECT_EQ(dispatched[0].at("tunnel"), true);
  EXPECT_EQ(stage.daemon.metric("penstock_tunnels_past_limits_total", "upstream=\"api\""), 3);
  EXPECT_EQ(stage.daemon.status("api").at("tunnelsPastLimits"), 3);
  EXPECT_EQ(stage.daemon.metric("penstock_client_handshakes_total", "result=\"bypassed\""), 3);
  EXPECT_TRUE(eventually([&] { return times(stage.daemon.diagnostics(), "speaks HTTP/2 alone to good.test") > 0; }));
  EXPECT_EQ(times(stage.daemon.diagnostics(), "speaks HTTP/2 alone to good.test"), 1u);
  EXPECT_THAT(stage.daemon.diagnostics(), HasSubstr("(intercept.h2Only)"));
}

TEST(H2Only, is_not_what_offers_http_1_1_too_or_no_protocol_or_others) {
  Intercepted stage;
  for (const char* alpn : {"h2,http/1.1", "http/1.1,h2", "", "http/1.1"}) {
    auto how = stage.trusting();
    how.alpn = alpn;
    const auto client = stage.connect(how);
    EXPECT_TRUE(client->shake()) << alpn << ": " << client->tls.words();
    stage.expect_served(*client);
  }
  auto foreign = stage.trusting();
  foreign.alpn = "mqtt";
  const auto client = stage.connect(foreign);
  EXPECT_FALSE(client->shake());
  EXPECT_THAT(stage.daemon.diagnostics(), Not(HasSubstr("HTTP/2")));
}

TEST(H2Only, is_turned_away_where_that_is_wanted_and_after_a_reload) {
  Intercepted stage({.intercept = "h2Only: refuse"});
  auto how = stage.trusting();
  how.alpn = "h2";
  const auto client = stage.connect(how);
  EXPECT_FALSE(client->shake());
  EXPECT_THAT(client->tls.words(), HasSubstr("no application protocol"));
  stage.scene.intercept = "h2Only: tunnel";
  ASSERT_TRUE(stage.daemon.reloads(stage.yaml()));
  const auto later = stage.connect(how);
  later->send(hello_of(how));
  EXPECT_EQ(stage.daemon.await_events(1, [](const Json& event) { return event.at("event") == "dispatch"; }).size(), 1u);
}

}  // namespace
}  // namespace penstock::trial
