// SPDX-License-Identifier: Apache-2.0
// What a client may say of its own request, so that nobody else pays for it: how heavy one may be, and whose word on it
// counts.
#include <gmock/gmock.h>

#include "system/stage.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;

/// The origin is the upstream `api`, with these keys.
struct Steered {
  explicit Steered(const std::string& settings, const std::string& access = "")
      : daemon({.yaml = "upstreams: { api: { match: '" + origin.host() + "', " + settings + " } }\n" + access}) {}

  Reply ask(const std::string& lines, const char* from = nullptr) const {
    Client client(daemon.port(), 0, from);
    client.send(get(origin.url(), lines));
    return client.reply();
  }

  Origin origin;
  Daemon daemon;
};

TEST(Weight, beyond_the_most_is_400_and_delays_nobody) {
  Steered stage("limits: [ pacer: { qps: 15 } ]");
  const Reply heavy = stage.ask("Penstock-Weight: 1000000\r\n");
  expect_own_answer(heavy, {400});
  EXPECT_THAT(heavy.field("proxy-status"), HasSubstr("api takes no Penstock-Weight of 1000000: maxWeight is 1000"));
  EXPECT_EQ(stage.ask("").status, 200);
  const auto refused = stage.daemon.await_events(1, "refused").at(0);
  EXPECT_EQ(refused["weight"], 1'000'000);
  EXPECT_EQ(stage.daemon.await_events(1, "complete").at(0).count("weight"), 0u) << "of one unit nothing is said";
}

TEST(Weight, that_keeps_a_pacer_busy_for_longer_than_anybody_may_wait_is_400) {
  Steered stage("maxWeight: 1000000, limits: [ pacer: { qps: 60 } ], queue: { maxWait: 500ms }");
  EXPECT_THAT(stage.ask("Penstock-Weight: 31\r\n").field("proxy-status"), HasSubstr("within queue.maxWait"));
  EXPECT_EQ(stage.ask("Penstock-Weight: 15\r\n").status, 200);
  EXPECT_EQ(stage.ask("").status, 200) << "a quarter of a second behind it";
  EXPECT_EQ(stage.ask("Penstock-Weight: 30\r\n").status, 200);
  EXPECT_EQ(stage.daemon.await_events(3, "complete").at(2)["weight"], 30);
}

TEST(Weight, that_a_burst_takes_at_once_may_be_longer_to_earn) {
  Steered stage("limits: [{ pacer: { qps: 1, maxBurst: 100 } }], queue: { maxWait: 2s }");
  EXPECT_EQ(stage.ask("Penstock-Weight: 100\r\n").status, 200);
}

TEST(Weight, may_be_raised_by_a_reload) {
  Steered stage("maxWeight: 2");
  EXPECT_EQ(stage.ask("Penstock-Weight: 3\r\n").status, 400);
  ASSERT_TRUE(stage.daemon.reloads("upstreams: { api: { match: '" + stage.origin.host() + "', maxWeight: 3 } }\n"));
  EXPECT_EQ(stage.ask("Penstock-Weight: 3\r\n").status, 200);
}

TEST(RequestHints, counts_for_the_networks_that_are_named_and_is_dropped_of_others) {
  Steered stage("maxWeight: 5", "access: { steering: [127.0.0.2] }\n");
  EXPECT_EQ(stage.ask("Penstock-Weight: 6\r\n").status, 200);
  EXPECT_EQ(stage.ask("Penstock-Max-Wait: nonsense\r\n").status, 200);
  EXPECT_EQ(stage.ask("").status, 200);
  EXPECT_EQ(stage.daemon.metric("penstock_steering_dropped_total"), 2);
  EXPECT_EQ(stage.ask("Penstock-Weight: 6\r\n", "127.0.0.2").status, 400);
  EXPECT_EQ(stage.daemon.metric("penstock_steering_dropped_total"), 2);
  for (const auto& seen : stage.origin.seen()) EXPECT_FALSE(seen.fields.has("penstock-weight"));
}

TEST(RequestHints, of_a_tunnel_and_inside_it_is_judged_the_same_way) {
  Steered stage("maxWeight: 5", "access: { steering: [127.0.0.2], connectPorts: [80] }\n");
  const std::string port = std::to_string(stage.origin.port());
  ASSERT_TRUE(stage.daemon.reloads("upstreams: { api: { match: '" + stage.origin.host() +
                                   "', maxWeight: 5 } }\naccess: { steering: [127.0.0.2], connectPorts: [" + port +
                                   "], plainPorts: [" + port + "] }\n"));
  for (const auto& [from, status] : {std::pair("127.0.0.1", 200), std::pair("127.0.0.2", 400)}) {
    Client client(stage.daemon.port(), 0, from);
    client.send("CONNECT " + stage.origin.host() + " HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n" +
                "Penstock-Weight: 6\r\n\r\n");
    EXPECT_EQ(client.head().status, 200);
    EXPECT_EQ(client.reply().status, status) << from;
  }
}

}  // namespace
}  // namespace penstock::trial
