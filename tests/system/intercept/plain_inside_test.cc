// SPDX-License-Identifier: Apache-2.0
// Plain requests inside a CONNECT, as Node's undici sends them by default: governed one by one. What else is inside is
// a tunnel.
#include <gmock/gmock.h>

#include <memory>

#include "system/stage.h"

namespace penstock::trial {
namespace {

/// An origin to whose port a CONNECT may go, and is expected to carry plain HTTP. `settings` are keys of `defaults`.
struct PlainInside {
  explicit PlainInside(const std::string& settings = "maxConcurrent: 64") : daemon({.yaml = yaml(settings)}) {}

  std::string yaml(const std::string& settings) const {
    const std::string ports = "[" + std::to_string(origin.port()) + "]";
    return "defaults: { " + settings + " }\naccess: { connectPorts: " + ports + ", plainPorts: " + ports + " }\n";
  }
  /// A client that has heard its 200.
  std::unique_ptr<Client> open(const std::string& version = "1.1") const {
    auto client = std::make_unique<Client>(daemon.port());
    client->send("CONNECT " + origin.host() + " HTTP/" + version + "\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(client->head().status, 200);
    return client;
  }
  static std::string request(const std::string& path, const std::string& lines = "") {
    return "GET " + path + " HTTP/1.1\r\nHost: elsewhere.test\r\n" + lines + "\r\n";
  }

  Origin origin;
  Daemon daemon;
};

TEST(PlainInside, can_be_left_at_any_moment) {
  PlainInside stage;
  stage.origin.on("/held", [](Visit& visit) { visit.sees_the_end(); });
  {
    auto first = stage.open();  // what is set up once is set up
    first->send(PlainInside::request("/"));
    EXPECT_EQ(first->reply().body, "hello");
  }
  ASSERT_TRUE(eventually([&] { return stage.daemon.metric("penstock_connections") == 0; }));
  const std::size_t before = stage.daemon.descriptors();
  std::size_t asked = 1;
  for (const std::string& said : {""s, "G"s, "GET /held HTTP/1.1\r\nHo"s, PlainInside::request("/held")}) {
    for (const bool by_reset : {false, true}) {
      auto client = stage.open();
      client->send(said);
      if (said.ends_with("\r\n\r\n")) {
        ASSERT_TRUE(stage.origin.await(++asked));
      }
      by_reset ? client->reset() : client->close();
    }
  }
  EXPECT_TRUE(eventually([&] { return stage.daemon.metric("penstock_connections") == 0; }));
  EXPECT_TRUE(stage.daemon.await_in_flight(stage.origin.host(), 0));
  EXPECT_TRUE(eventually([&] { return stage.daemon.descriptors() <= before; }));
}

}  // namespace
}  // namespace penstock::trial
