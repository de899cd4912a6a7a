// SPDX-License-Identifier: Apache-2.0
// https to an upstream in whose place Penstock answers: whom the client meets, and what becomes of its requests.
#include <gmock/gmock.h>

#include "system/intercepted.h"
#include "system/tunnels.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;

TEST(Intercept, shows_the_client_a_certificate_of_ours_and_the_origin_one_request_of_many) {
  Intercepted stage;
  const auto client = stage.open();
  EXPECT_EQ(client->tls.version(), "TLSv1.3");
  EXPECT_EQ(client->tls.alpn(), "http/1.1") << "though h2 was offered first";
  EXPECT_EQ(client->tls.subject(), "DNS:good.test");
  EXPECT_NEAR(client->tls.ends(), time(nullptr) + 30 * 24 * 3600, 600);
  EXPECT_EQ(stage.origin.connections(), 0U);
  client->send(stage.request("/a?b=c", "X-Mine: 1\r\n"));
  const Reply reply = client->reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "hello");
  EXPECT_EQ(stage.origin.seen().at(0).head,
            "GET /a?b=c HTTP/1.1\r\nHost: " + stage.at() + "\r\nX-Mine: 1\r\nVia: 1.1 penstock\r\n\r\n");
  EXPECT_EQ(stage.tls.handshakes().at(0).sni, "good.test");
  EXPECT_EQ(stage.tls.handshakes().at(0).offered, "http/1.1");
}

TEST(Intercept, is_told_in_events_as_requests) {
  Intercepted stage;
  EXPECT_EQ(stage.fetch("/a?b=c").status, 200);
  const auto events = stage.daemon.await_events(2, [](const Json&) { return true; });
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].at("event"), "dispatch");
  EXPECT_EQ(events[1].at("event"), "complete");
  for (const auto& event : events) {
    EXPECT_EQ(event.at("upstream"), "api");
    EXPECT_EQ(event.at("method"), "GET");
    EXPECT_EQ(event.at("host"), "good.test");
    EXPECT_EQ(event.at("path"), "/a");
    EXPECT_FALSE(event.contains("tunnel"));
  }
  EXPECT_EQ(stage.daemon.metric("penstock_tunnels"), 0);
  EXPECT_EQ(stage.daemon.status("api").at("handshakes").at("done"), 1);
  EXPECT_EQ(stage.daemon.metric("penstock_client_handshakes_total", "result=\"done\""), 1);
}

TEST(Intercept, names_the_host_of_the_connect_whatever_that_is) {
  Intercepted stage({.match = "[good.test, '*.good.test', 127.0.0.1, '[::1]', localhost]"});
  const std::string longest = std::string(60, 'a') + "." + std::string(60, 'b') + ".good.test";  // no common name
  for (const auto& [asked, host, subject] :
       {std::tuple("GOOD.test"s, "good.test"s, "DNS:good.test"s),
        std::tuple("deep.below.good.test"s, "deep.below.good.test"s, "DNS:deep.below.good.test"s),
        std::tuple("localhost"s, "localhost"s, "DNS:localhost"s), std::tuple(longest, longest, "DNS:" + longest),
        std::tuple("127.0.0.1"s, "127.0.0.1"s, "IP Address:127.0.0.1"s),
        std::tuple("[::1]"s, "::1"s, "IP Address:0:0:0:0:0:0:0:1"s)}) {
    SCOPED_TRACE(host);
    for (const int version : {12, 13}) {
      test::Shaking how = stage.trusting(host);
      how.most = version;
      const auto client = stage.connect(how, asked);
      EXPECT_TRUE(client->shake()) << client->tls.words();
      EXPECT_EQ(client->tls.subject(), subject);
      EXPECT_EQ(client->tls.version(), "TLSv1." + std::to_string(version - 10));
    }
  }
}

TEST(Intercept, holds_requests_inside_to_the_limit_of_how_many_at_once) {
  Intercepted stage({.settings = "maxConcurrent: 2"});
  stage.origin.otherwise([](Visit& visit) { visit.answer(200, visit.request().target); });
  std::vector<std::unique_ptr<TlsCaller>> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(stage.open());
  for (auto& client : clients) {
    for (int i = 0; i < 4; ++i) client->send(stage.request("/" + std::to_string(i)));
  }
  for (auto& client : clients) {
    for (int i = 0; i < 4; ++i) EXPECT_EQ(client->reply().body, "/" + std::to_string(i)) << "in order";
  }
  EXPECT_LE(stage.origin.most_at_once(), 2U);
  EXPECT_LE(stage.origin.connections(), 2U) << "kept, and shared by all clients";
  EXPECT_EQ(stage.daemon.await_events(32, "complete").size(), 32U);
}

TEST(Intercept, opens_a_host_that_only_a_path_names_where_all_else_is_denied) {
  Intercepted stage({.match = "good.test/v1", .yaml = "unmatched: deny\n"});
  const auto client = stage.open();
  client->send(stage.request("/v1/models"));
  EXPECT_EQ(client->reply().status, 200);
  client->send(stage.request("/v2"));
  expect_own_answer(client->reply(), {403}, "http_request_denied");
  EXPECT_EQ(stage.origin.count(), 1U);
  const auto raw = stage.connect({});
  raw->send("\x80 neither TLS nor HTTP");
  EXPECT_TRUE(raw->closed()) << "what cannot be governed by its path is denied, too";
  EXPECT_EQ(stage.origin.connections(), 1U);
}

TEST(Intercept, believes_the_origin_no_more_than_a_client_would) {
  const std::vector<std::tuple<test::Wanted, bool, std::string>> all{
      {{.names = {"good.test"}, .expired = true}, true, "has expired"},
      {{.names = {"elsewhere.test"}}, true, "another name"},
      {{.names = {"good.test"}, .self_signed = true}, true, "signed by itself"},
      {{.names = {"good.test"}}, false, "an authority that is not trusted here"}};
  for (const auto& [shown, knows_roots, words] : all) {
    SCOPED_TRACE(words);
    Intercepted stage({.shown = shown, .knows_roots = knows_roots});
    const Reply reply = stage.fetch("/");
    expect_own_answer(reply, {502}, "tls_certificate_error");
    EXPECT_THAT(reply.reason, HasSubstr(words));
    EXPECT_EQ(stage.origin.count(), 0U);
    EXPECT_EQ(stage.daemon.await_events(1, "error").at(0).at("error"), "tls_certificate_error");
  }
}

// Other hosts, other ways.

TEST(Intercept, refuses_a_request_for_another_host_and_goes_on) {
  Intercepted stage;
  const auto client = stage.open();
  for (const auto& host :
       {"other.test:" + std::to_string(stage.port), "good.test:1"s, "sub.good.test"s, "127.0.0.1"s}) {
    SCOPED_TRACE(host);
    client->send("GET /secret HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    expect_own_answer(client->reply(), {421});
    stage.expect_served(*client);
  }
  for (const auto& host : {"good.test"s, "Good.Test:" + std::to_string(stage.port)}) {
    client->send("GET /fine HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    EXPECT_EQ(client->reply().status, 200);
    EXPECT_EQ(stage.origin.seen().back().fields.find("host"), stage.at()) << "what the CONNECT says";
  }
  for (const auto& event : stage.daemon.await_events(4, "refused")) EXPECT_EQ(event.at("path"), "/secret");
}

TEST(Intercept, leaves_a_host_that_no_entry_marks_untouched) {
  Intercepted stage({.more_upstreams = "open: { match: marked.test, https: originate }, "});
  for (const auto* host : {"other.test", "marked.test"}) {
    const auto client = stage.connect({.ca = stage.roots.file()}, host);
    EXPECT_TRUE(client->shake()) << client->tls.words();
    EXPECT_EQ(client->tls.subject(), "DNS:good.test, DNS:*.good.test, DNS:other.test, IP Address:127.0.0.1")
        << "the origin's own";
    client->send("GET /mine HTTP/1.1\r\nHost: whatever.test\r\n\r\n");
    EXPECT_EQ(client->reply().body, "hello");
    client->half_close();
    EXPECT_TRUE(client->closed());
  }
  for (const auto& seen : stage.origin.seen())
    EXPECT_EQ(seen.head, "GET /mine HTTP/1.1\r\nHost: whatever.test\r\n\r\n");
  EXPECT_THAT(stage.tls.handshakes().at(0).offered, HasSubstr("h2")) << "the client's hello";
  const auto complete = stage.daemon.await_events(2, "complete");
  EXPECT_EQ(complete.size(), 2u);
  for (const auto& event : complete) EXPECT_EQ(event.at("tunnel"), true);
}

TEST(Intercept, makes_a_tunnel_of_what_is_neither_tls_nor_http) {
  FarEnd far;
  Intercepted stage({.ports = {far.port()}});
  stage.port = far.port();
  const auto client = stage.connect({});
  client->send("SSH-2.0-tests\r\n");
  Near server(far.accept());
  EXPECT_EQ(server.take(15), "SSH-2.0-tests\r\n");
  server.send("SSH-2.0-server\r\n");
  server.socket.close();
  EXPECT_EQ(client->rest(), "SSH-2.0-server\r\n");
  client->close();
  EXPECT_EQ(stage.daemon.await_events(1, "complete").at(0).at("tunnel"), true);
}

TEST(Intercept, lets_a_request_inside_change_to_another_protocol) {
  FarEnd far;
  Intercepted stage({.ports = {far.port()}});
  stage.port = far.port();
  const auto client = stage.open();
  client->send(
      stage.request("/chat?room=1", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: key\r\n"));
  Near server(far.accept());
  ASSERT_TRUE(server.socket.put_on(stage.tls.wrap()));
  EXPECT_EQ(server.reader.head(), "GET /chat?room=1 HTTP/1.1\r\nHost: " + stage.at() +
                                      "\r\nSec-WebSocket-Key: key\r\nVia: 1.1 penstock\r\nConnection: Upgrade\r\n"
                                      "Upgrade: websocket\r\n\r\n");
  server.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nglued");
  EXPECT_EQ(client->head().status, 101);
  client->send("ping");
  EXPECT_EQ(server.take(4), "ping");
  server.send("pong");
  server.socket.half_close();
  EXPECT_EQ(client->rest(), "gluedpong");
  client->close();
  const Json done = stage.daemon.await_event("complete");
  EXPECT_EQ(done.at("status"), 101);
  EXPECT_EQ(done.at("path"), "/chat");
}

TEST(Intercept, resumes_a_session_and_answers_as_before) {
  Intercepted stage;
  for (const int version : {12, 13}) {
    test::Shaking how = stage.trusting();
    how.most = version;
    for (const bool again : {false, true}) {
      const auto client = stage.connect(how);
      ASSERT_TRUE(client->shake()) << client->tls.words();
      EXPECT_EQ(client->tls.resumed(), again);
      stage.expect_served(*client);
      how.resumes = client->tls.session();
    }
  }
}

}  // namespace
}  // namespace penstock::trial
