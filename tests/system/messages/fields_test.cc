// SPDX-License-Identifier: Apache-2.0
// Header fields: which are refused, which stay behind at a proxy, which go through and how.
#include <gmock/gmock.h>

#include "system/stage.h"

namespace penstock::trial {
namespace {

using testing::ElementsAre;

/// A GET with a proper Host and these lines, taken as they are.
std::string with_lines(const Stage& stage, const std::string& lines) {
  return "GET " + stage.url("/x") + " HTTP/1.1\r\nHost: " + stage.origin.host() + "\r\n" + lines + "\r\n";
}

TEST(Fields, that_are_folded_are_refused) {
  Stage stage;
  expect_refused(stage, with_lines(stage, "Transfer-Encoding:\r\n chunked\r\n"));
  expect_refused(stage, with_lines(stage, "Content-Length: 1\r\n 0\r\n"));
  expect_refused(stage, with_lines(stage, "X-A: one\r\n two\r\n"));
  expect_refused(stage, with_lines(stage, "X-A: one\r\n\ttwo\r\n"));
}

TEST(Fields, a_nul_anywhere_in_a_head_is_refused) {
  Stage stage;
  const std::string request = with_lines(stage, "X-A: b\r\nAccept: */*\r\n");
  for (std::size_t at = 0; at + 1 < request.size(); ++at) {
    SCOPED_TRACE(at);
    Client client(stage.daemon.port());
    client.send(std::string(request).insert(at, 1, '\0'));
    const Reply reply = client.reply();
    EXPECT_EQ(reply.status / 100, 4) << shown(client.rest());
    EXPECT_EQ((reply.head + reply.body + client.rest()).find('\0'), std::string::npos) << "never copied out";
  }
  EXPECT_EQ(stage.origin.count(), 0u);
}

TEST(Fields, with_high_bytes_in_a_value_go_through) {
  Stage stage;
  EXPECT_EQ(stage.ask(with_lines(stage, "X-A: caf\xc3\xa9 \xff\r\n")).status, 200);
  EXPECT_THAT(stage.origin.seen()[0].fields.all("x-a"), ElementsAre("caf\xc3\xa9 \xff"));
}

TEST(Host, is_made_from_the_target) {
  Stage stage;
  for (const char* host : {"other.test", "127.0.0.1:1", "127.0.0.1"}) {
    const Reply reply = stage.ask("GET " + stage.url() + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    EXPECT_EQ(reply.status, 200);
    EXPECT_THAT(stage.origin.seen().back().fields.all("host"), ElementsAre(stage.origin.host()));
  }
}

TEST(Host, is_given_to_the_upstream_of_an_http_1_0_client) {
  Stage stage;
  Client client(stage.daemon.port());
  client.send("GET " + stage.url("/old") + " HTTP/1.0\r\n\r\n");
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "hello");
  EXPECT_FALSE(reply.chunked);
  EXPECT_TRUE(client.closed());
  const auto seen = stage.origin.seen();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_TRUE(seen[0].head.starts_with("GET /old HTTP/1.1\r\n")) << seen[0].head;
  EXPECT_THAT(seen[0].fields.all("host"), ElementsAre(stage.origin.host()));
}

TEST(Hop, by_hop_fields_stay_behind_and_the_others_go_on) {
  Stage stage;
  stage.ask(with_lines(
      stage,
      "Connection: X-Hop, keep-alive\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\n"
      "TE: trailers\r\nUpgrade: websocket\r\nProxy-Authorization: Basic c2VjcmV0\r\nX-End: 1\r\n"
      "Authorization: Bearer t\r\nCookie: a=b\r\nTrailer: X-T\r\n"));
  ASSERT_EQ(stage.origin.count(), 1u);
  const Lines fields = stage.origin.seen()[0].fields;
  for (const char* name :
       {"connection", "x-hop", "keep-alive", "proxy-connection", "te", "upgrade", "proxy-authorization",
        "transfer-encoding", "content-length", "expect", "penstock-max-wait"}) {
    EXPECT_FALSE(fields.has(name)) << name;
  }
  EXPECT_EQ(fields.find("x-end"), "1");
  EXPECT_EQ(fields.find("authorization"), "Bearer t");
  EXPECT_EQ(fields.find("cookie"), "a=b");
}

TEST(Hop, by_hop_fields_of_the_upstream_stay_behind_too) {
  Stage stage;
  stage.origin.otherwise(
      scripts::answers(200, "x",
                       "Connection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nProxy-Connection: a\r\n"
                       "Upgrade: h2c\r\nX-End: 1\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\n"));
  const Reply reply = stage.fetch("/");
  for (const char* name : {"x-hop", "keep-alive", "proxy-connection", "upgrade"})
    EXPECT_FALSE(reply.fields.has(name)) << name;
  EXPECT_EQ(reply.field("x-end"), "1");
  EXPECT_THAT(reply.fields.all("set-cookie"), ElementsAre("a=b", "c=d"));
}

TEST(Hop, nominations_cannot_take_away_what_is_for_everybody) {
  Stage stage;
  stage.origin.otherwise(scripts::answers(200, "x",
                                          "Connection: Set-Cookie, Content-Type, ETag\r\nSet-Cookie: a=b\r\n"
                                          "Content-Type: text/plain\r\nETag: \"e\"\r\n"));
  const Reply reply = stage.ask(with_lines(stage,
                                           "Connection: Authorization, Cookie, Range, Via, Cache-Control\r\n"
                                           "Authorization: Bearer t\r\nCookie: a=b\r\nRange: bytes=0-1\r\n"
                                           "Cache-Control: no-store\r\nVia: 1.1 outer\r\n"));
  EXPECT_EQ(reply.status, 200);
  ASSERT_EQ(stage.origin.count(), 1u);
  const Lines fields = stage.origin.seen()[0].fields;
  for (const char* name : {"authorization", "cookie", "range", "cache-control"}) EXPECT_TRUE(fields.has(name)) << name;
  EXPECT_THAT(fields.all("via"), ElementsAre("1.1 outer", "1.1 penstock"));
  for (const char* name : {"set-cookie", "content-type", "etag"}) EXPECT_TRUE(reply.fields.has(name)) << name;
}

TEST(Hop, as_many_nominations_as_are_allowed_are_all_obeyed) {
  Stage stage;
  std::string nominated, lines;
  for (int i = 0; i < 32; ++i) {
    nominated += (i ? ", X-" : "X-") + std::to_string(i);
    lines += "X-" + std::to_string(i) + ": hop\r\n";
  }
  EXPECT_EQ(stage.ask(with_lines(stage, "Connection: " + nominated + "\r\n" + lines)).status, 200);
  ASSERT_EQ(stage.origin.count(), 1u);
  EXPECT_EQ(stage.origin.seen()[0].head.find("hop"), std::string::npos);
}

TEST(Upgrade, that_nobody_asked_for_is_a_bad_gateway) {
  Stage stage;
  stage.origin.otherwise(
      scripts::says("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nraw bytes"));
  const Reply reply = stage.fetch("/");
  EXPECT_EQ(reply.status, 502);
  EXPECT_EQ(reply.error(), "http_upgrade_failed");
  EXPECT_EQ(reply.body.find("raw bytes"), std::string::npos);
}

TEST(Fields, that_are_empty_arrive_empty) {
  Stage stage;
  stage.ask(with_lines(stage, "X-Empty:\r\nX-Blank:   \r\n"));
  const Lines fields = stage.origin.seen()[0].fields;
  EXPECT_EQ(fields.find("x-empty"), "");
  EXPECT_EQ(fields.find("x-blank"), "");
}

TEST(Fields, keep_their_order_and_repetitions_both_ways) {
  Stage stage;
  stage.origin.otherwise(scripts::answers(200, "x", "X-A: 1\r\nX-B: 2\r\nx-a: 3\r\nX-B: 4\r\n"));
  const Reply reply = stage.ask(with_lines(stage, "X-A: 1\r\nX-B: 2\r\nx-a: 3\r\nX-B: 4\r\n"));
  const auto kept = [](const Lines& lines) {
    std::string out;
    for (const auto& line : lines) {
      if (same_name(line.name, "x-a") || same_name(line.name, "x-b")) out += line.value;
    }
    return out;
  };
  EXPECT_EQ(kept(stage.origin.seen()[0].fields), "1234");
  EXPECT_EQ(kept(reply.fields), "1234");
}

TEST(Fields, are_not_invented) {
  Stage stage;
  stage.ask(with_body("POST", stage.url("/x"), "a=b"));
  const Lines fields = stage.origin.seen()[0].fields;
  for (const char* name : {"accept", "content-type", "user-agent", "expect", "accept-encoding", "connection"}) {
    EXPECT_FALSE(fields.has(name)) << name;
  }
  EXPECT_EQ(fields.size(), 3u) << "Host, Via and Content-Length";
}

TEST(Answers, of_the_upstream_tell_how_long_they_waited) {
  Stage stage;
  stage.origin.otherwise(scripts::answers(200, "x", "Server-Timing: db;dur=53\r\n"));
  const auto timings = stage.fetch("/").fields.all("server-timing");
  ASSERT_EQ(timings.size(), 2u);
  EXPECT_EQ(timings[0], "db;dur=53");
  EXPECT_THAT(timings[1], testing::MatchesRegex("penstock-wait;dur=[0-9.]+"));
}

TEST(Heads, beyond_the_caps_are_431) {
  Stage stage;
  const auto lines = [](int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += "X-" + std::to_string(i) + ": v\r\n";
    return out;
  };
  EXPECT_EQ(stage.ask(with_lines(stage, lines(101))).status, 200);
  const std::size_t before = stage.daemon.resident_kib();
  expect_refused(stage, with_lines(stage, lines(1000)), {431});
  expect_refused(stage, with_lines(stage, lines(10'000)), {431});
  expect_refused(stage, with_lines(stage, "X-Big: " + std::string(64 * 1024, 'v') + "\r\n"), {431});
  std::string in_all;
  for (int i = 0; i < 100; ++i) in_all += "X-" + std::to_string(i) + ": " + std::string(1024, 'v') + "\r\n";
  expect_refused(stage, with_lines(stage, in_all), {431});
  EXPECT_LT(stage.daemon.resident_kib(), before + (is_sanitized() ? 32 : 4) * 1024) << "memory stays flat";
}

// What the file may allow, whatever carries it on its way must carry.
TEST(Heads, and_trailers_of_the_largest_size_that_may_be_allowed_arrive) {
  Stage stage(
      {.yaml = "caps: { headerCount: 100000, headerBytes: 512KiB, targetBytes: 512KiB, trailerBytes: 48KiB }\n"});
  const std::string one = std::string(510 * 1024, 'v');
  EXPECT_EQ(stage.ask(with_lines(stage, "X-Big: " + one + "\r\n")).status, 200);
  EXPECT_EQ(stage.fetch("/" + one).status, 200);
  std::string many, trailers;
  for (int i = 0; i < 90'000; ++i) many += "a:1\r\n";
  for (int i = 0; i < 9'500; ++i) trailers += "a:1\r\n";
  EXPECT_EQ(stage.ask(with_lines(stage, many)).status, 200);
  EXPECT_EQ(stage
                .ask("POST " + stage.url() +
                     " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n" + trailers + "\r\n")
                .status,
            200);
  const auto seen = stage.origin.seen();
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0].fields.find("x-big"), one);
  EXPECT_EQ(seen[1].target, "/" + one);
  EXPECT_EQ(seen[2].fields.all("a").size(), 90'000u);
  EXPECT_EQ(seen[3].trailers.all("a").size(), 9'500u);
}

}  // namespace
}  // namespace penstock::trial
