// SPDX-License-Identifier: Apache-2.0
// Peers that close while they are written to: clients, upstreams, both ends of tunnels, readers of metrics, Redis. The
// kernel answers such a write with SIGPIPE, which ends a program that has not thought of it.
#include <gmock/gmock.h>

#include <csignal>

#include "system/redis_stage.h"
#include "system/tunnels.h"

namespace penstock::trial {
namespace {

constexpr int kTimes = 40;

TEST(ClosedPeer, sends_a_signal_that_ends_nobody) {
  Stage stage;
  for (int i = 0; i < 3; ++i) stage.daemon.signal(SIGPIPE);
  EXPECT_EQ(stage.fetch("/").body, "hello");
}

TEST(ClosedPeer, that_reads_metrics_ends_nobody) {
  Stage stage;
  for (int i = 0; i < kTimes; ++i) {
    Client reader(stage.daemon.admin_port());
    std::string many;
    for (int j = 0; j < 20; ++j) many += "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    EXPECT_TRUE(reader.send(many));
    if (i % 2) reader.hears_within(kPatience);
    if (i % 3) reader.reset();
  }
  EXPECT_EQ(stage.daemon.admin("/healthz").status, 200);
  EXPECT_EQ(stage.fetch("/").body, "hello");
}

TEST(ClosedPeer, that_is_a_client_ends_nobody) {
  Stage stage;
  stage.origin.on("/much", scripts::sized(4 * 1024 * 1024));
  for (int i = 0; i < kTimes; ++i) {
    Client client(stage.daemon.port(), 16 * 1024);
    client.send(get(stage.url("/much")));
    EXPECT_TRUE(client.hears_within(kPatience));
    if (i % 2) client.reset();
  }
  EXPECT_EQ(stage.daemon.await_events(kTimes, "error").size(), static_cast<std::size_t>(kTimes));
  EXPECT_EQ(stage.fetch("/").body, "hello");
}

TEST(ClosedPeer, that_is_an_upstream_in_the_middle_of_an_upload_ends_nobody) {
  Stage stage;
  stage.origin.on("/closes", [](Visit& visit) { visit.close(); });
  stage.origin.on("/resets", [](Visit& visit) { visit.reset(); });
  const std::string body = pattern(0, 4 * 1024 * 1024);
  for (int i = 0; i < kTimes; ++i) {
    const Reply reply = stage.ask(with_body("POST", stage.url(i % 2 ? "/closes" : "/resets"), body));
    EXPECT_TRUE(reply.status == 502 || reply.status == 0) << reply.head;
  }
  EXPECT_EQ(stage.daemon.await_events(kTimes, "error").size(), static_cast<std::size_t>(kTimes));
  EXPECT_EQ(stage.fetch("/").body, "hello");
}

TEST(ClosedPeer, at_either_side_of_a_tunnel_ends_nobody) {
  Tunnels stage;
  const std::string bytes = pattern(0, 64 * 1024);
  for (int i = 0; i < kTimes; ++i) {
    auto [client, upstream] = stage.open();
    auto& leaver = i % 2 ? client : upstream;
    auto& speaker = i % 2 ? upstream : client;
    EXPECT_TRUE(speaker->send(bytes));
    if (i % 4 < 2)
      leaver->socket.reset();
    else
      leaver->socket.close();  // with bytes that nobody reads
    const auto until = Clock::now() + kPatience;
    while (speaker->send(bytes) && Clock::now() < until) {
    }
    EXPECT_LT(Clock::now(), until) << "the speaker learns of it";
  }
  EXPECT_TRUE(stage.await_rest());
  const auto pair = stage.open();
  pair.client->send("hello");
  EXPECT_EQ(pair.upstream->take(5), "hello");
}

TEST(ClosedPeer, that_is_redis_ends_nobody) {
  SharedStage stage({.limits = "pacer: { qps: 500 }"});
  const Daemon& daemon = stage.add();
  Load load(stage.ports(), stage.origin.url());
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(stage.arrivals.await(stage.arrivals.count() + 20));
    stage.redis.run({"CLIENT", "KILL", "TYPE", "normal"});
    EXPECT_TRUE(eventually([&] { return is_up(daemon); }));
  }
  expect_only_successes(load.stop());
  EXPECT_GE(daemon.metric("penstock_redis_errors_total"), 1) << "it was noticed";
}

}  // namespace
}  // namespace penstock::trial
