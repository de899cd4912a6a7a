// SPDX-License-Identifier: Apache-2.0
// Clients without end: beyond `caps.connections` and `caps.connectionsPerClient` they are told to come back, the
// upstream hears of none of them, and who is in, and the admin port, notice nothing.
#include <gmock/gmock.h>

#include <deque>

#include "system/tunnels.h"

namespace penstock::trial {
namespace {

Given with_caps(std::string_view caps) { return {.yaml = "caps: { " + std::string(caps) + " }\n"}; }

double refused(const Daemon& daemon, const std::string& kind) {
  return daemon.metric("penstock_connections_refused_total", "kind=\"" + kind + "\"");
}

bool await_connections(const Daemon& daemon, std::size_t count) {
  return eventually([&] { return daemon.metric("penstock_connections") == static_cast<double>(count); });
}

void expect_turned_away(Client& client) {
  const Reply reply = client.reply();
  expect_own_answer(reply, {503}, "connection_limit_reached");
  EXPECT_EQ(reply.field("retry-after"), "1");
  EXPECT_TRUE(same_name(reply.field("connection"), "close")) << reply.head;
  EXPECT_TRUE(client.closed());
}

TEST(ConnectionsCap, turns_away_whoever_comes_when_all_seats_are_taken) {
  Stage stage(with_caps("connections: 8"));
  std::deque<Client> seated;
  for (int i = 0; i < 8; ++i) seated.emplace_back(stage.daemon.port());
  ASSERT_TRUE(await_connections(stage.daemon, 8));
  Client silent(stage.daemon.port()), asking(stage.daemon.port()), uploading(stage.daemon.port());
  asking.send(get(stage.url("/asked")));
  uploading.send(with_body("POST", stage.url("/uploaded"), std::string(200'000, 'b')));
  for (Client* client : {&silent, &asking, &uploading}) expect_turned_away(*client);
  EXPECT_EQ(refused(stage.daemon, "connections"), 3);
  EXPECT_EQ(stage.daemon.admin("/readyz").status, 200);
  EXPECT_TRUE(stage.daemon.events().empty()) << "a flood does not fill the log";
  for (auto& client : seated) {
    client.send(get(stage.url("/seated")));
    EXPECT_EQ(client.reply().body, "hello");
  }
  EXPECT_EQ(stage.origin.count(), 8u);
  seated.pop_front();
  EXPECT_TRUE(eventually([&] { return stage.fetch("/later").status == 200; })) << "a slot is free again";
}

// More than any one address may have, from several, and more than all may have.
TEST(ConnectionsCap, of_eight_thousand_holds_against_nine_thousand_from_several_addresses) {
  constexpr std::size_t kAddresses = 5, kEach = 1800, kCap = 8000;
  ASSERT_GE(allow_open_files(), kAddresses * kEach + 200);
  Stage stage(with_caps("connections: 8000, connectionsPerClient: 2000"));
  std::deque<Client> clients;
  for (std::size_t i = 0; i < kAddresses * kEach; ++i)
    clients.emplace_back(stage.daemon.port(), 0, ("127.0.0." + std::to_string(2 + i % kAddresses)).c_str());
  ASSERT_TRUE(await_connections(stage.daemon, kCap));
  EXPECT_TRUE(eventually([&] { return refused(stage.daemon, "connections") == kAddresses * kEach - kCap; }));
  EXPECT_EQ(stage.daemon.admin("/readyz").status, 200);
  for (std::size_t i = 0; i < kCap; i += 100) {
    clients[i].send(get(stage.url()));
    ASSERT_EQ(clients[i].reply().status, 200) << i;
  }
  for (std::size_t i = kCap; i < clients.size(); i += 50) {
    clients[i].rest();  // those of the crowd at the door whom there was time to tell got an answer
    EXPECT_TRUE(clients[i].socket().ended()) << i;
  }
  clients.clear();
  EXPECT_TRUE(await_connections(stage.daemon, 0));
  EXPECT_EQ(stage.fetch("/afterwards").status, 200);
}

// First come, first served, whoever it is; what keeps one client from filling the queue is the cap on its connections.
TEST(Fairness, between_one_client_with_many_requests_and_another_with_one_is_their_order_and_a_cap) {
  constexpr std::size_t kMany = 500, kCap = 100;
  Stage stage({.yaml = "defaults: { maxConcurrent: 1 }\ncaps: { connectionsPerClient: 100 }\n"});
  stage.origin.on("/0", scripts::held());
  std::deque<Client> greedy;
  for (std::size_t i = 0; i < kMany; ++i)
    greedy.emplace_back(stage.daemon.port(), 0, "127.0.0.2").send(get(stage.url("/" + std::to_string(i))));
  ASSERT_TRUE(stage.daemon.await_pending(stage.origin.host(), kCap - 1));
  EXPECT_TRUE(eventually([&] { return refused(stage.daemon, "connectionsPerClient") == kMany - kCap; }));
  Client modest(stage.daemon.port(), 0, "127.0.0.3");
  modest.send(get(stage.url("/modest")));
  ASSERT_TRUE(stage.daemon.await_pending(stage.origin.host(), kCap));
  stage.origin.release();
  EXPECT_EQ(modest.reply().status, 200);
  const auto seen = stage.origin.seen();
  ASSERT_EQ(seen.size(), kCap + 1);
  EXPECT_EQ(seen.back().target, "/modest") << "behind the hundred before it, and no further";
}

}  // namespace
}  // namespace penstock::trial
