// SPDX-License-Identifier: Apache-2.0
// Upstreams behind names, `http://PROXY/@NAME/…`: what they see, and what the client hears of them.
#include <gmock/gmock.h>

#include "system/stage.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;
using testing::Not;

/// An upstream `api` at the origin's /v1, and nothing else.
struct Gateway {
  Gateway() : daemon({.yaml = "upstreams: { api: { baseUrl: 'http://" + origin.host() + "/v1' } }\n"}) {}
  ~Gateway() { EXPECT_EQ(origin.complaint(), ""); }

  static std::string by_name(const std::string& method, const std::string& target, const std::string& lines = "") {
    return method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" + lines + "\r\n";
  }

  Origin origin;
  Daemon daemon;
};

TEST(Gateway, puts_its_upstream_at_the_client_s_disposal) {
  Gateway stage;
  const std::string lines =
      "Authorization: Bearer key\r\nOrigin: http://localhost\r\nPenstock-Weight: 1\r\nProxy-Connection: keep-alive\r\n"
      "Proxy-Authorization: Basic eDp5\r\n";
  EXPECT_EQ(stage.daemon.ask(Gateway::by_name("GET", "/@api/chat//%2F?a=../b", lines)).body, "hello");
  EXPECT_EQ(stage.origin.seen().at(0).head, "GET /v1/chat//%2F?a=../b HTTP/1.1\r\nHost: " + stage.origin.host() +
                                                "\r\nAuthorization: Bearer key\r\nOrigin: http://localhost\r\n"
                                                "Via: 1.1 penstock\r\n\r\n");
  const auto done = stage.daemon.await_events(1, "complete");
  EXPECT_EQ(done.at(0)["upstream"], "api");
  EXPECT_EQ(done.at(0)["host"], "127.0.0.1");
  EXPECT_EQ(done.at(0)["path"], "/v1/chat//%2F");
}

// Two upstreams behind names of one proxy: the other hears nothing of what is said of the one.

/// `api` at the origin's /v1, and `other` beside it.
struct Neighbours {
  Neighbours()
      : daemon({.yaml = "upstreams: { api: { baseUrl: 'http://" + origin.host() + "/v1' }, other: { baseUrl: 'http://" +
                        origin.host() + "/other', match: [] } }\n"}) {}
  ~Neighbours() { EXPECT_EQ(origin.complaint(), ""); }

  /// The answer to a request of this target, where the origin's has these lines.
  Reply ask(const std::string& target, const std::string& lines = "", const std::string& method = "GET") {
    origin.otherwise([lines](Visit& visit) { visit.answer(302, "", lines); });
    return daemon.ask(method + " " + target + " HTTP/1.1\r\nHost: " + daemon.host() + "\r\n\r\n");
  }
  std::string location(const std::string& said) {
    return ask("/@api/x", "Location: " + said + "\r\n").field("location");
  }

  Origin origin;
  Daemon daemon;
};

// What is sent is judged by what a client makes of it: it resolves it against the URL that it asked.
TEST(GatewayFence, holds_against_redirects) {
  Neighbours stage;
  const std::string here = "http://" + stage.origin.host(), self = "http://" + stage.daemon.host();
  EXPECT_EQ(stage.location("next"), "/@api/next");
  EXPECT_EQ(stage.location("/v1/%2e%2e/@other/x"), here + "/v1/%2e%2e/@other/x");
  EXPECT_EQ(stage.location(self + "/@api/next"), self + "/@api/next");
  const Reply reply = stage.ask("/@api/x", "Location: " + self + "/@other/x\r\nX-Kept: 1\r\n");
  EXPECT_FALSE(reply.fields.has("location")) << reply.field("location");
  EXPECT_EQ(reply.field("x-kept"), "1");
}

// botocore percent-encodes whatever it need not leave.
TEST(Gateway, is_known_by_an_encoded_at_sign_too) {
  Neighbours stage;
  const Reply reply = stage.ask("/%40api/x?q", "Location: " + stage.origin.url("/v1/next") + "\r\n");
  EXPECT_EQ(stage.origin.seen().at(0).target, "/v1/x?q");
  EXPECT_EQ(reply.field("location"), "/%40api/next");
  EXPECT_EQ(stage.ask("http://" + stage.daemon.host() + "/%40api/y").status, 302);
  EXPECT_EQ(stage.origin.seen().at(1).target, "/v1/y");
  expect_own_answer(stage.ask("/%40nobody/x"), {404}, "destination_not_found");
  expect_own_answer(stage.ask("/%2540api/x"), {400});
}

TEST(Gateway, writes_no_fragment_into_the_log) {
  Neighbours stage;
  expect_own_answer(stage.ask("/@unknown#s3cret"), {404}, "destination_not_found");
  expect_own_answer(stage.ask("/@unknown/x?q#s3cret/y"), {404}, "destination_not_found");
  expect_own_answer(stage.ask("/@api/x#s3cret"), {400});
  const auto refused = stage.daemon.await_events(3, "refused");
  ASSERT_EQ(refused.size(), 3u);
  EXPECT_EQ(refused[0].at("path"), "/@unknown");
  EXPECT_EQ(refused[1].at("path"), "/@unknown/x");
  EXPECT_EQ(refused[2].at("path"), "/@api/x");
  for (const auto& event : refused) EXPECT_THAT(event.dump(), Not(HasSubstr("s3cret")));
}

}  // namespace
}  // namespace penstock::trial
