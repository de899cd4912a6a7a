// SPDX-License-Identifier: Apache-2.0
// Two upstreams behind names of one proxy: whatever the one answers, and whatever is asked of it, the other hears
// nothing of it, and what is said of the one stays below its base URL.
#include <gmock/gmock.h>

#include "system/stage.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;
using testing::Not;

/// `api` at the origin's /v1, and `other` beside it.
struct Neighbours {
  Neighbours()
      : daemon({.yaml = "upstreams: { api: { baseUrl: 'http://" + origin.host() + "/v1' }, other: { baseUrl: 'http://" +
                        origin.host() + "/other', match: [] } }\n"}) {}
  ~Neighbours() { EXPECT_EQ(origin.complaint(), ""); }

  /// The answer to a request of this target, where the origin's has these lines.
  Reply ask(const std::string& target, const std::string& lines = "", const std::string& method = "GET") {
    origin.otherwise([lines](Visit& visit) { visit.answer(302, "", lines); });
    Client client(daemon.port());
    client.send(method + " " + target + " HTTP/1.1\r\nHost: " + daemon.host() + "\r\n\r\n");
    return client.reply();
  }
  std::string location(const std::string& said) {
    return ask("/@api/x", "Location: " + said + "\r\n").field("location");
  }

  Origin origin;
  Daemon daemon;
};

TEST(GatewayFence, holds_against_every_spelling_of_a_way_up) {
  Neighbours stage;
  for (const char* path : {"/..",
                           "/../other/x",
                           "/./x",
                           "/a/../../other",
                           "/%2e%2e/other",
                           "/.%2E/other",
                           "/..%2fother",
                           "/..%2Fother",
                           "/a%2f..%2fother",
                           "/..;/other",
                           "/..;a=b/other",
                           "/%2e%2e;/other",
                           "/..%3bx/other",
                           "/..%5cother",
                           "/..%5Cother",
                           "/..\\other",
                           "/%252e%252e/other",
                           "/..%252fother",
                           "/%25252e./other",
                           "/%%32%65./other",
                           "/..%00/other",
                           "/..%20/other",
                           "/%c0%ae%c0%ae/other",
                           "/..%c0%afother"}) {
    SCOPED_TRACE(path);
    expect_own_answer(stage.ask("/@api"s + path), {400}, "http_request_error");
    expect_own_answer(stage.ask("http://" + stage.daemon.host() + "/@api" + path), {400}, "http_request_error");
    expect_own_answer(stage.ask("/%40api"s + path), {400}, "http_request_error");
  }
  EXPECT_EQ(stage.origin.count(), 0u);
  for (const char* path : {"/group%2Fproject", "/a//b", "/...", "/.well-known", "/a;b=../c", "/a?..%2f", "/%5c",
                           "/a%20b", "/%zz", "/gpt-4.1"}) {
    EXPECT_EQ(stage.ask("/@api"s + path).status, 302) << path;
    EXPECT_EQ(stage.origin.seen().back().target, "/v1"s + path) << "byte for byte";
  }
}

// What is sent is judged by what a client makes of it: it resolves it against the URL that it asked.
TEST(GatewayFence, holds_against_every_redirect) {
  Neighbours stage;
  const std::string here = "http://" + stage.origin.host(), self = "http://" + stage.daemon.host();
  const std::pair<std::string, std::string> kForms[] = {
      {"next", "/@api/next"},
      {"./next?q#f", "/@api/next?q#f"},
      {"../v1/next", "/@api/next"},
      {"?q", "?q"},
      {"../@other/x", here + "/v1/../@other/x"},
      {"../../@other/x", here + "/v1/../../@other/x"},
      {"/v1/../@other/x", here + "/v1/../@other/x"},
      {"/v1/%2e%2e/@other/x", here + "/v1/%2e%2e/@other/x"},
      {"/v1/%2E%2E%2F@other/x", here + "/v1/%2E%2E%2F@other/x"},
      {"/v1/..;/@other/x", here + "/v1/..;/@other/x"},
      {"/v1/..\\@other/x", here + "/v1/..\\@other/x"},
      {here + "/v1/../@other/x", here + "/v1/../@other/x"},
      {here + "/v1/a/../next", "/@api/next"},
      {"//" + stage.origin.host() + "/v1/../../@other/x", here + "/v1/../../@other/x"},
      {"/@other/x", here + "/@other/x"},
      {"@other/x", "/@api/@other/x"},
      {"https://elsewhere.test/@other/x", "https://elsewhere.test/@other/x"},
      {self + "/@api/next", self + "/@api/next"},
  };
  for (const auto& [said, comes] : kForms) {
    EXPECT_EQ(stage.location(said), comes) << said;
  }
  for (const std::string& said : {"http:/@other/x"s, "http:@other/x"s, "http:///@other/x"s, "/\t/@other/x"s,
                                  "http://127.1:" + std::to_string(stage.daemon.port()) + "/@other/x",
                                  self + "/@other/x", self + "/@api/../@other/x", self + "\\@other/x"}) {
    const Reply reply = stage.ask("/@api/x", "Location: " + said + "\r\nX-Kept: 1\r\n");
    EXPECT_EQ(reply.status, 302) << said;
    EXPECT_FALSE(reply.fields.has("location")) << said << " came as " << reply.field("location");
    EXPECT_EQ(reply.field("x-kept"), "1");
  }
}

TEST(GatewayFence, holds_against_every_cookie_path) {
  Neighbours stage;
  for (const auto& [target, said, comes] :
       {std::tuple("/@api/x", "a=b; Path=/v1/x; Path=", "a=b"), std::tuple("/@api/x", "a=b; Path=/v1; Path", "a=b"),
        std::tuple("/@api/x", "a=b; Path=; Path=/", "a=b; Path=/@api"), std::tuple("/@api/x", "a=b; Path=\"/\"", "a=b"),
        std::tuple("/@api", "a=b; Path=/v1; Path=", "a=b; Path=/@api"),
        std::tuple("/@api/x", "a=b; Path=/v1/../../@other", "a=b; Path=/@api"),
        std::tuple("/%40api/x", "a=b; Path=/v1/c", "a=b; Path=/%40api/c")}) {
    EXPECT_EQ(stage.ask(target, "Set-Cookie: "s + said + "\r\n").field("set-cookie"), comes) << target << " " << said;
  }
  EXPECT_FALSE(stage.ask("/@api/x", "Set-Cookie2: a=b; Path=\"/\"; Version=1\r\n").fields.has("set-cookie2"));
}

TEST(GatewayFence, holds_in_trailers_too) {
  Neighbours stage;
  stage.origin.on(
      "/v1/trailers",
      scripts::says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nContent-Location: " +
                        stage.origin.url("/v1/a") +
                        "\r\nStrict-Transport-Security: max-age=1\r\nSet-Cookie2: a=b; Path=/\r\nX-Sum: 1\r\n\r\n",
                    false));
  const Reply reply = stage.ask("/@api/trailers");
  EXPECT_EQ(reply.body, "abc");
  EXPECT_EQ(reply.trailers.find("content-location"), "/@api/a");
  EXPECT_FALSE(reply.trailers.has("strict-transport-security"));
  EXPECT_FALSE(reply.trailers.has("set-cookie2"));
  EXPECT_EQ(reply.trailers.find("x-sum"), "1");
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
