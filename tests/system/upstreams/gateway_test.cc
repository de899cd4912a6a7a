// SPDX-License-Identifier: Apache-2.0
// Upstreams behind names, `http://PROXY/@NAME/…`: what they see, and what the client hears of them.
#include <gmock/gmock.h>

#include "system/stage.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// An upstream `api` at the origin's /v1, and nothing else.
struct Gateway {
  explicit Gateway(std::string_view more = "maxConcurrent: 64")
      : daemon({.yaml = "upstreams: { api: { baseUrl: 'http://" + origin.host() + "/v1', " + std::string(more) +
                        " } }\n"}) {}
  ~Gateway() { EXPECT_EQ(origin.complaint(), ""); }

  Reply ask(std::string_view bytes, bool bodyless = false) const {
    Client client(daemon.port());
    client.send(bytes);
    return client.reply(bodyless);
  }
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
  EXPECT_EQ(stage.ask(Gateway::by_name("GET", "/@api/chat//%2F?a=../b", lines)).body, "hello");
  EXPECT_EQ(stage.origin.seen().at(0).head, "GET /v1/chat//%2F?a=../b HTTP/1.1\r\nHost: " + stage.origin.host() +
                                                "\r\nAuthorization: Bearer key\r\nOrigin: http://localhost\r\n"
                                                "Via: 1.1 penstock\r\n\r\n");
  const auto done = stage.daemon.await_events(1, "complete");
  EXPECT_EQ(done.at(0)["upstream"], "api");
  EXPECT_EQ(done.at(0)["host"], "127.0.0.1");
  EXPECT_EQ(done.at(0)["path"], "/v1/chat//%2F");
}

TEST(Gateway, takes_any_method_version_and_host) {
  Gateway stage;
  stage.origin.otherwise([](Visit& visit) {
    visit.read_body();
    visit.answer(200, visit.request().method + visit.request().body);
  });
  EXPECT_EQ(stage.ask("GET /@api HTTP/1.0\r\n\r\n").body, "GET");
  EXPECT_EQ(stage.ask("GET /@api/ HTTP/1.1\r\nHost: gateway.internal:99\r\n\r\n").body, "GET");
  EXPECT_EQ(stage.ask(Gateway::by_name("HEAD", "/@api/x"), true).field("content-length"), "4");
  EXPECT_EQ(stage.ask(Gateway::by_name("OPTIONS", "/@api/x")).body, "OPTIONS");
  EXPECT_EQ(stage.ask(Gateway::by_name("POST", "/@api/x", "Content-Length: 4\r\n") + "body").body, "POSTbody");
  EXPECT_EQ(
      stage.ask(Gateway::by_name("PUT", "/@api/x", "Transfer-Encoding: chunked\r\n") + chunk("body") + "0\r\n\r\n")
          .body,
      "PUTbody");
  const auto seen = stage.origin.seen();
  EXPECT_EQ(seen.at(0).target, "/v1");
  EXPECT_EQ(seen.at(1).target, "/v1/");
}

TEST(Gateway, lets_a_body_wait_for_the_upstream_s_100) {
  Gateway stage;
  stage.origin.otherwise([](Visit& visit) {
    visit.write("HTTP/1.1 100 Continue\r\n\r\n");
    visit.read_body();
    visit.answer(200, visit.request().body);
  });
  Client client(stage.daemon.port());
  client.send(Gateway::by_name("POST", "/@api/x", "Content-Length: 4\r\nExpect: 100-continue\r\n"));
  EXPECT_EQ(client.head().status, 100);
  client.send("body");
  EXPECT_EQ(client.reply().body, "body");
}

TEST(Gateway, is_one_queue_with_the_upstream_s_other_ways_in) {
  Gateway stage("maxConcurrent: 1");
  stage.origin.otherwise([](Visit& visit) {
    visit.hold();
    visit.answer(200, "hello");
  });
  Client by_name(stage.daemon.port()), by_url(stage.daemon.port());
  by_name.send(Gateway::by_name("GET", "/@api/1"));
  ASSERT_TRUE(stage.origin.await(1));
  by_url.send(get(stage.origin.url("/2")));
  EXPECT_TRUE(stage.daemon.await_pending("api", 1));
  stage.origin.release(2);
  EXPECT_EQ(by_name.reply().body, "hello");
  EXPECT_EQ(by_url.reply().body, "hello");
  EXPECT_EQ(stage.origin.most_at_once(), 1U);
}

TEST(Gateway, passes_events_on_as_they_come) {
  constexpr int kEvents = 20;
  Gateway stage;
  stage.origin.otherwise([](Visit& visit) {
    visit.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < kEvents; ++i) {
      visit.write(chunk("data: " + std::to_string(i) + "\n\n"));
      visit.hold();  // until the client has it
    }
    visit.last("0\r\n\r\n");
  });
  Client client(stage.daemon.port());
  client.send(Gateway::by_name("POST", "/@api/chat/completions", "Content-Length: 2\r\n") + "{}");
  std::vector<std::string> heard;
  const Reply reply = client.reply(false, [&](std::string_view bytes) {
    heard.emplace_back(bytes);
    stage.origin.release();
  });
  EXPECT_TRUE(reply.whole);
  ASSERT_EQ(heard.size(), static_cast<std::size_t>(kEvents));
  EXPECT_EQ(heard.back(), "data: 19\n\n");
}

}  // namespace
}  // namespace penstock::trial
