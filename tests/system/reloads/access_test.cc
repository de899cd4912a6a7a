// SPDX-License-Identifier: Apache-2.0
// SIGHUP with a file that lets fewer in, or to fewer places: it holds at once, also for those who waited already.
#include <gmock/gmock.h>

#include "support/name_server.h"
#include "system/limited.h"
#include "system/tunnels.h"

namespace penstock::trial {
namespace {

TEST(ReloadedAccess, of_clients_holds_for_the_next_request_of_each_connection) {
  Stage stage;
  Client kept(stage.daemon.port());
  kept.send(get(stage.url("/1")));
  EXPECT_EQ(kept.reply().status, 200);
  ASSERT_TRUE(stage.daemon.reloads(shut_for("clients: [10.0.0.0/8]")));
  kept.send(get(stage.url("/2")));
  expect_refusal(kept, {403}, "http_request_denied");
  expect_own_answer(stage.fetch("/3"), {403}, "http_request_denied");
  EXPECT_EQ(stage.origin.count(), 1u);
  Client early(stage.daemon.port());
  ASSERT_TRUE(eventually([&] { return stage.daemon.metric("penstock_connections") == 1; }));
  ASSERT_TRUE(stage.daemon.reloads(""));
  early.send(get(stage.url("/4")));
  EXPECT_EQ(early.reply().status, 200) << "who was connected before they let him in";
  EXPECT_EQ(stage.origin.count(), 2u);
}

TEST(ReloadedAccess, that_denies_an_address_bars_the_connections_kept_to_it) {
  Stage stage;
  Client client(stage.daemon.port());
  for (int i = 0; i < 2; ++i) {
    client.send(get(stage.url("/before")));
    EXPECT_EQ(client.reply().status, 200);
  }
  EXPECT_EQ(stage.origin.connections(), 1u) << "it is kept";
  ASSERT_TRUE(stage.daemon.reloads(shut_for("deny: [127.0.0.1]")));
  client.send(get(stage.url("/after")));
  expect_own_answer(client.reply(), {403}, "destination_ip_prohibited");
  client.send(get("http://localhost:" + std::to_string(stage.origin.port()) + "/by_name"));
  EXPECT_NE(client.reply().status, 200);
  EXPECT_EQ(stage.origin.count(), 2u) << "not a byte came";
  EXPECT_EQ(stage.origin.connections(), 1u);
  ASSERT_TRUE(stage.daemon.reloads(""));
  client.send(get(stage.url("/again")));
  EXPECT_EQ(client.reply().status, 200);
}

TEST(ReloadedAccess, that_denies_one_address_of_a_name_has_another_one_tried_instead_of_the_kept_connection) {
  const test::NameServer names([](const std::string&, std::uint16_t type) {
    const bool v4 = type == test::NameServer::kA;
    return test::NameServer::Reply{.addresses = {v4 ? "127.0.0.1" : "::1"}};
  });
  const std::string dns = "dns: { servers: [\"" + names.address() + "\"] }\n";
  Stage stage({.yaml = dns});
  const auto ask = [&] {
    return stage.ask(get(stage.origin.url_at("two.test:" + std::to_string(stage.origin.port()))));
  };
  EXPECT_EQ(ask().status, 200);
  ASSERT_TRUE(stage.daemon.reloads(dns + shut_for("deny: [127.0.0.1]")));
  const Reply reply = ask();
  expect_own_answer(reply, {502}, "connection_refused");
  EXPECT_EQ(stage.origin.count(), 1u) << "nobody listens at the other, and the kept connection is not for it";
}

TEST(ReloadedAccess, holds_for_those_who_wait_and_for_what_was_read_ahead) {
  Limited stage("maxConcurrent: 1");
  stage.origin.otherwise(scripts::held());
  Client pipelining(stage.daemon.port());
  pipelining.send(get(stage.url("/held")) + get(stage.url("/ahead")));
  ASSERT_TRUE(stage.origin.await(1));
  stage.send_one("/waits");
  ASSERT_TRUE(stage.daemon.reloads(api("maxConcurrent: 1") + shut_for("deny: [127.0.0.1]")));
  stage.origin.release_all();
  EXPECT_EQ(pipelining.reply().body, "released") << "what is in flight goes on";
  expect_own_answer(pipelining.reply(), {403}, "destination_ip_prohibited");
  expect_own_answer(stage.clients.back().reply(), {403}, "destination_ip_prohibited");
  EXPECT_EQ(stage.origin.count(), 1u);
}

TEST(Reload, leaves_a_tunnel_open_to_where_none_may_go_any_more) {
  Tunnels stage;
  auto tunnel = stage.open();
  ASSERT_TRUE(tunnel.client->send("before"));
  EXPECT_EQ(tunnel.upstream->take(6), "before");
  ASSERT_TRUE(stage.daemon.reloads(shut_for("connectPorts: [1], deny: [127.0.0.1]")));
  expect_own_answer(stage.answer_to(stage.connect()), {403}, "http_request_denied");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(tunnel.client->send(pattern(0, 100'000)));
    EXPECT_EQ(tunnel.upstream->take(100'000), pattern(0, 100'000));
    ASSERT_TRUE(tunnel.upstream->send("thanks"));
    EXPECT_EQ(tunnel.client->take(6), "thanks");
    ASSERT_TRUE(stage.daemon.reloads());
  }
  EXPECT_FALSE(stage.far.has_caller());
}

}  // namespace
}  // namespace penstock::trial
