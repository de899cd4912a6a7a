// SPDX-License-Identifier: Apache-2.0
// CONNECT: who may have a tunnel, and when.
#include <gmock/gmock.h>

#include <deque>

#include "system/tunnels.h"

namespace penstock::trial {
namespace {

using testing::StartsWith;

TEST(Tunnel, carries_bytes_both_ways_and_is_one_request) {
  Tunnels stage;
  auto [client, upstream] = stage.open();
  client->send("ping");
  EXPECT_EQ(upstream->take(4), "ping");
  upstream->send("pongpong");
  EXPECT_EQ(client->take(8), "pongpong");
  EXPECT_TRUE(stage.daemon.await_in_flight(stage.far.host(), 1));
  EXPECT_EQ(stage.daemon.metric("penstock_tunnels"), 1);
  client->socket.close();
  EXPECT_EQ(upstream->rest(), "");
  upstream->socket.close();

  const Json ended = stage.daemon.await_event("complete");
  EXPECT_EQ(ended.at("method"), "CONNECT");
  EXPECT_EQ(ended.at("upstream"), stage.far.host());
  EXPECT_EQ(ended.at("path"), "");
  EXPECT_EQ(ended.at("tunnel"), true);
  EXPECT_EQ(ended.at("status"), 200);
  EXPECT_EQ(ended.at("bytesOut"), 4);
  EXPECT_EQ(ended.at("bytesIn"), 8);
  EXPECT_FALSE(ended.contains("sni"));
  const auto all = stage.daemon.events();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].at("event"), "dispatch");
  EXPECT_EQ(all[0].at("tunnel"), true);
}

TEST(Tunnel, is_asked_for_in_all_the_ways_that_clients_have) {
  Tunnels stage;
  const std::string host = stage.far.host();
  for (const auto& lines : {" HTTP/1.0\r\n\r\n"s,                                  // urllib, requests
                            " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"s,               // aiohttp
                            " HTTP/1.1\r\nHost: somewhere.else:1\r\n\r\n"s,        // the authority decides
                            " HTTP/1.1\r\nProxy-Connection: Keep-Alive\r\n\r\n"s,  // no Host, of whatever version
                            " HTTP/1.1\r\nHost: " + host + "\r\nProxy-Authorization: Basic eDp5\r\n\r\n"}) {
    SCOPED_TRACE(lines);
    Near client(Socket::connect(stage.daemon.port()));
    client.send("CONNECT " + host + lines);
    Near upstream(stage.far.accept());
    const Reply reply = client.reply();
    EXPECT_EQ(reply.status, 200);
    for (const char* name : {"content-length", "transfer-encoding", "connection"})
      EXPECT_FALSE(reply.fields.has(name)) << name;
    client.send("x");
    EXPECT_EQ(upstream.take(1), "x") << "nothing before it, no header least of all";
  }
}

TEST(Tunnel, brings_what_was_sent_before_the_answer_exactly_once) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{64 * 1024}}) {
    SCOPED_TRACE(size);
    Tunnels stage("maxConcurrent: 1");
    auto busy = stage.open();
    const std::string early = pattern(0, size);
    auto client = stage.ask(early);
    ASSERT_TRUE(stage.daemon.await_pending(stage.far.host(), 1));
    EXPECT_FALSE(stage.far.has_caller());
    busy.client->socket.close(), busy.upstream->socket.close();
    Near upstream(stage.far.accept());
    EXPECT_EQ(client->reply().status, 200);
    client->send("and then");
    EXPECT_EQ(upstream.take(size + 8), early + "and then");
    client->socket.half_close();
    EXPECT_EQ(upstream.rest(), "");
  }
}

TEST(Tunnel, may_follow_a_request_on_its_connection) {
  Origin origin;
  Tunnels stage;
  Near client(Socket::connect(stage.daemon.port()));
  client.send(get(origin.url("/first")) + stage.connect() + "early");
  EXPECT_EQ(client.reply().body, "hello");
  Near upstream(stage.far.accept());
  EXPECT_EQ(client.reply().status, 200);
  EXPECT_EQ(upstream.take(5), "early");
  EXPECT_EQ(origin.count(), 1u);
}

TEST(RefusedTunnel, leaves_what_came_behind_it_unread) {
  Origin origin;
  Tunnels stage;
  const std::string refused = "CONNECT 127.0.0.1:25 HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n";
  Client client(stage.daemon.port());
  client.send(refused + get(origin.url("/smuggled")));
  EXPECT_EQ(client.reply().status, 403);
  EXPECT_TRUE(client.closed());
  Client behind(stage.daemon.port());
  behind.send(get(origin.url("/first")) + refused + get(origin.url("/smuggled")));
  EXPECT_EQ(behind.reply().status, 200);
  EXPECT_EQ(behind.reply().status, 403);
  EXPECT_TRUE(behind.closed());
  EXPECT_EQ(origin.count(), 1u);
}

TEST(RefusedTunnel, leaves_the_connection_to_a_client_that_waits_and_says_so) {
  Tunnels stage;
  Near client(Socket::connect(stage.daemon.port()));
  client.send("CONNECT 127.0.0.1:25 HTTP/1.1\r\nHost: a\r\nProxy-Connection: Keep-Alive\r\n\r\n");
  EXPECT_EQ(client.reply().status, 403);
  client.send(stage.connect());
  Near upstream(stage.far.accept());
  EXPECT_EQ(client.reply().status, 200);
  client.send("x");
  EXPECT_EQ(upstream.take(1), "x");

  Client other(stage.daemon.port());
  other.send("CONNECT 127.0.0.1:25 HTTP/1.1\r\nHost: a\r\n\r\n");
  expect_refusal(other, {403}, "http_request_denied");
}

TEST(RefusedTunnel, explains_itself_in_the_reason) {
  Tunnels stage("maxConcurrent: 1, queue: { maxPending: 1 }");
  const auto busy = stage.open();
  const auto waiting = stage.ask();
  ASSERT_TRUE(stage.daemon.await_pending(stage.far.host(), 1));
  const Reply reply = stage.answer_to(stage.connect());
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.error(), "connection_limit_reached");
  const std::string after = reply.field("retry-after");
  EXPECT_NE(after, "");
  EXPECT_EQ(reply.reason, "Penstock: " + stage.far.host() +
                              " queue full (limited by slots; 1 slot: a busy tunnel), retry in " + after + "s");
}

TEST(TunnelLimit, on_how_many_at_once_holds_until_they_close) {
  Tunnels stage("maxConcurrent: 2");
  std::deque<Tunnels::Pair> open;
  open.push_back(stage.open());
  open.push_back(stage.open());
  for (int i = 0; i < 6; ++i) {
    auto next = stage.ask();
    ASSERT_TRUE(stage.daemon.await_pending(stage.far.host(), 1));
    EXPECT_FALSE(stage.far.has_caller());
    open.front().client->socket.half_close();
    EXPECT_EQ(open.front().upstream->rest(), "");
    EXPECT_FALSE(stage.far.has_caller()) << "half of it is still open";
    open.pop_front();
    open.push_back({.client = std::move(next), .upstream = std::make_unique<Near>(stage.far.accept())});
    EXPECT_EQ(open.back().client->reply().status, 200);
  }
}

}  // namespace
}  // namespace penstock::trial
