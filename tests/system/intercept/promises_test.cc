// SPDX-License-Identifier: Apache-2.0
// Requests inside an intercepted connection keep every promise of those that come in the clear: they stream, wait, are
// refused, end and stay secret alike.
#include <gmock/gmock.h>

#include <atomic>
#include <fstream>

#include "system/intercepted.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(InterceptedAnswer, waits_for_a_slow_reader_in_little_memory_and_arrives_whole) {
  constexpr std::uint64_t kSize = 48 * kMiB;
  Intercepted stage;
  std::atomic<std::uint64_t> sent = 0;
  stage.origin.on("/big", [&](Visit& visit) {
    visit.write("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kSize) + "\r\n\r\n");
    while (sent < kSize && visit.write(pattern(sent, 64 * 1024))) sent += 64 * 1024;
  });
  const auto client = stage.open("good.test", 64 * 1024);
  const std::size_t before = stage.daemon.resident_kib();
  client->send(stage.request("/big"));
  EXPECT_LT(settled(sent), kSize) << "only what the sockets between hold";
  EXPECT_LT(stage.daemon.resident_kib(), before + slack_kib());
  EXPECT_EQ(stage.daemon.status("api").at("inFlight"), 1);
  Checked body;
  EXPECT_TRUE(client->reply(false, body.sink()).whole);
  EXPECT_TRUE(body.exact);
  EXPECT_EQ(body.size, kSize);
}

TEST(InterceptedAnswer, that_the_origin_cuts_off_is_cut_off_for_the_client) {
  Intercepted stage;
  stage.origin.on("/length", scripts::says("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123"));
  stage.origin.on("/chunks", scripts::says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n123\r\n"));
  for (const char* path : {"/length", "/chunks"}) {
    const Reply reply = stage.fetch(path);
    EXPECT_EQ(reply.status, 200);
    EXPECT_FALSE(reply.whole) << path;
  }
  EXPECT_EQ(stage.daemon.await_events(2, "error").size(), 2U);
}

TEST(InterceptedUpload, waits_for_a_slow_origin_in_little_memory_and_arrives_whole) {
  constexpr std::uint64_t kSize = 48 * kMiB;
  Intercepted stage;
  Checked arrived;
  stage.origin.otherwise([&](Visit& visit) {
    visit.hold();
    visit.read_body(arrived.sink());
    visit.answer(200, "got it");
  });
  const auto client = stage.open();
  const std::size_t before = stage.daemon.resident_kib();
  client->send(stage.request("/x", "Content-Length: " + std::to_string(kSize) + "\r\n", "PUT"));
  const std::string body = pattern(0, kSize);
  const std::size_t taken = client->send_until_stuck(body, 500ms);
  EXPECT_LT(taken, kSize);
  EXPECT_LT(stage.daemon.resident_kib(), before + slack_kib());
  stage.origin.release();
  EXPECT_TRUE(client->send(std::string_view(body).substr(taken)));
  EXPECT_EQ(client->reply().body, "got it");
  EXPECT_EQ(arrived.size, kSize);
  EXPECT_TRUE(arrived.exact);
}

TEST(InterceptedUpload, may_come_right_behind_the_handshake) {
  Intercepted stage;
  stage.origin.otherwise([](Visit& visit) {
    std::uint64_t size = 0;
    visit.read_body([&](std::string_view bytes) { size += bytes.size(); });
    visit.answer(200, std::to_string(size));
  });
  constexpr std::size_t kSize = 512 * 1024;
  const std::string upload = stage.request("/x", "Content-Length: " + std::to_string(kSize) + "\r\n", "PUT");
  for (int i = 0; i < 20; ++i) {
    const auto client = stage.connect(stage.trusting());
    auto& tls = client->tls;
    tls.shake();
    client->send(tls.take_out());
    std::string heard;
    while (tls.shake() == test::TlsClient::State::under_way && client->socket().receive(heard)) {
      tls.put_in(std::exchange(heard, {}));
    }
    tls.write(upload + pattern(0, kSize));
    client->send(tls.take_out());  // the last of the handshake, and all that
    ASSERT_TRUE(client->shake()) << "done already";
    EXPECT_EQ(client->reply().body, std::to_string(kSize));
  }
}

// Refusals and deadlines.

TEST(InterceptedRequest, is_refused_by_an_answer_inside) {
  Intercepted stage({.settings = "maxConcurrent: 1, queue: { maxPending: 1 }"});
  stage.origin.otherwise(scripts::held());
  const auto first = stage.open(), second = stage.open(), third = stage.open();
  first->send(stage.request("/first"));
  ASSERT_TRUE(stage.origin.await(1));
  second->send(stage.request("/second", "Penstock-Max-Wait: 10ms\r\n"));
  const Reply late = second->reply();
  expect_own_answer(late, {503}, "connection_limit_reached");
  EXPECT_THAT(late.reason, HasSubstr("queue wait over"));
  second->send(stage.request("/waits"));
  ASSERT_TRUE(stage.daemon.await_pending("api", 1));
  third->send(stage.request("/too-many"));
  const Reply full = third->reply();
  expect_own_answer(full, {503}, "connection_limit_reached");
  EXPECT_THAT(full.reason, HasSubstr("queue full"));
  EXPECT_GE(std::atoi(full.field("retry-after").c_str()), 1);
  stage.origin.release_all();
  EXPECT_EQ(first->reply().body, "released");
  EXPECT_EQ(second->reply().body, "released");
  stage.expect_served(*third);
  EXPECT_EQ(stage.origin.count(), 3U);
  for (const auto& event : stage.daemon.await_events(2, "refused")) EXPECT_NE(event.at("path"), "/first");
}

TEST(InterceptedRequest, that_the_origin_refuses_is_asked_again_and_its_connection_goes_on) {
  Intercepted stage;
  std::atomic<int> asked = 0;
  stage.origin.on("/busy", [&](Visit& visit) {
    if (!visit.read_body()) return;
    asked++ == 0 ? visit.answer(429, "busy", "Retry-After-Ms: 50\r\n") : visit.answer(200, visit.request().body);
  });
  const auto client = stage.open();
  client->send(stage.request("/before"));
  EXPECT_EQ(client->reply().status, 200);
  client->send(stage.request("/busy", "Content-Length: 4\r\n", "POST") + "mine" + stage.request("/after"));
  const Reply served = client->reply();
  EXPECT_EQ(served.status, 200);
  EXPECT_EQ(served.body, "mine");
  EXPECT_THAT(served.field("proxy-status"), HasSubstr("attempts=2"));
  EXPECT_EQ(client->reply().status, 200);
  EXPECT_EQ(asked, 2);
}

TEST(InterceptedRequest, that_is_malformed_ends_its_connection_alone) {
  Intercepted stage;
  const auto other = stage.open();
  for (const char* bytes : {"GET / HTTP/1.1\r\n\r\n",
                            "GET / HTTP/1.1\r\nHost: good.test\r\nContent-Length: 1\r\n"
                            "Transfer-Encoding: chunked\r\n\r\n",
                            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01\r\n\r\n"}) {
    SCOPED_TRACE(shown(bytes));
    const auto client = stage.open();
    client->send(bytes);
    const Reply reply = client->reply();
    expect_own_answer(reply, {400, 505});
    EXPECT_TRUE(client->closed());
    EXPECT_FALSE(client->was_reset());
  }
  EXPECT_EQ(stage.origin.count(), 0U);
  stage.expect_served(*other);
}

TEST(InterceptedTimeout, of_a_client_that_says_nothing_inside_is_half_a_minute) {
  Intercepted stage;
  const auto start = Clock::now();
  const auto client = stage.connect(stage.trusting());
  std::string bytes;
  EXPECT_FALSE(client->socket().receive(bytes, start + 60s)) << bytes;
  EXPECT_TRUE(client->socket().ended());
  EXPECT_GE(Clock::now() - start, 29'990ms);
  EXPECT_TRUE(within(30s + kLate, start));
  EXPECT_EQ(stage.origin.connections(), 0U);
}

TEST(InterceptedRequest, whose_head_is_slow_or_never_comes_ends_in_time) {
  Intercepted stage({.yaml = "defaults: { timeouts: { header: 2s, keepAlive: 3s } }\n"});
  const auto slow = stage.open(), idle = stage.open();
  slow->send("GET / HTTP/1.1\r\nHost: go");
  expect_own_answer(slow->reply(), {408});
  EXPECT_TRUE(slow->closed());
  EXPECT_TRUE(idle->closed());
  EXPECT_EQ(stage.origin.connections(), 0U);
}

// Clients that go.

TEST(InterceptedClient, that_leaves_while_it_waits_is_gone) {
  Intercepted stage({.settings = "maxConcurrent: 1"});
  stage.origin.otherwise(scripts::held());
  const auto first = stage.open();
  first->send(stage.request("/first"));
  ASSERT_TRUE(stage.origin.await(1));
  const std::vector<std::function<void(TlsCaller&)>> ways{
      [](TlsCaller& client) { client.half_close(); }, [](TlsCaller& client) { client.close(); },
      [](TlsCaller& client) { client.cut(); }, [](TlsCaller& client) { client.reset(); }};
  for (const auto& leaves : ways) {
    const auto client = stage.open();
    client->send(stage.request("/gone"));
    ASSERT_TRUE(stage.daemon.await_pending("api", 1));
    leaves(*client);
    ASSERT_TRUE(stage.daemon.await_pending("api", 0));
  }
  for (const auto& event : stage.daemon.await_events(4, "gone")) EXPECT_EQ(event.at("path"), "/gone");
  stage.origin.release_all();
  EXPECT_EQ(first->reply().body, "released");
  EXPECT_EQ(stage.origin.count(), 1U);
  EXPECT_EQ(stage.daemon.status("api").at("handshakes").at("left"), 0) << "they trusted us, and asked";
}

// What nobody may learn, and who asks.

TEST(InterceptedSecrets, are_written_nowhere) {
  Intercepted stage;
  const std::string kSecret = "s3cr3t-of-mine";
  const auto client = stage.open();
  const std::string lines = "Authorization: Bearer " + kSecret + "\r\nCookie: a=" + kSecret + "\r\n";
  client->send(stage.request("/fine?key=" + kSecret, lines));
  EXPECT_EQ(client->reply().status, 200);
  EXPECT_THAT(stage.origin.seen().at(0).head, HasSubstr("GET /fine?key=" + kSecret));
  client->send("GET /?" + kSecret + " HTTP/1.1\r\nHost: other.test\r\n" + lines + "\r\n");
  EXPECT_EQ(client->reply().status, 421);
  client->send("GET /?" + kSecret + " HTTP/1.1\r\n" + lines + "\r\n");
  EXPECT_EQ(client->reply().status, 400);
  ASSERT_EQ(stage.daemon.await_events(2, "refused").size(), 2U);
  std::string all =
      stage.daemon.diagnostics() + stage.daemon.admin("/status").body + stage.daemon.admin("/metrics").body;
  for (const auto& event : stage.daemon.events()) all += event.dump();
  EXPECT_THAT(all, Not(HasSubstr(kSecret)));
  EXPECT_THAT(all, Not(HasSubstr("PRIVATE KEY")));
}

TEST(InterceptedUser, is_named_by_the_connect_and_never_to_the_origin) {
  const test::Authority folder;
  const std::string users = folder.folder() + "/users";
  std::ofstream(users) << "ann:$2y$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy\n";  // open sesame
  Intercepted stage({.access = "users: " + users});
  Client nobody(stage.daemon.port());
  nobody.send("CONNECT " + stage.at() + " HTTP/1.1\r\nHost: " + stage.at() + "\r\n\r\n");
  expect_own_answer(nobody.reply(), {407}, "http_request_denied");
  const std::string ann = "Proxy-Authorization: Basic YW5uOm9wZW4gc2VzYW1l\r\n";
  const auto client = stage.connect(stage.trusting(), "good.test", ann);
  ASSERT_TRUE(client->shake());
  for (int i = 0; i < 2; ++i) stage.expect_served(*client);
  for (const auto& seen : stage.origin.seen()) EXPECT_THAT(seen.head, Not(HasSubstr("roxy-")));
  for (const auto& event : stage.daemon.await_events(2, "complete")) EXPECT_EQ(event.at("user"), "ann");
  EXPECT_FALSE(stage.connect({.host = "good.test"}, "good.test", ann)->shake()) << "a client that trusts nobody";
  const Json failed = stage.daemon.await_event("gone");
  EXPECT_EQ(failed.at("user"), "ann");
  std::ofstream(users) << "ben:$2y$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy\n";
  ASSERT_TRUE(stage.daemon.reloads());
  client->send(stage.request("/"));
  expect_own_answer(client->reply(), {407}, "http_request_denied");
  EXPECT_EQ(stage.origin.count(), 2U) << "ann is let in no more";
}

}  // namespace
}  // namespace penstock::trial
