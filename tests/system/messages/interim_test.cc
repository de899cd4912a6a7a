// SPDX-License-Identifier: Apache-2.0
// Interim answers: Expect: 100-continue in all its ways, early hints, and floods of them.
#include <gmock/gmock.h>

#include "system/stage.h"

namespace penstock::trial {
namespace {

constexpr char kExpect[] = "Expect: 100-continue\r\n";

/// The head of a POST that waits for a 100.
std::string expecting(const Stage& stage, std::size_t size) {
  return "POST " + stage.url("/x") + " HTTP/1.1\r\nHost: " + stage.origin.host() +
         "\r\nContent-Length: " + std::to_string(size) + "\r\n" + kExpect + "\r\n";
}

TEST(Continue, is_relayed_when_the_upstream_says_it) {
  Stage stage;
  stage.origin.otherwise([&](Visit& visit) {
    visit.hold();
    visit.write("HTTP/1.1 100 Continue\r\n\r\n");
    visit.read_body();
    visit.answer(200, "thanks");
  });
  Client client(stage.daemon.port());
  client.send(expecting(stage, 5));
  ASSERT_TRUE(stage.origin.await(1));
  EXPECT_EQ(stage.origin.seen()[0].fields.find("expect"), "100-continue");
  stage.origin.release();
  EXPECT_EQ(client.head().status, 100);
  client.send("12345");
  const Reply reply = client.reply();
  EXPECT_EQ(reply.body, "thanks");
  EXPECT_EQ(reply.interims.size(), 0u) << "said once";
  EXPECT_EQ(stage.origin.seen()[0].body, "12345");
}

TEST(Continue, comes_after_a_second_from_an_upstream_that_never_says_it) {
  Stage stage;
  Client client(stage.daemon.port());
  const auto start = Clock::now();
  client.send(expecting(stage, 5));
  EXPECT_EQ(client.head().status, 100);
  EXPECT_GE(Clock::now() - start, 950ms);
  EXPECT_TRUE(within(1s + kLate, start));
  client.send("12345");
  EXPECT_EQ(client.reply().body, "hello");
  EXPECT_EQ(stage.origin.seen()[0].body, "12345");
}

TEST(Continue, is_not_said_where_the_upstream_has_a_final_answer) {
  Stage stage;
  for (const int status : {401, 413, 417}) {
    SCOPED_TRACE(status);
    stage.origin.otherwise([=](Visit& visit) {
      visit.last("HTTP/1.1 " + std::to_string(status) + " No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
      visit.close();
    });
    Client client(stage.daemon.port());
    client.send(expecting(stage, 5));
    const Reply reply = client.reply();
    EXPECT_EQ(reply.status, status);
    EXPECT_EQ(reply.interims.size(), 0u);
  }
}

TEST(Continue, is_not_said_to_a_request_that_is_pending) {
  Stage stage(with_defaults("maxConcurrent: 1"));
  stage.origin.on("/held", scripts::held());
  Client first(stage.daemon.port()), second(stage.daemon.port());
  first.send(get(stage.url("/held")));
  ASSERT_TRUE(stage.origin.await(1));
  second.send(expecting(stage, 5));
  ASSERT_TRUE(stage.daemon.await_pending(stage.origin.host(), 1));
  EXPECT_FALSE(second.hears_within(1500ms)) << "the body stays with the client while it waits";
  stage.origin.release();
  EXPECT_EQ(second.head().status, 100);
  second.send("12345");
  EXPECT_EQ(second.reply().body, "hello");
}

TEST(Continue, is_not_waited_for_by_a_client_that_sends_at_once) {
  Stage stage;
  Client client(stage.daemon.port());
  client.send(expecting(stage, 5) + "12345");
  EXPECT_EQ(client.reply().body, "hello");
  EXPECT_EQ(stage.origin.seen()[0].body, "12345");
}

TEST(Continue, is_never_said_to_http_1_0) {
  Stage stage;
  Client client(stage.daemon.port());
  client.send("POST " + stage.url("/x") + " HTTP/1.0\r\nContent-Length: 5\r\n" + kExpect + "\r\n12345");
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.interims.size(), 0u);
}

TEST(Expectation, that_nobody_knows_is_417) {
  Stage stage;
  expect_declined(stage, with_body("POST", stage.url("/x"), "", "Expect: miracles\r\n"), {417});
}

TEST(EarlyHints, are_relayed_in_order) {
  Stage stage;
  std::string hints;
  for (int i = 1; i <= 3; ++i) hints += "HTTP/1.1 103 Early Hints\r\nLink: </" + std::to_string(i) + ">\r\n\r\n";
  stage.origin.otherwise(scripts::says(hints + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false));
  const Reply reply = stage.fetch("/");
  EXPECT_EQ(reply.body, "ok");
  ASSERT_EQ(reply.interims.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(reply.interims[i].status, 103);
    EXPECT_EQ(reply.interims[i].field("link"), "</" + std::to_string(i + 1) + ">");
  }
}

TEST(EarlyHints, arrive_before_the_answer_does) {
  Stage stage;
  stage.origin.otherwise([](Visit& visit) {
    visit.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
    visit.hold();
    visit.answer(200, "later");
  });
  Client client(stage.daemon.port());
  client.send(get(stage.url()));
  EXPECT_EQ(client.head().status, 103);
  stage.origin.release();
  EXPECT_EQ(client.reply().body, "later");
}

TEST(EarlyHints, are_kept_from_http_1_0) {
  Stage stage;
  stage.origin.otherwise(
      scripts::says("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false));
  const Reply reply = stage.ask("GET " + stage.url() + " HTTP/1.0\r\n\r\n");
  EXPECT_EQ(reply.body, "ok");
  EXPECT_EQ(reply.interims.size(), 0u);
}

TEST(EarlyHints, without_end_are_a_bad_gateway) {
  Stage stage;
  stage.origin.otherwise([](Visit& visit) {
    std::string hints;
    for (int i = 0; i < 1000; ++i) hints += "HTTP/1.1 103 Early Hints\r\nLink: </" + std::to_string(i) + ">\r\n\r\n";
    while (visit.write(hints)) {
    }
  });
  Client client(stage.daemon.port());
  const std::size_t before = stage.daemon.resident_kib();
  client.send(get(stage.url()));
  const Reply reply = client.reply();
  expect_own_answer(reply, {502}, "http_response_header_section_size");
  EXPECT_EQ(reply.interims.size(), 100u) << "as many as pass";
  EXPECT_LT(stage.daemon.resident_kib(), before + (is_sanitized() ? 32 : 8) * 1024);
}

}  // namespace
}  // namespace penstock::trial
