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

TEST(MaxForwards, of_zero_is_answered_here) {
  Stage stage;
  const Reply options = stage.ask("OPTIONS " + stage.url("/x") + " HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n");
  EXPECT_EQ(options.status, 200);
  const Reply trace =
      stage.ask("TRACE " + stage.url("/x") + " HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\nCookie: s3cret\r\n\r\n");
  EXPECT_EQ(trace.status, 405);
  EXPECT_TRUE(trace.fields.has("allow"));
  EXPECT_EQ(trace.body.find("s3cret"), std::string::npos);
  EXPECT_EQ(stage.origin.count(), 0u);
}

TEST(MaxForwards, is_counted_down_for_options_and_trace_only) {
  Stage stage;
  for (const char* method : {"OPTIONS", "TRACE", "GET"}) {
    stage.ask(std::string(method) + " " + stage.url("/x") + " HTTP/1.1\r\nHost: a\r\nMax-Forwards: 5\r\n\r\n");
  }
  EXPECT_EQ(stage.fetch("/x", "Max-Forwards: 0\r\n").status, 200);
  const auto seen = stage.origin.seen();
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[3].fields.find("max-forwards"), "0") << "means nothing in a GET";
  EXPECT_EQ(seen[0].fields.find("max-forwards"), "4");
  EXPECT_EQ(seen[1].fields.find("max-forwards"), "4");
  EXPECT_EQ(seen[2].fields.find("max-forwards"), "5");
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

TEST(MaxForwards, that_is_no_number_is_refused) {
  Stage stage;
  expect_declined(stage, "OPTIONS " + stage.url("/x") + " HTTP/1.1\r\nHost: a\r\nMax-Forwards: many\r\n\r\n");
}

TEST(Clients, from_elsewhere_are_denied) {
  Stage stage({.yaml = "access: { clients: [127.0.0.1] }\n"});
  Client friendly(stage.daemon.port());
  friendly.send(get(stage.url()));
  EXPECT_EQ(friendly.reply().status, 200);
  Client stranger(stage.daemon.port(), 0, "127.0.0.2");
  stranger.send(get(stage.url()));
  const Reply reply = stranger.reply();
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(reply.error(), "http_request_denied");
  EXPECT_TRUE(stranger.closed());
  EXPECT_EQ(stage.origin.count(), 1u);
}

TEST(Destinations, that_are_special_are_denied_unless_allowed) {
  Stage stage({.yaml = "access: { allow: [] }\n"});
  const std::string port = ":" + std::to_string(stage.origin.port());
  for (const char* host : {"127.0.0.1", "127.0.0.2", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "10.0.0.1",
                           "192.168.1.1", "169.254.169.254", "[fe80::1]", "[fd00:ec2::254]", "[64:ff9b::7f00:1]",
                           "100.100.100.200", "224.0.0.1", "255.255.255.255", "[::]"}) {
    SCOPED_TRACE(host);
    expect_denied(stage.ask(get("http://" + std::string(host) + port + "/")), "(access.allow)");
  }
  EXPECT_EQ(stage.origin.connections(), 0u) << "before any packet";
}

TEST(Destinations, on_loopback_are_allowed_while_all_listeners_are_there) {
  Stage stage;
  EXPECT_EQ(stage.fetch("/").status, 200);
  EXPECT_EQ(stage.ask(get("http://localhost:" + std::to_string(stage.origin.port()) + "/")).status, 200);
  EXPECT_EQ(stage.ask(get("http://10.255.255.1:9/")).status, 403) << "private, and not allowed by default";
}

TEST(Destinations, on_loopback_are_denied_to_a_proxy_that_others_reach) {
  Stage stage({.listen = "0.0.0.0:0"});
  expect_denied(stage.fetch("/"), "(access.allow)");
}

TEST(Destinations, that_are_denied_stay_denied_though_they_are_allowed) {
  Stage stage({.yaml = "access: { allow: [loopback], deny: [127.0.0.2] }\n"});
  const std::string port = ":" + std::to_string(stage.origin.port());
  EXPECT_EQ(stage.fetch("/").status, 200);
  EXPECT_EQ(stage.ask(get("http://127.0.0.2" + port + "/")).status, 403);
  EXPECT_EQ(stage.ask(get("http://[::ffff:127.0.0.2]" + port + "/")).status, 403);
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
