// SPDX-License-Identifier: Apache-2.0
// Requests that would come back to where they are, Max-Forwards, and who may go where.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "system/stage.h"

namespace penstock::trial {
namespace {

void expect_loop(const Reply& reply) {
  EXPECT_EQ(reply.status, 502);
  EXPECT_EQ(reply.error(), "proxy_loop_detected");
}

TEST(Loop, to_the_own_port_is_noticed_before_a_socket_is_opened) {
  Stage stage;
  const std::string port = ":" + std::to_string(stage.daemon.port());
  for (const char* host : {"127.0.0.1", "localhost", "LOCALHOST.", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"}) {
    SCOPED_TRACE(host);
    expect_loop(stage.ask(get("http://" + std::string(host) + port + "/")));
  }
  EXPECT_LE(stage.daemon.metric("penstock_connections"), 6) << "no connection of its own to itself";
}

TEST(Loop, by_via_is_noticed) {
  Stage stage({.via = "inner.gate"});
  for (const char* via :
       {"1.1 inner.gate", "1.0 a, 1.1 inner.gate", "1.1 inner.gate (comment)", "HTTP/1.1 INNER.GATE"}) {
    SCOPED_TRACE(via);
    Client client(stage.daemon.port());
    client.send(get(stage.url(), "Via: "s + via + "\r\n"));
    const Reply reply = client.reply();
    expect_loop(reply);
    EXPECT_TRUE(reply.field("proxy-status").starts_with("inner.gate; ")) << reply.head;
  }
  EXPECT_EQ(stage.origin.count(), 0u);
  EXPECT_EQ(stage.fetch("/", "Via: 1.1 inner, 1.1 gate, 1.1 other.inner.gate\r\n").status, 200);
}

TEST(AdminPort, of_its_own_cannot_be_reached_through_the_proxy) {
  Stage stage;
  const Reply reply = stage.ask(get("http://127.0.0.1:" + std::to_string(stage.daemon.admin_port()) + "/metrics"));
  expect_loop(reply);
  EXPECT_EQ(reply.body.find("penstock_"), std::string::npos);
}

TEST(Trace, with_credentials_is_not_forwarded_and_not_repeated) {
  Stage stage;
  for (const char* line : {"Authorization: Basic s3cret", "Cookie: s3cret", "Proxy-Authorization: Basic s3cret",
                           "X-Api-Key: s3cret", "X-Amz-Security-Token: s3cret", "x-goog-api-key: s3cret"}) {
    const Reply reply = stage.ask("TRACE " + stage.url("/x") + " HTTP/1.1\r\nHost: a\r\n" + line + "\r\n\r\n");
    EXPECT_EQ(reply.status, 405) << line;
    EXPECT_EQ((reply.head + reply.body).find("s3cret"), std::string::npos);
  }
  EXPECT_EQ(stage.origin.count(), 0u);
}

TEST(Environment, with_proxy_variables_has_no_effect) {
  Origin elsewhere;  // whoever is asked for by another way would come here
  const std::string other = "http://user:pass@" + elsewhere.host();
  Stage stage({.environment = {{"http_proxy", other},
                               {"HTTP_PROXY", other},
                               {"ALL_PROXY", other},
                               {"all_proxy", "socks5://" + elsewhere.host()}}});
  EXPECT_EQ(stage.fetch("/x").body, "hello");
  EXPECT_EQ(elsewhere.connections(), 0u);
  ASSERT_EQ(stage.origin.count(), 1u);
  const auto seen = stage.origin.seen()[0];
  EXPECT_TRUE(seen.head.starts_with("GET /x HTTP/1.1\r\n")) << "asked as an origin, not as a proxy: " << seen.head;
  EXPECT_FALSE(seen.fields.has("proxy-authorization") || seen.fields.has("proxy-connection")) << seen.head;
}

TEST(Environment, with_a_netrc_at_home_sends_nobodys_password) {
  const std::string home = new_folder();
  std::ofstream(home + "/.netrc") << "machine 127.0.0.1 login x password y\ndefault login x password y\n";
  {
    Stage stage({.environment = {{"HOME", home}, {"CURL_HOME", home}, {"NETRC", home + "/.netrc"}}});
    EXPECT_EQ(stage.fetch("/").status, 200);
    EXPECT_EQ(stage.ask(get("http://localhost:" + std::to_string(stage.origin.port()) + "/")).status, 200);
    EXPECT_EQ(stage.fetch("/", "Authorization: Bearer mine\r\n").status, 200);
    const auto seen = stage.origin.seen();
    ASSERT_EQ(seen.size(), 3u);
    EXPECT_FALSE(seen[0].fields.has("authorization")) << seen[0].head;
    EXPECT_FALSE(seen[1].fields.has("authorization")) << seen[1].head;
    EXPECT_THAT(seen[2].fields.all("authorization"), testing::ElementsAre("Bearer mine"));
  }
  std::filesystem::remove_all(home);
}

}  // namespace
}  // namespace penstock::trial
