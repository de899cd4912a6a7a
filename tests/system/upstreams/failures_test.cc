// SPDX-License-Identifier: Apache-2.0
// Upstreams that fail: what the client is told, before the head and after it.
#include <gmock/gmock.h>

#include "support/name_server.h"
#include "system/stage.h"

namespace penstock::trial {
namespace {

/// The upstream says these bytes: 502 with this error, and nothing of them.
void expect_bad_gateway(const std::string& bytes, const std::string& error = "http_protocol_error") {
  SCOPED_TRACE(shown(bytes));
  Stage stage;
  stage.origin.on("/bad", scripts::says(bytes));
  Client client(stage.daemon.port());
  client.send(get(stage.url("/bad")));
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 502);
  EXPECT_EQ(reply.error(), error);
  EXPECT_TRUE(reply.whole);
  EXPECT_EQ(reply.complaint, "");
  EXPECT_FALSE(same_name(reply.field("connection"), "close")) << "the client's own connection is sound";
  client.send(get(stage.url("/fine")));
  EXPECT_EQ(client.reply().body, "hello");
  const Json errors = stage.daemon.await_event("error");
  EXPECT_EQ(errors.at("error"), error);
  EXPECT_EQ(errors.at("status"), 502);
}

/// The upstream says these bytes, and those when the client has seen something of them, and ends: the head is relayed,
/// the body is seen to be broken.
void expect_broken(const std::string& bytes, const std::string& body, const std::string& those = "") {
  SCOPED_TRACE(shown(bytes + those));
  Stage stage;
  stage.origin.on("/broken", [=](Visit& visit) {
    visit.write(bytes);
    visit.hold();
    visit.last(those);
    visit.close();
  });
  for (const char* version : {"1.1", "1.0"}) {
    Client client(stage.daemon.port());
    client.send("GET " + stage.url("/broken") + " HTTP/" + version + "\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(client.hears_within(kPatience));
    stage.origin.release();
    const Reply reply = client.reply();
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, body);
    EXPECT_FALSE(reply.whole) << "HTTP/" << version << " must not see a clean end";
  }
  const auto errors = stage.daemon.await_events(2, "error");
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_NE(errors[0].value("error", ""), "");
  EXPECT_EQ(stage.fetch("/fine").body, "hello");
  EXPECT_EQ(stage.daemon.metric("penstock_requests_total", "outcome=\"upstream_error\""), 2);
}

// An answer begins with its first whole line.
TEST(Upstream, that_ends_within_its_head_is_502) {
  const std::string line = "HTTP/1.1 200 OK\r\n";
  for (const auto& [bytes, error] : {std::pair{"H"s, "connection_terminated"},
                                     {"HTTP/1.1 2"s, "connection_terminated"},
                                     {"HTTP/1.1 200"s, "connection_terminated"},
                                     {line, "http_response_incomplete"},
                                     {line + "X-A: ", "http_response_incomplete"},
                                     {line + "Content-Length: 2\r\n", "http_response_incomplete"}}) {
    SCOPED_TRACE(bytes);
    Stage stage;
    stage.origin.otherwise(scripts::says(bytes));
    expect_own_answer(stage.fetch("/"), {502}, error);
    EXPECT_EQ(stage.origin.count(), 1u);
  }
}

TEST(Upstream, with_bad_fields_is_502) {
  for (const auto& line : {"X\0A: b"s, "X-A: b\0c"s, "X-A: b\rc"s, "X(A): b"s, ": b"s, "no colon"s}) {
    expect_bad_gateway("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + line + "\r\n\r\nok");
  }
}

TEST(Upstream, with_blanks_before_a_colon_or_folded_lines_is_cleaned) {
  Stage stage;
  stage.origin.on("/space", scripts::says("HTTP/1.1 200 OK\r\nX-A : b\r\nContent-Length: 2\r\n\r\nok"));
  stage.origin.on("/fold", scripts::says("HTTP/1.1 200 OK\r\nX-A: one\r\n two\r\nContent-Length: 2\r\n\r\nok"));
  for (const char* path : {"/space", "/fold"}) {
    const Reply reply = stage.fetch(path);
    EXPECT_EQ(reply.complaint, "") << "the client never sees such a line";
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.field("x-a"), path == "/fold"s ? "one two" : "b");
    EXPECT_EQ(reply.body, "ok");
  }
}

/// The same request, with the wish for another protocol or without: libcurl reads the one answer, and we the other.
std::string by_either_way(const std::string& url, bool upgrades) {
  return get(url, upgrades ? "Connection: Upgrade\r\nUpgrade: websocket\r\n" : "");
}

// RFC 9110 2.5 would have a later one read as 1.1. libcurl does not, and nobody sends one.
TEST(Upstream, of_a_later_http_1_is_502_by_every_way) {
  Stage stage;
  for (const char* version : {"HTTP/1.2", "HTTP/1.9", "HTTP/2.0", "HTTP/1.", "HTTP/1.x"}) {
    for (const bool upgrades : {false, true}) {
      stage.origin.on("/bad", scripts::says(std::string(version) + " 200 OK\r\nContent-Length: 2\r\n\r\nok"));
      SCOPED_TRACE(version);
      expect_own_answer(stage.ask(by_either_way(stage.url("/bad"), upgrades)), {502}, "http_protocol_error");
    }
  }
}

// The answer has begun: all that is left to us is to break it off, and to say whose fault it was.
TEST(Upstream, with_bad_trailers_is_called_to_account_for_them_by_every_way) {
  Stage stage;
  std::size_t errors = 0;
  for (const auto& trailer : {"no colon\r\n"s, "a b: c\r\n"s, ": x\r\n"s, " X: y\r\n"s, "X: \x01\r\n"s, "X: a\rb\r\n"s,
                              "X: a\0b\r\n"s, "X: y\r\n\r"s}) {
    for (const bool upgrades : {false, true}) {
      SCOPED_TRACE(shown(trailer));
      stage.origin.on("/bad", scripts::says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n" +
                                            trailer + "\r\n"));
      EXPECT_FALSE(stage.ask(by_either_way(stage.url("/bad"), upgrades)).whole);
      const auto told = stage.daemon.await_events(++errors, "error");
      ASSERT_EQ(told.size(), errors);
      EXPECT_EQ(told.back().at("error"), "http_protocol_error");
    }
  }
}

// Whoever frames in two ways may have sent the beginning of another answer, which has not come yet.
TEST(Upstream, with_length_and_chunks_at_once_has_answered_for_the_last_time_on_its_connection) {
  Stage stage;
  stage.origin.on("/both", scripts::says("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
                                         "5\r\nhello\r\n0\r\n\r\n",
                                         false));
  EXPECT_EQ(stage.fetch("/fine").body, "hello");
  EXPECT_EQ(stage.fetch("/both").body, "hello");
  ASSERT_EQ(stage.origin.connections(), 1u);
  EXPECT_EQ(stage.fetch("/fine").body, "hello");
  EXPECT_EQ(stage.origin.connections(), 2u);
  EXPECT_EQ(stage.fetch("/fine").body, "hello");
  EXPECT_EQ(stage.origin.connections(), 2u);
}

TEST(Upstream, whose_head_never_ends_is_502_and_costs_no_memory) {
  Stage stage;
  stage.origin.otherwise([](Visit& visit) {
    visit.write("HTTP/1.1 200 OK\r\n");
    while (visit.write("X-More: " + std::string(4000, 'v') + "\r\n")) {
    }
  });
  const std::size_t before = stage.daemon.resident_kib();
  expect_own_answer(stage.fetch("/"), {502}, "http_response_header_section_size");
  EXPECT_LT(stage.daemon.resident_kib(), before + (is_sanitized() ? 32 : 8) * 1024);
}

TEST(Upstream, that_ends_within_its_body_is_broken_for_the_client_too) {
  expect_broken("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it", "half of it");
  expect_broken("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhalf of it\r\n", "half of it");
  expect_broken("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhalf of it\r\n0\r\n", "half of it");
}

TEST(Upstream, that_says_more_than_it_announced_does_not_disturb_the_next_client) {
  Stage stage;
  stage.origin.on(
      "/more",
      scripts::says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
                    false));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(stage.fetch("/more").body, "ok");
    EXPECT_EQ(stage.fetch("/fine").body, "hello");
  }
}

TEST(EarlyAnswer, stops_the_upload_and_reaches_the_client) {
  Stage stage;
  for (const int status : {401, 413, 200}) {
    SCOPED_TRACE(status);
    stage.origin.otherwise([=](Visit& visit) {
      visit.last("HTTP/1.1 " + std::to_string(status) +
                 " Early\r\nContent-Length: 5\r\nConnection: close\r\n\r\nearly");
      visit.sees_the_end();
    });
    Client client(stage.daemon.port());
    client.send("PUT " + stage.url("/x") + " HTTP/1.1\r\nHost: a\r\nContent-Length: 67108864\r\n\r\n");
    std::thread sender([&] { client.send(std::string(64 * 1024 * 1024, 'b')); });
    const Reply reply = client.reply();
    EXPECT_EQ(reply.status, status);
    EXPECT_EQ(reply.body, "early");
    client.rest();
    EXPECT_TRUE(client.socket().ended()) << "its framing is lost: the connection ends";
    sender.join();
    EXPECT_TRUE(stage.daemon.await_in_flight(stage.origin.host(), 0));
  }
}

TEST(Address, that_no_route_leads_to_is_502) {
  const Daemon daemon({.yaml = "access: { allow: [224.0.0.1] }\n"});  // no TCP to a group, whatever the network
  for (const char* request :
       {"GET http://224.0.0.1/ HTTP/1.1\r\nHost: a\r\n\r\n", "CONNECT 224.0.0.1:443 HTTP/1.1\r\nHost: a\r\n\r\n"}) {
    expect_own_answer(daemon.ask(request), {502}, "destination_ip_unroutable");
  }
}

TEST(Addresses, that_are_dead_give_way_to_one_that_lives) {
  using All = std::vector<std::string>;
  for (const auto& [v4, v6] :
       {std::pair(All{"127.9.0.2", "127.0.0.1"}, All{}), std::pair(All{"127.0.0.1"}, All{"::1"})}) {
    const test::NameServer names([&v4, &v6](const std::string&, std::uint16_t type) {
      return std::optional(test::NameServer::Reply{.addresses = type == test::NameServer::kA ? v4 : v6});
    });
    Stage stage({.yaml = "dns: { servers: [\"" + names.address() + "\"] }\n"});
    const std::string host = "some.test:" + std::to_string(stage.origin.port());
    EXPECT_EQ(stage.ask(with_body("POST", stage.origin.url_at(host, "/x"), "charge=1")).status, 200);
    ASSERT_EQ(stage.origin.count(), 1u) << "once";
    EXPECT_EQ(stage.origin.seen()[0].body, "charge=1");
    EXPECT_EQ(stage.origin.seen()[0].fields.find("host"), host);
  }
}

}  // namespace
}  // namespace penstock::trial
