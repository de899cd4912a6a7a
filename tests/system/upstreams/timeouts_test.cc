// SPDX-License-Identifier: Apache-2.0
// Time-outs of a flight, each with its answer: connect, firstByte, idle, total.
#include <gmock/gmock.h>

#include "system/stage.h"

namespace penstock::trial {
namespace {

void expect_timeout(const Reply& reply, const std::string& error, Moment start, Clock::duration least) {
  EXPECT_EQ(reply.status, 504);
  EXPECT_EQ(reply.error(), error);
  EXPECT_TRUE(reply.whole);
  EXPECT_FALSE(reply.fields.has("retry-after"));
  EXPECT_GE(Clock::now() - start, least);
  EXPECT_TRUE(within(least + kLate, start));
}

TEST(ConnectTimeout, is_504_and_frees_the_slot) {
  Stage stage(with_defaults("maxConcurrent: 1, timeouts: { connect: 400ms }"));
  const Silent silent;
  const auto start = Clock::now();
  expect_timeout(stage.ask(get("http://" + silent.host() + "/")), "connection_timeout", start, 390ms);
  const Json error = stage.daemon.await_event("error");
  EXPECT_EQ(error.at("error"), "connection_timeout");
  EXPECT_TRUE(stage.daemon.await_in_flight(silent.host(), 0));
}

TEST(FirstByteTimeout, is_504_after_half_a_head_too) {
  Stage stage(with_defaults("timeouts: { firstByte: 400ms }"));
  stage.origin.on("/half", [](Visit& visit) {
    visit.write("HTTP/1.1 200 OK\r\nX-Half: ");
    visit.sees_the_end();
  });
  const auto start = Clock::now();
  expect_timeout(stage.fetch("/half"), "http_response_timeout", start, 390ms);
}

TEST(FirstByteTimeout, counts_from_the_last_byte_of_the_request) {
  Stage stage(with_defaults("timeouts: { firstByte: 1s }"));
  Client client(stage.daemon.port());
  client.send("POST " + stage.url("/x") + " HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n");
  ASSERT_TRUE(stage.origin.await(1));
  for (const char* byte : {"a", "b", "c", "d"}) {
    std::this_thread::sleep_for(300ms);  // a slow client: in all longer than firstByte
    client.send(byte);
  }
  EXPECT_EQ(client.reply().status, 200);
}

TEST(FirstByteTimeout, does_not_count_a_body_that_flows) {
  Stage stage(with_defaults("timeouts: { firstByte: 2s }"));
  stage.origin.otherwise([](Visit& visit) {
    visit.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n");
    for (int i = 0; i < 4; ++i) {
      std::this_thread::sleep_for(600ms);  // in all longer than firstByte
      visit.write("x");
    }
  });
  EXPECT_EQ(stage.fetch("/").body, "xxxx");
}

TEST(TotalTimeout, ends_an_upload_that_trickles_and_hands_its_slot_on) {
  Stage stage(with_defaults("maxConcurrent: 1, timeouts: { total: 3s }"));
  stage.origin.on("/trickle", [](Visit& visit) { visit.read_body(); });
  Client trickler(stage.daemon.port()), next(stage.daemon.port());
  trickler.send("POST " + stage.url("/trickle") + " HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n");
  ASSERT_TRUE(stage.origin.await(1));
  next.send(get(stage.url("/next")));
  const auto until = Clock::now() + kPatience;
  while (Clock::now() < until && !next.hears_within(20ms)) trickler.send("x");  // never as long as idle, or body
  EXPECT_EQ(next.reply().body, "hello") << "the slot is the next one's";
  expect_own_answer(trickler.reply(), {504}, "connection_read_timeout");
  const Json error = stage.daemon.await_event("error");
  EXPECT_THAT(error.at("detail"), testing::HasSubstr("timeouts.total"));
  EXPECT_GE(error.at("flightMs"), 2990);
  ASSERT_TRUE(eventually([&] { return !stage.origin.seen().at(0).body.empty(); }));
  EXPECT_FALSE(stage.origin.seen()[0].whole) << "the upstream saw no whole request";
}

TEST(TotalTimeout, does_not_count_the_time_in_the_queue) {
  Stage stage(with_defaults("maxConcurrent: 1, timeouts: { total: 4s }"));
  stage.origin.otherwise([](Visit& visit) {
    std::this_thread::sleep_for(2100ms);  // two of them are longer than total
    visit.answer(200, "slow");
  });
  Client first(stage.daemon.port()), second(stage.daemon.port());
  first.send(get(stage.url("/1")));
  second.send(get(stage.url("/2")));
  EXPECT_EQ(first.reply().status, 200);
  EXPECT_EQ(second.reply().status, 200);
}

}  // namespace
}  // namespace penstock::trial
