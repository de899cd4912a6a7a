// SPDX-License-Identifier: Apache-2.0
// Clients that take their time: with a head, with a body, with their next request. Each is let go in the way that it
// can understand, the upstream hears of none that never became a request, and nobody else is meant.
#include <gmock/gmock.h>

#include "system/tunnels.h"

namespace penstock::trial {
namespace {

/// Says it a byte at a time, until an answer comes or patience is over.
void dribble(Client& client, std::string_view endless) {
  const auto until = Clock::now() + kPatience;
  for (std::size_t i = 0; Clock::now() < until && !client.hears_within(50ms); ++i) {
    client.send(endless.substr(i % endless.size(), 1));
  }
}

void expect_408(Client& client) {
  const Reply reply = client.reply();
  expect_own_answer(reply, {408});
  EXPECT_TRUE(same_name(reply.field("connection"), "close")) << reply.head;
  EXPECT_TRUE(client.closed()) << "one answer, and nothing after it";
}

const std::string kHalfAHead = "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX: ";

TEST(HeaderTimeout, is_408_for_a_head_that_never_ends) {
  Stage stage(with_defaults("timeouts: { header: 1s }"));
  Client client(stage.daemon.port());
  const auto start = Clock::now();
  client.send("GET " + stage.url("/slow") + " HTTP/1.1\r\nHost: a\r\nX: ");
  dribble(client, "x");
  EXPECT_GE(Clock::now() - start, 990ms) << "absolute, and not sooner";
  EXPECT_TRUE(within(1s + kLate, start));
  expect_408(client);
  const Json refused = stage.daemon.await_event("refused");
  EXPECT_EQ(refused.at("status"), 408);
  EXPECT_THAT(refused.value("detail", ""), testing::HasSubstr("timeouts.header"));
  EXPECT_EQ(stage.daemon.metric("penstock_refusals_total", "kind=\"head_timeout\""), 1);
  EXPECT_EQ(stage.origin.count(), 0u);
}

TEST(HeaderTimeout, is_408_for_a_request_line_too_and_for_a_connect) {
  Tunnels stage("timeouts: { header: 1s }");
  for (const std::string begins : {"G", "GET http://a.test/", "CONNECT 127.0.0.1:443 HTTP/1.1\r\nHost: "}) {
    Client client(stage.daemon.port());
    client.send(begins);
    expect_408(client);
  }
  EXPECT_FALSE(stage.far.has_caller());
  EXPECT_EQ(stage.daemon.await_events(3, "refused").size(), 3u);
}

TEST(HeaderTimeout, is_for_the_next_request_of_a_connection_as_well) {
  Stage stage(with_defaults("timeouts: { header: 1s }"));
  Client client(stage.daemon.port());
  client.send(get(stage.url("/first")));
  EXPECT_EQ(client.reply().status, 200);
  client.send(kHalfAHead);
  expect_408(client);
  EXPECT_EQ(stage.origin.count(), 1u);
}

TEST(HeaderTimeout, counts_from_the_first_byte_and_not_from_connecting) {
  Stage stage(with_defaults("timeouts: { header: 1s }"));
  Client client(stage.daemon.port());
  std::this_thread::sleep_for(1500ms);  // longer than the time-out, without a byte
  client.send(get(stage.url()));
  EXPECT_EQ(client.reply().status, 200);
}

TEST(HeaderTimeout, does_not_count_while_a_request_before_it_is_served) {
  Stage stage(with_defaults("timeouts: { header: 3s }"));
  stage.origin.on("/held", scripts::held());
  Client client(stage.daemon.port());
  client.send(get(stage.url("/held")) + "GET " + stage.url("/next") + " HTTP/1.1\r\n");
  ASSERT_TRUE(stage.origin.await(1));
  EXPECT_FALSE(client.hears_within(3500ms));
  stage.origin.release();
  EXPECT_EQ(client.reply().body, "released");
  client.send("Host: a\r\n\r\n");
  EXPECT_EQ(client.reply().status, 200);
}

TEST(HeaderTimeout, of_zero_is_none) {
  Stage stage(with_defaults("timeouts: { header: 0s, keepAlive: 1s }"));
  Client client(stage.daemon.port());
  client.send("GET " + stage.url("/late") + " HTTP/1.1\r\n");
  EXPECT_FALSE(client.hears_within(2500ms)) << "a connection with half a head is not idle, either";
  client.send("Host: a\r\n\r\n");
  EXPECT_EQ(client.reply().status, 200);
}

/// Answers with the body, once it has come to its end.
void give_back(Visit& visit) {
  if (visit.read_body()) visit.answer(200, visit.request().body);
}

/// One slot, taken by a request that is held.
struct Taken : Stage {
  explicit Taken(const std::string& timeouts, const std::string& more = "")
      : Stage({.yaml = "defaults: { maxConcurrent: 1, timeouts: { " + timeouts + " } }\n" + more}),
        holder(daemon.port()) {
    origin.on("/held", scripts::held());
    origin.on("/body", give_back);
    holder.send(get(url("/held")));
    EXPECT_TRUE(origin.await(1));
  }
  std::string post(std::size_t length, std::string_view lines = "") const {
    return "POST " + url("/body") + " HTTP/1.1\r\nHost: a\r\n" + std::string(lines) +
           "Content-Length: " + std::to_string(length) + "\r\n\r\n";
  }
  Client holder;
};

TEST(BodyTimeout, is_408_for_a_pending_request_which_leaves_the_queue) {
  Taken stage("body: 1s");
  Client client(stage.daemon.port());
  const auto start = Clock::now();
  client.send(stage.post(1u << 30) + "some");
  expect_408(client);
  EXPECT_GE(Clock::now() - start, 990ms);
  EXPECT_TRUE(within(1s + kLate, start));
  const auto refused = stage.daemon.await_events(1, "refused");
  ASSERT_EQ(refused.size(), 1u) << "of one in flight it would be an error";
  EXPECT_EQ(refused[0].at("status"), 408);
  EXPECT_EQ(stage.daemon.metric("penstock_refusals_total", "kind=\"body_timeout\""), 1);
  EXPECT_TRUE(stage.daemon.await_pending(stage.origin.host(), 0));
  stage.origin.release();
  EXPECT_EQ(stage.holder.reply().status, 200);
  EXPECT_EQ(stage.fetch("/next").status, 200);
  for (const auto& seen : stage.origin.seen()) EXPECT_NE(seen.target, "/body");
}

TEST(BodyTimeout, is_408_in_flight_too_and_frees_the_slot) {
  Stage stage(with_defaults("maxConcurrent: 1, timeouts: { body: 1s }"));
  stage.origin.on("/body", [](Visit& visit) { visit.read_body(); });
  Client client(stage.daemon.port());
  client.send("POST " + stage.url("/body") + " HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nsome");
  ASSERT_TRUE(stage.origin.await(1));
  expect_408(client);
  const Json error = stage.daemon.await_event("error");
  EXPECT_EQ(error.at("status"), 408);
  EXPECT_EQ(stage.daemon.metric("penstock_requests_total", "outcome=\"client_gone\""), 1);
  EXPECT_EQ(stage.fetch("/next").status, 200) << "the slot is free";
  ASSERT_TRUE(eventually([&] { return stage.origin.seen().at(0).body == "some"; }));
  EXPECT_FALSE(stage.origin.seen()[0].whole) << "the upstream sees that it was cut";
}

TEST(BodyTimeout, of_a_chunked_body_counts_its_bytes_and_not_its_framing) {
  Stage stage(with_defaults("timeouts: { body: 1s }"));
  stage.origin.on("/body", [](Visit& visit) { visit.read_body(); });
  Client client(stage.daemon.port());
  client.send("POST " + stage.url("/body") + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" +
              chunk("some") + "5;x=");
  ASSERT_TRUE(stage.origin.await(1));
  dribble(client, "y");
  expect_408(client);
}

TEST(BodyTimeout, leaves_a_trickle_alone) {
  Stage stage(with_defaults("timeouts: { body: 4s }"));
  stage.origin.otherwise(give_back);
  Client client(stage.daemon.port());
  client.send("POST " + stage.url() + " HTTP/1.1\r\nHost: a\r\nContent-Length: 25\r\n\r\n");
  for (int i = 0; i < 25; ++i) {
    std::this_thread::sleep_for(200ms);  // in all longer than the time-out
    client.send("x");
  }
  EXPECT_EQ(client.reply().body, std::string(25, 'x'));
}

TEST(BodyTimeout, does_not_count_where_nobody_wants_the_body_yet) {
  Taken stage("body: 3s", "caps: { pendingBodyBytes: 1KiB }\n");
  const std::string body = pattern(0, 8000);
  Client beyond_the_cap(stage.daemon.port()), expecting(stage.daemon.port());
  beyond_the_cap.send(stage.post(body.size()) + body);
  expecting.send(stage.post(body.size(), "Expect: 100-continue\r\n"));
  ASSERT_TRUE(stage.daemon.await_pending(stage.origin.host(), 2));
  EXPECT_FALSE(expecting.hears_within(4000ms));
  stage.origin.release();
  EXPECT_TRUE(beyond_the_cap.reply().body == body);
  EXPECT_EQ(expecting.head().status, 100);
  expecting.send(body);
  EXPECT_TRUE(expecting.reply().body == body);
}

TEST(BodyTimeout, does_not_count_behind_the_beginning_of_an_answer) {
  Stage stage(with_defaults("timeouts: { body: 1s }"));
  stage.origin.on("/talk", [](Visit& visit) {
    visit.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nh");
    visit.read_body();
    visit.last("eard");
  });
  Client client(stage.daemon.port());
  client.send("POST " + stage.url("/talk") + " HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nso");
  ASSERT_TRUE(client.hears_within(kPatience));
  std::this_thread::sleep_for(2500ms);  // it may wait for the upstream's next word
  client.send("me");
  EXPECT_EQ(client.reply().body, "heard");
}

TEST(KeepAlive, ends_a_connection_that_never_said_a_byte_silently) {
  Stage stage(with_defaults("timeouts: { keepAlive: 1s }"));
  const auto start = Clock::now();
  Client client(stage.daemon.port());
  EXPECT_TRUE(client.closed());
  EXPECT_FALSE(client.was_reset());
  EXPECT_GE(Clock::now() - start, 990ms);
  EXPECT_TRUE(within(1s + kLate, start));
  EXPECT_TRUE(stage.daemon.events().empty());
}

TEST(KeepAlive, does_not_count_while_a_request_is_pending_or_in_flight) {
  Taken stage("keepAlive: 1s");
  Client pending(stage.daemon.port());
  pending.send(get(stage.url("/pending")));
  EXPECT_FALSE(pending.hears_within(2500ms));
  stage.origin.release();
  EXPECT_EQ(stage.holder.reply().body, "released");
  EXPECT_EQ(pending.reply().status, 200);
}

TEST(KeepAlive, begins_again_with_every_request_refused_ones_too) {
  Stage stage(with_defaults("timeouts: { keepAlive: 3s }"));
  Client client(stage.daemon.port());
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(500ms);  // in all longer than the time-out
    client.send(get(i % 2 ? stage.url() : "/no-such-thing-on-the-proxy"));
    ASSERT_EQ(client.reply().status, i % 2 ? 200 : 400) << i;
  }
}

TEST(KeepAlive, leaves_a_client_alone_that_takes_its_answer_little_by_little) {
  Stage stage(with_defaults("timeouts: { keepAlive: 1s }"));
  constexpr std::size_t kSize = 8 * 1024 * 1024;
  stage.origin.on("/much", scripts::sized(kSize));
  Client client(stage.daemon.port(), 64 * 1024);
  client.send(get(stage.url("/much")));
  std::size_t read = 0;
  const Reply much = client.reply(false, [&](std::string_view bytes) {
    const bool another = read / (1024 * 1024) != (read + bytes.size()) / (1024 * 1024);
    read += bytes.size();
    if (another && read < kSize) std::this_thread::sleep_for(800ms);
  });
  EXPECT_TRUE(much.whole) << read;
  client.send(get(stage.url("/next")));
  EXPECT_EQ(client.reply().body, "hello");
}

TEST(ClientTimeouts, are_not_for_tunnels) {
  Tunnels stage("timeouts: { header: 1s, body: 1s, keepAlive: 1s }");
  auto [client, upstream] = stage.open();
  std::this_thread::sleep_for(2500ms);
  upstream->send("still here");
  EXPECT_EQ(client->take(10), "still here");
  client->send("so am I");
  EXPECT_EQ(upstream->take(7), "so am I");
}

TEST(ClientTimeouts, are_not_for_a_connection_behind_a_101) {
  Stage stage(with_defaults("timeouts: { header: 1s, body: 1s, keepAlive: 1s }"));
  stage.origin.on("/chat", [](Visit& visit) {
    visit.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n");
    std::this_thread::sleep_for(2500ms);
    visit.write("still here");
    visit.close();
  });
  Client client(stage.daemon.port());
  client.send(get(stage.url("/chat"), "Connection: Upgrade\r\nUpgrade: chat\r\n"));
  EXPECT_EQ(client.head().status, 101);
  EXPECT_EQ(client.rest(), "still here");
}

TEST(ClientTimeouts, are_for_requests_inside_a_connect_as_well) {
  Stage stage({.yaml = "defaults: { timeouts: { header: 1s } }\naccess: { connectPorts: [80], plainPorts: [80] }\n"});
  Client client(stage.daemon.port());
  client.send("CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  EXPECT_EQ(client.head().status, 200);
  client.send("GET /inside HTTP/1.1\r\nHost: ");
  expect_408(client);
}

TEST(ReloadedTimeouts, hold_at_once_for_clients_that_are_connected) {
  Stage stage(with_defaults("timeouts: { header: 1h, body: 1h, keepAlive: 1h }"));
  stage.origin.on("/body", [](Visit& visit) { visit.read_body(); });
  Client silent(stage.daemon.port()), head(stage.daemon.port()), body(stage.daemon.port());
  silent.send(get(stage.url()));
  EXPECT_EQ(silent.reply().status, 200);
  head.send(kHalfAHead);
  body.send("POST " + stage.url("/body") + " HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nsome");
  ASSERT_TRUE(stage.origin.await(2));
  ASSERT_TRUE(eventually([&] { return stage.daemon.metric("penstock_connections") == 3; }));
  ASSERT_TRUE(stage.daemon.reloads("defaults: { timeouts: { header: 1s, body: 1s, keepAlive: 1s } }\n"));
  expect_408(head);
  expect_408(body);
  EXPECT_TRUE(silent.closed());
}

}  // namespace
}  // namespace penstock::trial
