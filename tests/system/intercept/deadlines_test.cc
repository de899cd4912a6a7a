// SPDX-License-Identifier: Apache-2.0
// What times a flight, and what follows a body, of requests inside an intercepted connection: as of those in the clear.

#include "system/intercepted.h"

namespace penstock::trial {
namespace {

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
