// SPDX-License-Identifier: Apache-2.0
// Refused requests whose bodies or answers are on their way: what is asked again, what cannot be, and what the client
// sees of it.
#include <gmock/gmock.h>

#include <atomic>
#include <memory>

#include "system/limited.h"
#include "system/refusing.h"

namespace penstock::trial {
namespace {

constexpr const char* kFour = "maxConcurrent: 4";

std::string streaming(const Stage& stage, std::string_view lines = "") {
  return "POST " + stage.url("/x") + " HTTP/1.1\r\nHost: " + stage.origin.host() +
         "\r\nTransfer-Encoding: chunked\r\n" + std::string(lines) + "\r\n";
}

/// Refuses before the body's end, once so much of it has come.
Origin::Script refuses_after(std::size_t bytes, std::string lines, Origin::Script then) {
  return [=, refused = std::make_shared<std::atomic<bool>>(false)](Visit& visit) {
    if (refused->exchange(true)) return then(visit);
    std::size_t came = 0;
    visit.read_body([&](std::string_view piece) {
      if (came < bytes && came + piece.size() >= bytes) visit.answer(429, "busy", lines);
      came += piece.size();
    });
    visit.close();
  };
}

TEST(RefusedUpload, that_is_longer_than_what_is_kept_hears_of_it_in_its_middle) {
  Limited stage(kFour);
  stage.origin.otherwise(refuses_after(100'000, "Retry-After: 30\r\n", scripts::answers(200, "never")));
  Client client(stage.daemon.port());
  client.send(streaming(stage) + chunk(pattern(0, 60'000)) + chunk(pattern(60'000, 60'000)));
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(reply.body, "busy");
  EXPECT_EQ(reply.field("retry-after"), "30");
  expect_sent(stage.origin, stage.daemon, reply, 1);
}

void send_the_rest(Client& client) { client.send(chunk(", second") + "0\r\n\r\n"); }

void expect_the_whole_upload(Limited& stage, Client& client) {
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 200);
  expect_sent(stage.origin, stage.daemon, reply, 2);
  EXPECT_EQ(stage.origin.seen().at(1).body, "first, second");
}

TEST(RefusedUpload, that_is_short_goes_on_while_it_waits_and_is_sent_whole) {
  Limited stage(kFour);
  stage.origin.otherwise(refuses_after(5, "Retry-After: 25\r\n", scripts::answers(200, "served")));
  Client client(stage.daemon.port());
  client.send(streaming(stage) + chunk("first"));
  ASSERT_TRUE(stage.daemon.await_pending("api", 1)) << "it waits again";
  send_the_rest(client);
  EXPECT_EQ(stage.daemon.admin("/resume?upstream=api", "POST").status, 200);
  expect_the_whole_upload(stage, client);
}

/// The pause is over before the body is.
TEST(RefusedUpload, that_is_short_goes_on_in_its_second_flight) {
  Limited stage(kFour);
  stage.origin.otherwise(refuses_after(5, "Retry-After-Ms: 50\r\n", scripts::answers(200, "served")));
  Client client(stage.daemon.port());
  client.send(streaming(stage) + chunk("first"));
  ASSERT_TRUE(stage.origin.await(2));
  send_the_rest(client);
  expect_the_whole_upload(stage, client);
}

TEST(RefusedExpectation, keeps_its_body_until_it_is_asked_for) {
  Limited stage(kFour);
  const auto takes_it = [](Visit& visit) {
    visit.write("HTTP/1.1 100 Continue\r\n\r\n");
    if (visit.read_body()) visit.answer(200, visit.request().body);
  };
  stage.origin.otherwise([takes_it, count = std::make_shared<std::atomic<int>>(0)](Visit& visit) {
    if (++*count > 1) return takes_it(visit);
    visit.answer(429, "busy", "Retry-After-Ms: 50\r\n");
    visit.close();
  });
  Client client(stage.daemon.port());
  client.send("POST " + stage.url("/x") + " HTTP/1.1\r\nHost: " + stage.origin.host() +
              "\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  const Reply asked = client.head();
  EXPECT_EQ(asked.status, 100);
  EXPECT_EQ(stage.origin.count(), 2u) << "which nobody did at the first time";
  client.send("body");
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "body");
  EXPECT_TRUE(reply.interims.empty());
  expect_sent(stage.origin, stage.daemon, reply, 2);
}

TEST(RefusedExpectation, that_has_given_its_body_need_not_give_it_again) {
  Limited stage(kFour);
  stage.origin.otherwise([count = std::make_shared<std::atomic<int>>(0)](Visit& visit) {
    visit.write("HTTP/1.1 100 Continue\r\n\r\n");
    if (!visit.read_body()) return;
    ++*count == 1 ? visit.answer(429, "busy", "Retry-After-Ms: 50\r\n") : visit.answer(200, visit.request().body);
  });
  Client client(stage.daemon.port());
  client.send("POST " + stage.url("/x") + " HTTP/1.1\r\nHost: " + stage.origin.host() +
              "\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.head().status, 100);
  client.send("body");
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "body");
  for (const Reply& interim : reply.interims) EXPECT_EQ(interim.status, 100);
  expect_sent(stage.origin, stage.daemon, reply, 2);
}

TEST(RefusedHead, is_asked_again) {
  Limited stage(kFour);
  stage.origin.otherwise(scripts::refuses(2));
  Client client(stage.daemon.port());
  client.send("HEAD " + stage.url("/x") + " HTTP/1.1\r\nHost: " + stage.origin.host() + "\r\n\r\n");
  const Reply reply = client.reply(true);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.field("content-length"), "6");
  expect_sent(stage.origin, stage.daemon, reply, 3);
  client.send(get(stage.url("/y")));
  EXPECT_EQ(client.reply().body, "served") << "no byte of a body came before";
}

TEST(RefusedAfterHints, is_asked_again_and_the_hints_are_the_client_s) {
  Limited stage(kFour);
  stage.origin.otherwise([count = std::make_shared<std::atomic<int>>(0)](Visit& visit) {
    const int nth = ++*count;
    visit.write("HTTP/1.1 103 Early Hints\r\nLink: </" + std::to_string(nth) + ">\r\n\r\n");
    nth == 1 ? visit.answer(429, "busy", "Retry-After-Ms: 50\r\n") : visit.answer(200, "served");
  });
  Client client(stage.daemon.port());
  client.send(get(stage.url("/x")));
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "served");
  ASSERT_EQ(reply.interims.size(), 2u);
  EXPECT_EQ(reply.interims[0].field("link"), "</1>");
  EXPECT_EQ(reply.interims[1].field("link"), "</2>");
  expect_sent(stage.origin, stage.daemon, reply, 2);
}

// An answer of which bytes have been passed on is the answer.

TEST(AnswerBegun, is_the_only_one_though_it_breaks_off) {
  Limited stage("maxConcurrent: 4, retry: { failures: safe }");
  stage.origin.otherwise(scripts::says("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"));
  Client client(stage.daemon.port());
  client.send(get(stage.url("/x")));
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "half");
  EXPECT_FALSE(reply.whole);
  expect_sent(stage.origin, stage.daemon, reply, 1);
}

TEST(AnswerBegun, may_be_a_refusal_that_is_too_large_to_keep) {
  Limited stage(kFour);
  const std::string half = pattern(0, 70'000);
  stage.origin.otherwise([&](Visit& visit) {
    visit.write("HTTP/1.1 429 No\r\nRetry-After-Ms: 50\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(half));
    visit.hold();
    visit.last(chunk("the rest") + "0\r\n\r\n");
  });
  Client client(stage.daemon.port());
  client.send(get(stage.url("/x")));
  ASSERT_TRUE(client.hears_within(kPatience)) << "before the refusal is whole";
  stage.origin.release();
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 429);
  EXPECT_TRUE(reply.body == half + "the rest");
  expect_sent(stage.origin, stage.daemon, reply, 1);
}

// What cannot be repeated.

TEST(NotRepeated, is_what_the_file_forbids_or_a_deadline_or_the_last_attempt) {
  for (const std::string settings : {"retry: off", "retry: { attempts: 1 }", "retry: { refusals: false }",
                                     "queue: { maxWait: 10ms }", "obey: off"}) {
    SCOPED_TRACE(settings);
    Limited stage("maxConcurrent: 4, " + settings);
    stage.origin.otherwise(scripts::refuses(1));
    const Reply reply = stage.fetch("/x");
    EXPECT_EQ(reply.status, 429);
    EXPECT_EQ(reply.body, "busy 1");
    EXPECT_EQ(reply.field("retry-after-ms"), "50");
    expect_sent(stage.origin, stage.daemon, reply, 1);
  }
}

TEST(NotRepeated, is_a_post_that_failed) {
  Limited stage("maxConcurrent: 4, retry: { failures: safe }");
  stage.origin.otherwise(scripts::answers(503, "down"));
  const Reply reply = stage.ask(with_body("POST", stage.url("/x"), "body"));
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.body, "down");
  expect_sent(stage.origin, stage.daemon, reply, 1);
}

}  // namespace
}  // namespace penstock::trial
