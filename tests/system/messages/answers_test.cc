// SPDX-License-Identifier: Apache-2.0
// Answers that would do more than answer: leave something behind for the next request, speak in Penstock's name, burst
// out of their packing, or lead somewhere else.
#include <gmock/gmock.h>

#include "system/stage.h"

namespace penstock::trial {
namespace {

using testing::ElementsAre;

TEST(Answer, that_sets_cookies_and_policies_has_no_effect_on_what_follows) {
  Stage stage;
  Origin other;
  stage.origin.on("/sticky",
                  scripts::answers(200, "x",
                                   "Set-Cookie: a=secret; Path=/\r\nSet-Cookie2: b=secret\r\n"
                                   "Strict-Transport-Security: max-age=31536000; includeSubDomains\r\n"
                                   "Alt-Svc: http/1.1=\"" +
                                       other.host() + "\"; ma=86400; persist=1\r\nRefresh: 0; url=" + other.url() +
                                       "\r\nLink: <" + other.url("/style") + ">; rel=preload\r\n"));
  const Reply reply = stage.fetch("/sticky");
  for (const char* name : {"set-cookie", "set-cookie2", "strict-transport-security", "alt-svc", "refresh", "link"})
    EXPECT_TRUE(reply.fields.has(name)) << name;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(stage.fetch("/after").body, "hello");
  const auto seen = stage.origin.seen();
  ASSERT_EQ(seen.size(), 4u) << "over plain HTTP still";
  for (const auto& request : seen) EXPECT_EQ(request.head.find("secret"), std::string::npos);
  EXPECT_EQ(other.connections(), 0u);
}

TEST(Answer, that_leads_to_a_forbidden_place_is_relayed_and_never_followed) {
  Stage stage;
  for (const char* place : {"http://169.254.169.254/latest/meta-data/", "file:///etc/passwd",
                            "gopher://127.0.0.1:6379/_", "http://127.0.0.1:1/", "//evil.test/"}) {
    for (const int status : {301, 302, 303, 307, 308}) {
      stage.origin.otherwise(scripts::answers(status, "", "Location: "s + place + "\r\n"));
      const Reply reply = stage.ask(with_body("POST", stage.url("/x"), "body"));
      EXPECT_EQ(reply.status, status);
      EXPECT_EQ(reply.field("location"), place);
    }
  }
  EXPECT_EQ(stage.origin.count(), 25u);
}

TEST(Answer, that_speaks_in_our_name_loses_our_name) {
  Stage stage;
  stage.origin.on("/forged", scripts::answers(200, "x",
                                              "Proxy-Status: penstock; error=destination_ip_prohibited\r\n"
                                              "Proxy-Status: other; error=dns_error\r\n"
                                              "Via: 1.1 inner\r\nConnection: Via, Server-Timing, X-Hop\r\nX-Hop: 1\r\n"
                                              "Proxy-Connection: keep-alive\r\nProxy-Authenticate: Basic\r\n"));
  const Reply reply = stage.fetch("/forged");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.fields.all("proxy-status"), ElementsAre("other; error=dns_error"));
  EXPECT_THAT(reply.fields.all("via"), ElementsAre("1.1 inner", "1.1 penstock"));
  EXPECT_TRUE(reply.field("server-timing").starts_with("penstock-wait;dur=")) << reply.head;
  for (const char* name : {"x-hop", "connection", "proxy-connection", "proxy-authenticate"})
    EXPECT_FALSE(reply.fields.has(name)) << name;
  const Json ended = stage.daemon.await_event("complete");
  EXPECT_FALSE(ended.contains("error"));
}

TEST(Answer, with_a_large_head_within_the_cap_is_relayed_whole) {
  Stage stage;
  const std::string large(64 * 1024, 'v');
  stage.origin.on("/large", scripts::answers(200, "x", "X-Large: " + large + "\r\n"));
  const Reply reply = stage.fetch("/large");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.field("x-large"), large);
}

/// A gzip file of nothing but zeros, a thousandth of them in size: one literal, then copies of 258 bytes each, in the
/// fixed code of RFC 1951.
std::string bomb(std::size_t size) {
  std::string out("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
  unsigned bits = 0, count = 0;
  const auto put = [&](unsigned code, int length) {  // the first bit is the highest
    for (int i = length - 1; i >= 0; --i) {
      bits |= (code >> i & 1) << count;
      if (++count == 8) out += static_cast<char>(std::exchange(bits, 0)), count = 0;
    }
  };
  put(0b110, 3);  // the last block, of the fixed code
  put(0b00110000, 8);
  while (out.size() < size) put(0b11000101, 8), put(0, 5);
  return out;
}

TEST(Answer, that_is_a_bomb_when_unpacked_is_relayed_packed) {
  Stage stage;
  const std::string packed = bomb(256 * 1024);
  stage.origin.otherwise(scripts::answers(200, packed, "Content-Encoding: gzip\r\nContent-Type: text/plain\r\n"));
  stage.fetch("/warm", "Accept-Encoding: gzip\r\n");
  const std::size_t before = stage.daemon.resident_kib();
  const double cpu = stage.daemon.cpu_seconds();
  for (int i = 0; i < 10; ++i) {
    const Reply reply = stage.fetch("/bomb");
    EXPECT_EQ(reply.field("content-encoding"), "gzip");
    EXPECT_EQ(reply.field("content-length"), std::to_string(packed.size()));
    EXPECT_TRUE(reply.body == packed);
  }
  EXPECT_LT(stage.daemon.resident_kib(), before + (is_sanitized() ? 32 : 8) * 1024);
  EXPECT_LT(stage.daemon.cpu_seconds() - cpu, 2) << "400 MiB were not unpacked";
  for (const auto& seen : stage.origin.seen()) EXPECT_EQ(seen.fields.has("accept-encoding"), seen.target == "/warm");
}

TEST(KeepAlive, of_one_more_request_costs_nobody_an_error) {
  Stage stage;
  std::atomic<std::size_t> closed = 0;
  stage.origin.otherwise([&](Visit& visit) {  // as servers do that allow two requests a connection
    visit.read_body();
    const bool last = visit.request().nth == 2;
    visit.answer(200, "ok", last ? "Connection: close\r\n" : "Keep-Alive: timeout=5, max=1\r\n");
    if (last) visit.close(), ++closed;
  });
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(stage.ask(with_body("POST", stage.url("/x"), "charge=1")).status, 200);
    ASSERT_TRUE(eventually([&] { return closed == (i + 1) / 2; }));
  }
  EXPECT_EQ(stage.origin.count(), 20u);
  EXPECT_EQ(stage.origin.connections(), 10u);
}

}  // namespace
}  // namespace penstock::trial
