// SPDX-License-Identifier: Apache-2.0
// Targets and header fields: what goes through as it came, and what stays behind at a proxy.
#include <gmock/gmock.h>

#include "system/stage.h"

namespace penstock::trial {
namespace {

using testing::ElementsAre;

/// A GET with a proper Host and these lines, taken as they are.
std::string with_lines(const Stage& stage, const std::string& lines) {
  return "GET " + stage.url("/x") + " HTTP/1.1\r\nHost: " + stage.origin.host() + "\r\n" + lines + "\r\n";
}

TEST(Target, arrives_byte_for_byte) {
  Stage stage;
  for (const char* path : {"/a/../b/%2e%2E//c?x=%41&", "/./a", "/..", "//", "/a?b?c=/../", "/%7Euser/%zz", "/a;b=c,d",
                           "/?", "/a|b^c{d}", "/x?http://other/"}) {
    SCOPED_TRACE(path);
    EXPECT_EQ(stage.fetch(path).status, 200);
    EXPECT_EQ(stage.origin.seen().back().target, path);
  }
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
