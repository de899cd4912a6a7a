// SPDX-License-Identifier: Apache-2.0
// Requests that ask for another protocol, to upstreams with and without TLS: what the upstream is told, what the client
// is, and what goes through when the answer is 101, or is not.
#include <gmock/gmock.h>

#include <thread>

#include "support/tls_server.h"
#include "system/tunnels.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kSwitching =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "
    "yes\r\n\r\n";

struct Switching {
  explicit Switching(bool is_secure, std::string_view settings = "maxConcurrent: 64", const test::Wanted& shown = {},
                     test::TlsOptions options = {})
      : secure(is_secure),
        server(authority.issue(shown), std::move(options)),
        daemon({.yaml = "defaults: { " + without_rest(settings) + " }\nupstreams: { far: { match: " + far.host() +
                        ", tls: { ca: " + authority.file() + " } } }\n"}) {}

  std::string request(std::string_view lines = "Upgrade: websocket\r\n") const {
    return "GET " + std::string(secure ? "https://" : "http://") + far.host() +
           "/chat?room=1 HTTP/1.1\r\nHost: " + far.host() +
           "\r\nConnection: Upgrade, X-Hop\r\nX-Hop: 1\r\nSec-WebSocket-Key: key\r\n" + std::string(lines) + "\r\n";
  }
  std::unique_ptr<Near> ask(std::string_view more = "") const {
    auto client = std::make_unique<Near>(Socket::connect(daemon.port()));
    EXPECT_TRUE(client->send(request() + std::string(more)));
    return client;
  }
  /// The upstream's side of the next connection.
  std::unique_ptr<Near> caller() {
    auto upstream = std::make_unique<Near>(far.accept());
    EXPECT_TRUE(!secure || upstream->socket.put_on(server.wrap()));
    return upstream;
  }
  /// What the client gets where the upstream says this and then closes.
  Reply answer_to(std::string_view says, bool cuts = false) {
    Client client(daemon.port());
    client.send(request());
    auto upstream = caller();
    upstream->reader.head();
    upstream->send(says);
    cuts ? upstream->socket.cut() : upstream->socket.close();
    return client.reply();
  }
  bool await_rest() const {
    return daemon.await_in_flight("far", 0) && eventually([this] { return daemon.metric("penstock_tunnels") == 0; });
  }

  const bool secure;
  FarEnd far;
  test::Authority authority;
  test::TlsServer server;
  Daemon daemon;
};

class Upgrading : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Over, Upgrading, testing::Bool(),
                         [](const auto& secure) { return std::string(secure.param ? "https" : "http"); });

TEST_P(Upgrading, makes_a_tunnel_of_a_101) {
  Switching stage(GetParam());
  auto client = stage.ask();
  auto upstream = stage.caller();
  EXPECT_EQ(upstream->reader.head(), "GET /chat?room=1 HTTP/1.1\r\nHost: " + stage.far.host() +
                                         "\r\nSec-WebSocket-Key: key\r\nVia: 1.1 penstock\r\nConnection: Upgrade\r\n"
                                         "Upgrade: websocket\r\n\r\n");
  upstream->send(kSwitching);
  const Reply reply = client->reply();
  EXPECT_EQ(reply.status, 101);
  EXPECT_EQ(reply.reason, "Switching Protocols");
  EXPECT_EQ(reply.fields.all("connection"), std::vector<std::string>{"Upgrade"});
  EXPECT_EQ(reply.fields.all("upgrade"), std::vector<std::string>{"websocket"});
  EXPECT_EQ(reply.fields.find("sec-websocket-accept"), "yes");
  client->send("ping");
  EXPECT_EQ(upstream->take(4), "ping");
  upstream->send("pong!");
  EXPECT_EQ(client->take(5), "pong!");
  EXPECT_EQ(stage.daemon.metric("penstock_tunnels"), 1);
  client->socket.half_close();
  EXPECT_EQ(upstream->rest(), "");
  upstream->send("bye");
  upstream->socket.half_close();
  EXPECT_EQ(client->rest(), "bye");
  EXPECT_FALSE(client->socket.was_reset());
  EXPECT_TRUE(stage.await_rest());
  const auto events = stage.daemon.await_events(2, [](const Json&) { return true; });
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].at("event"), "dispatch");
  EXPECT_EQ(events[0].at("upgrade"), "websocket");
  EXPECT_FALSE(events[0].contains("tunnel"));
  EXPECT_EQ(events[1].at("event"), "complete");
  EXPECT_EQ(events[1].at("status"), 101);
  EXPECT_EQ(events[1].at("tunnel"), true);
  EXPECT_EQ(events[1].at("path"), "/chat");
  EXPECT_EQ(events[1].at("bytesIn"), 8);
  EXPECT_EQ(events[1].at("bytesOut"), 4);
  EXPECT_EQ(stage.daemon.metric("penstock_tunnels"), 0);
  EXPECT_EQ(stage.daemon.metric("penstock_flight_seconds_count", "upstream=\"far\""), 0);
}

TEST_P(Upgrading, keeps_what_comes_early_and_passes_it_once) {
  Switching stage(GetParam());
  auto client = stage.ask("early");
  auto upstream = stage.caller();
  upstream->reader.head();
  upstream->send("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n");
  EXPECT_EQ(client->reply().status, 103);
  EXPECT_EQ(upstream->reader.buffer(), "") << "nothing before the 101";
  upstream->send(kSwitching + "glued");
  EXPECT_EQ(client->reply().status, 101);
  EXPECT_EQ(client->take(5), "glued");
  client->send("!");
  EXPECT_EQ(upstream->take(6), "early!");
  upstream->send("?");
  EXPECT_EQ(client->take(1), "?");
}

TEST_P(Upgrading, passes_any_other_answer_as_an_answer) {
  Switching stage(GetParam());
  const Reply by_length =
      stage.answer_to("HTTP/1.1 401 No\r\nWWW-Authenticate: Basic\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(by_length.status, 401);
  EXPECT_EQ(by_length.body, "hello");
  EXPECT_EQ(by_length.field("www-authenticate"), "Basic");
  const Reply in_chunks = stage.answer_to(
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x\r\nlo\r\n0\r\nX-Sum: 1\r\n\r\n");
  EXPECT_EQ(in_chunks.status, 200);
  EXPECT_EQ(in_chunks.body, "hello");
  EXPECT_EQ(in_chunks.trailers.find("x-sum"), "1");
  const Reply to_the_end = stage.answer_to("HTTP/1.0 404 Gone\r\n\r\nhello");
  EXPECT_EQ(to_the_end.status, 404);
  EXPECT_EQ(to_the_end.body, "hello");
  EXPECT_TRUE(to_the_end.whole);
  EXPECT_EQ(stage.daemon.await_events(3, "complete").size(), 3u);
  EXPECT_TRUE(stage.await_rest());
}

TEST_P(Upgrading, reads_what_comes_behind_another_answer_as_the_next_request) {
  Switching stage(GetParam());
  auto client = stage.ask(stage.request("Upgrade: other/1, h2c\r\n"));
  auto first = stage.caller();
  first->reader.head();
  EXPECT_EQ(first->reader.buffer(), "");
  EXPECT_FALSE(stage.far.has_caller());
  first->send("HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno");
  EXPECT_EQ(client->reply().body, "no");
  auto second = stage.caller();
  EXPECT_THAT(second->reader.head(), HasSubstr("\r\nUpgrade: other/1\r\n"));
  second->send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes");
  EXPECT_EQ(client->reply().body, "yes");
}

TEST_P(Upgrading, hands_on_a_large_answer_no_faster_than_it_is_read) {
  Switching stage(GetParam());
  constexpr std::size_t kMuch = 64 * 1024 * 1024;
  auto client = stage.ask();
  auto upstream = stage.caller();
  upstream->reader.head();
  upstream->send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kMuch) + "\r\n\r\n");
  const std::size_t before = stage.daemon.resident_kib();
  std::thread writing([&upstream = *upstream] {
    for (std::size_t sent = 0; sent < kMuch; sent += 1024 * 1024) upstream.send(pattern(sent, 1024 * 1024));
  });
  std::this_thread::sleep_for(300ms);  // time to misbehave in: whatever is read meanwhile is not wanted
  EXPECT_LT(stage.daemon.resident_kib(), before + 16u * 1024 * (is_sanitized() ? 8 : 1));
  client->reader.head();
  std::size_t taken = 0;
  for (std::string piece = "x"; !piece.empty() && taken < kMuch; taken += piece.size()) {
    piece = client->take(1024 * 1024);
    EXPECT_TRUE(is_pattern(taken, piece));
  }
  EXPECT_EQ(taken, kMuch);
  writing.join();
}

TEST_P(Upgrading, to_a_protocol_that_was_not_asked_for_is_a_bad_gateway) {
  Switching stage(GetParam());
  for (const char* fields : {"Upgrade: other\r\nConnection: Upgrade\r\n", "Connection: Upgrade\r\n",
                             "Upgrade: websocket\r\n", "Upgrade: websocket, h2c\r\nConnection: Upgrade\r\n"}) {
    const Reply reply = stage.answer_to("HTTP/1.1 101 Switching Protocols\r\n"s + fields + "\r\nraw bytes");
    EXPECT_EQ(reply.status, 502) << fields;
    EXPECT_EQ(reply.error(), "http_upgrade_failed") << fields;
    EXPECT_THAT(reply.body, Not(HasSubstr("raw bytes")));
  }
  EXPECT_TRUE(stage.await_rest());
}

TEST_P(Upgrading, fails_as_other_requests_do) {
  Switching stage(GetParam());
  EXPECT_EQ(stage.answer_to("").error(), "connection_terminated");
  EXPECT_EQ(stage.answer_to("HTTP/1.1 200 OK\r\nContent").error(), "http_response_incomplete");
  EXPECT_EQ(stage.answer_to("HTTP/1.1 10").error(), "http_response_incomplete");
  EXPECT_EQ(stage.answer_to("what is this?\r\n").error(), "http_protocol_error");
  EXPECT_FALSE(stage.answer_to("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell").whole);
  EXPECT_FALSE(stage.answer_to("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n").whole);
  EXPECT_FALSE(stage.answer_to("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n").whole);
  const auto errors = stage.daemon.await_events(7, "error");
  ASSERT_EQ(errors.size(), 7u);
  EXPECT_EQ(errors[5].at("error"), "http_response_transfer_coding");
  EXPECT_EQ(errors[6].at("error"), "http_response_incomplete");
  EXPECT_TRUE(stage.await_rest());
}

TEST_P(Upgrading, by_interim_answers_without_end_is_a_bad_gateway_that_cost_little) {
  Switching stage(GetParam());
  std::string interim = "HTTP/1.1 103 Early Hints\r\n";
  for (int i = 0; i < 200; ++i) interim += "Link: <" + std::string(1000, 'x') + ">\r\n";
  interim += "\r\n";
  const std::size_t before = stage.daemon.resident_kib();
  constexpr int kRequests = 20;
  std::vector<std::unique_ptr<Near>> clients;  // which read nothing for now
  for (int i = 0; i < kRequests; ++i) {
    clients.push_back(stage.ask());
    const auto upstream = stage.caller();
    upstream->reader.head();
    int said = 0;
    while (said < 100 && upstream->send(interim)) ++said;
    EXPECT_LT(said, 100);
  }
  EXPECT_LT(stage.daemon.resident_kib(), before + kRequests * 1024 + slack_kib());
  for (const auto& client : clients) {
    Reply reply = client->reply();
    while (reply.status == 103) reply = client->reply();
    EXPECT_EQ(reply.status, 502);
  }
}

TEST_P(Upgrading, ends_when_the_client_leaves) {
  Switching stage(GetParam());
  auto client = stage.ask();
  auto upstream = stage.caller();
  upstream->reader.head();
  client->socket.close();
  EXPECT_EQ(upstream->rest(), "");
  const Json error = stage.daemon.await_event("error");
  EXPECT_EQ(error.at("detail"), "the client left");
  EXPECT_TRUE(stage.await_rest());
}

TEST_P(Upgrading, waits_for_an_answer_as_long_as_is_allowed) {
  Switching stage(GetParam(), "timeouts: { firstByte: 300ms }");
  auto client = stage.ask();
  auto upstream = stage.caller();
  EXPECT_EQ(client->reply().status, 504);
  const Json error = stage.daemon.await_event("error");
  EXPECT_EQ(error.at("error"), "http_response_timeout");
}

TEST_P(Upgrading, waits_for_the_rest_of_an_answer_as_long_as_is_allowed) {
  Switching stage(GetParam(), "timeouts: { idle: 300ms }");
  auto client = stage.ask();
  auto upstream = stage.caller();
  upstream->reader.head();
  upstream->send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell");
  client->rest();
  EXPECT_TRUE(client->socket.was_reset());
  const Json error = stage.daemon.await_event("error");
  EXPECT_THAT(error.at("detail").get<std::string>(), HasSubstr("timeouts.idle"));
}

TEST(UpgradeOverTls, waits_for_the_handshake_as_long_as_for_a_connection) {
  Switching stage(true, "timeouts: { connect: 500ms }");
  const auto client = stage.ask();
  const auto deaf = std::make_unique<Near>(stage.far.accept());
  EXPECT_THAT(client->reply().fields.find("proxy-status").value_or(""), HasSubstr("connection_timeout"));
  EXPECT_TRUE(stage.await_rest());
}

TEST(UpgradeOverTls, believes_nobody_but_its_authority) {
  Switching stage(true);
  test::Authority others;
  test::TlsServer impostor(others.issue());
  const auto client = stage.ask();
  Near upstream(stage.far.accept());
  upstream.socket.put_on(impostor.wrap());
  const Reply reply = client->reply();
  EXPECT_EQ(reply.status, 502);
  EXPECT_THAT(reply.fields.find("proxy-status").value_or(""), HasSubstr("tls_certificate_error"));
  EXPECT_THAT(reply.reason, HasSubstr("an authority that is not trusted here"));
  EXPECT_EQ(upstream.rest(), "") << "nothing of the request";
}

TEST(UpgradeOverTls, takes_no_old_version_and_no_answer_that_was_cut) {
  Switching old(true, "maxConcurrent: 64", {}, {.most = 11});
  auto client = old.ask();
  auto upstream = std::make_unique<Near>(old.far.accept());
  EXPECT_FALSE(upstream->socket.put_on(old.server.wrap()));
  EXPECT_EQ(client->reply().status, 502);
  for (const int version : {12, 13}) {
    Switching stage(true, "maxConcurrent: 64", {}, {.most = version});
    EXPECT_TRUE(stage.answer_to("HTTP/1.1 200 OK\r\n\r\nto the end").whole);
    EXPECT_FALSE(stage.answer_to("HTTP/1.1 200 OK\r\n\r\nto the e", true).whole) << "it may have been cut by anybody";
    EXPECT_EQ(stage.daemon.await_events(1, "error").size(), 1u);
  }
}

TEST(UpgradeOverTls, demanding_a_certificate_is_told_in_words) {
  const test::Authority theirs;
  Switching stage(true, "maxConcurrent: 64", {}, {.client_ca = theirs.file()});
  auto client = stage.ask();
  auto upstream = std::make_unique<Near>(stage.far.accept());
  EXPECT_FALSE(upstream->socket.put_on(stage.server.wrap()));
  upstream->socket.close();
  const Reply reply = client->reply();
  EXPECT_THAT(reply.fields.find("proxy-status").value_or(""), HasSubstr("tls_protocol_error"));
  EXPECT_THAT(reply.reason, HasSubstr("demands a client certificate"));
}

TEST(UpgradeOverTls, shows_the_certificate_of_its_own_entry) {
  test::Authority authority;
  FarEnd far;
  test::TlsServer server(authority.issue(), {.client_ca = authority.file()});
  std::string yaml = "upstreams:\n";
  for (const std::string name : {"alice", "bob"}) {
    const auto issued = authority.issue({.common_name = name});
    yaml += "  " + name + ": { match: [], baseUrl: 'https://" + far.host() + "', tls: { ca: '" + authority.file() +
            "', clientCert: '" + issued.certificate + "', clientKey: '" + issued.key + "' } }\n";
  }
  const Daemon daemon({.yaml = yaml});
  for (const std::string name : {"alice", "bob", "alice"}) {
    Near client(Socket::connect(daemon.port()));
    client.send("GET /@" + name + "/chat HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    Near upstream(far.accept());
    EXPECT_TRUE(upstream.socket.put_on(server.wrap()));
    upstream.send(kSwitching);
    EXPECT_EQ(client.reply().status, 101);
    EXPECT_EQ(server.handshakes().back().peer, name);
  }
}

}  // namespace
}  // namespace penstock::trial
