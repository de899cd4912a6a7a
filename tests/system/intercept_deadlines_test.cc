// SPDX-License-Identifier: Apache-2.0
// What times a flight, and what follows a body, of requests inside an intercepted connection: as of those in the clear.
#include <atomic>
#include <thread>

#include "system/intercepted.h"

namespace penstock::trial {
namespace {

/// The entry's `timeouts` are these.
Scene timed(const std::string& timeouts) { return {.settings = "timeouts: { " + timeouts + " }"}; }

/// Says this, and then nothing until the proxy has ended the connection, which it counts.
Origin::Script stops_after(const std::string& bytes, std::atomic<int>& ended) {
  return [bytes, &ended](Visit& visit) {
    visit.write(bytes);
    ended += visit.sees_the_end() ? 1 : 0;
  };
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

TEST(InterceptedTimeout, to_the_first_byte_is_504_inside) {
  Intercepted stage(timed("firstByte: 2s"));
  std::atomic<int> ended = 0;
  stage.origin.on("/never", stops_after("", ended));
  stage.origin.on("/half", stops_after("HTTP/1.1 200 OK\r\nX-Half: ", ended));
  const auto client = stage.open();
  for (const char* path : {"/never", "/half"}) {
    const auto start = Clock::now();
    client->send(stage.request(path));
    expect_own_answer(client->reply(), {504}, "http_response_timeout");
    EXPECT_GE(Clock::now() - start, 1990ms) << path;
    EXPECT_TRUE(within(2s + kLate, start)) << path;
  }
  EXPECT_TRUE(eventually([&] { return ended == 2; }));
  stage.expect_served(*client);
}

TEST(InterceptedTimeout, within_an_answer_breaks_it_off) {
  Intercepted stage(timed("idle: 2s"));
  std::atomic<int> ended = 0;
  stage.origin.on("/length", stops_after("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", ended));
  stage.origin.on("/chunks", stops_after("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", ended));
  for (const char* path : {"/length", "/chunks"}) {
    const auto client = stage.open();
    client->send(stage.request(path));
    const Reply reply = client->reply();
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, "half");
    EXPECT_FALSE(reply.whole) << path;
    EXPECT_TRUE(client->socket().ended()) << path;
  }
  EXPECT_TRUE(eventually([&] { return ended == 2; }));
  const auto errors = stage.daemon.await_events(2, "error");
  ASSERT_EQ(errors.size(), 2U);
  for (const auto& event : errors) EXPECT_EQ(event.at("error"), "connection_read_timeout");
}

TEST(InterceptedTimeout, of_the_whole_is_504_before_the_head_and_a_broken_answer_after_it) {
  Intercepted stage(timed("total: 2s"));
  std::atomic<int> ended = 0;
  stage.origin.on("/never", stops_after("", ended));
  stage.origin.on("/trickle", [](Visit& visit) {
    visit.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
    while (visit.write("x")) std::this_thread::sleep_for(20ms);
  });
  const auto client = stage.open();
  const auto start = Clock::now();
  client->send(stage.request("/never"));
  expect_own_answer(client->reply(), {504}, "connection_read_timeout");
  EXPECT_GE(Clock::now() - start, 1990ms);
  EXPECT_TRUE(within(2s + kLate, start));
  client->send(stage.request("/trickle"));
  const Reply reply = client->reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_FALSE(reply.whole);
  EXPECT_EQ(stage.daemon.await_events(2, "error").size(), 2U);
  EXPECT_TRUE(eventually([&] { return ended == 1; }));
}

TEST(InterceptedTimeout, of_a_body_is_408_inside_and_frees_the_slot) {
  Intercepted stage({.settings = "maxConcurrent: 1, timeouts: { body: 2s }"});
  stage.origin.on("/body", [](Visit& visit) { visit.read_body(); });
  const auto client = stage.open();
  const auto start = Clock::now();
  client->send(stage.request("/body", "Content-Length: 1000\r\n", "POST") + "some");
  ASSERT_TRUE(stage.origin.await(1));
  expect_refusal(*client, {408});
  EXPECT_GE(Clock::now() - start, 1990ms);
  EXPECT_TRUE(within(2s + kLate, start));
  EXPECT_EQ(stage.fetch("/next").status, 200) << "the slot is free";
  ASSERT_TRUE(eventually([&] { return stage.origin.seen().at(0).body == "some"; }));
  EXPECT_FALSE(stage.origin.seen()[0].whole) << "the origin sees that it was cut";
}

TEST(InterceptedTrailers, of_an_upload_arrive_as_trailers) {
  Intercepted stage;
  const auto client = stage.open();
  client->send(stage.request("/x", "Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n", "POST") + chunk("abcd") +
               "0\r\nX-Sum: 42\r\nAuthorization: Basic eA==\r\n\r\n");
  EXPECT_EQ(client->reply().status, 200);
  const auto seen = stage.origin.seen().at(0);
  EXPECT_EQ(seen.body, "abcd");
  EXPECT_EQ(seen.trailers.find("x-sum"), "42");
  EXPECT_FALSE(seen.fields.has("x-sum"));
  EXPECT_FALSE(seen.trailers.has("authorization"));
  stage.expect_served(*client);
}

TEST(InterceptedTrailers, of_an_answer_arrive_as_trailers) {
  Intercepted stage;
  stage.origin.on("/x", scripts::says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
                                      "3\r\nabc\r\n0\r\nX-Sum: 42\r\nContent-Length: 9\r\n\r\n",
                                      false));
  const auto client = stage.open();
  client->send(stage.request("/x"));
  const Reply reply = client->reply();
  EXPECT_TRUE(reply.whole);
  EXPECT_EQ(reply.body, "abc");
  EXPECT_EQ(reply.trailers.find("x-sum"), "42");
  EXPECT_FALSE(reply.trailers.has("content-length"));
  stage.expect_served(*client);
}

}  // namespace
}  // namespace penstock::trial
