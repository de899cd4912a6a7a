// SPDX-License-Identifier: Apache-2.0
// The request line and the target: what is refused, and what reaches the upstream byte for byte.
#include <gmock/gmock.h>

#include "system/stage.h"

namespace penstock::trial {
namespace {

/// A whole GET with this request line, and a proper Host.
std::string with_line(const Stage& stage, const std::string& line) {
  return line + "\r\nHost: " + stage.origin.host() + "\r\n\r\n";
}

/// A GET of this target, whatever it is.
std::string with_target(const Stage& stage, const std::string& target) {
  return with_line(stage, "GET " + target + " HTTP/1.1");
}

// RFC 9110 2.5. What is sent is ours, and so is its version.
TEST(RequestLine, reads_a_later_http_1_as_1_1) {
  Stage stage;
  for (const char* version : {"HTTP/1.2", "HTTP/1.9"}) {
    Client client(stage.daemon.port());
    for (int i = 0; i < 2; ++i) {
      client.send("GET " + stage.url("/x") + " " + version + "\r\nHost: " + stage.origin.host() + "\r\n\r\n");
      ASSERT_EQ(client.reply().body, "hello") << "and the connection stays";
    }
    EXPECT_TRUE(stage.origin.seen().back().head.starts_with("GET /x HTTP/1.1\r\n"));
  }
}

TEST(RequestLine, refuses_the_proxy_protocol_whose_word_on_who_asks_is_nobodys) {
  Stage stage;
  const std::string request = get(stage.url("/x"));
  expect_refused(stage, "PROXY TCP4 127.0.0.1 127.0.0.1 56324 80\r\n" + request, {400});
  expect_refused(stage, "PROXY UNKNOWN\r\n" + request, {400});
  expect_refused(stage, "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x7f\0\0\1\x7f\0\0\1\xdc\x04\0\x50"s + request, {400});
}

TEST(RequestLine, refuses_the_preface_of_http_2) {
  Stage stage;
  expect_refused(stage, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {505});
}

TEST(RequestLine, forwards_a_method_that_nobody_knows) {
  Stage stage;
  const std::string longest(32, 'M');
  for (const std::string& method : {"FROB"s, "get"s, "M-SEARCH"s, "!#$%&'*+-.^_`|~"s, longest}) {
    SCOPED_TRACE(method);
    EXPECT_EQ(stage.ask(with_line(stage, method + " " + stage.url("/x") + " HTTP/1.1")).status, 200);
    EXPECT_EQ(stage.origin.seen().back().method, method);
  }
  EXPECT_EQ(stage.origin.count(), 5u);
  expect_refused(stage, with_line(stage, longest + "M " + stage.url("/x") + " HTTP/1.1"), {501});
}

TEST(RequestLine, forwards_every_usual_method) {
  Stage stage;
  for (const char* method :
       {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "PROPFIND", "REPORT", "TRACE"}) {
    SCOPED_TRACE(method);
    Client client(stage.daemon.port());
    client.send(std::string(method) + " " + stage.url("/x") + " HTTP/1.1\r\nHost: " + stage.origin.host() + "\r\n\r\n");
    EXPECT_EQ(client.reply(method == "HEAD"s).status, 200);
    EXPECT_EQ(stage.origin.seen().back().method, method);
  }
}

TEST(Target, with_another_scheme_opens_no_connection) {
  Stage stage;
  for (const char* scheme : {"ftp", "file", "gopher", "dict", "ldap", "smb", "tftp", "ws", "wss"}) {
    SCOPED_TRACE(scheme);
    Client client(stage.daemon.port());
    client.send(with_target(stage, std::string(scheme) + "://" + stage.origin.host() + "/x"));
    expect_own_answer(client.reply(), {501});
  }
  Client client(stage.daemon.port());
  client.send(with_target(stage, "javascript:alert(1)"));
  expect_own_answer(client.reply(), {400});
  EXPECT_EQ(stage.origin.connections(), 0u);
}

TEST(Target, with_the_scheme_in_capitals_is_served) {
  Stage stage;
  const Reply reply = stage.ask(with_target(stage, "HTTP://" + stage.origin.host() + "/x"));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(stage.origin.seen()[0].target, "/x");
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

TEST(Target, without_a_path_means_the_root) {
  Stage stage;
  EXPECT_EQ(stage.ask(with_target(stage, stage.url(""))).status, 200);
  EXPECT_EQ(stage.ask(with_target(stage, stage.url("?q=1"))).status, 200);
  EXPECT_EQ(stage.ask(with_line(stage, "OPTIONS " + stage.url("") + " HTTP/1.1")).status, 200);
  EXPECT_EQ(stage.ask(with_line(stage, "OPTIONS " + stage.url("/") + " HTTP/1.1")).status, 200);
  const auto seen = stage.origin.seen();
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0].target, "/");
  EXPECT_EQ(seen[1].target, "/?q=1");
  EXPECT_EQ(seen[2].target, "*");
  EXPECT_EQ(seen[3].target, "/");
}

TEST(Target, with_userinfo_is_refused_and_never_becomes_a_credential) {
  Stage stage;
  for (const char* user : {"user:secret@", "user@", "@", ":@", "a@b@"}) {
    expect_declined(stage, with_target(stage, "http://"s + user + stage.origin.host() + "/"));
  }
  for (const auto& seen : stage.origin.seen()) EXPECT_FALSE(seen.fields.has("authorization"));
  EXPECT_EQ(stage.daemon.diagnostics().find("secret"), std::string::npos);
  for (const auto& event : stage.daemon.events()) EXPECT_EQ(event.dump().find("secret"), std::string::npos) << event;
}

TEST(RequestStart, forgives_an_empty_line_but_not_endless_ones) {
  Stage stage;
  EXPECT_EQ(stage.ask("\r\n" + get(stage.url("/x"))).status, 200);
  std::string many;
  for (int i = 0; i < 100'000; ++i) many += "\r\n";
  Client client(stage.daemon.port());
  client.send(many);
  client.rest();
  EXPECT_TRUE(client.socket().ended()) << "empty lines count against the head's cap";
  EXPECT_EQ(stage.origin.count(), 1u);
}

TEST(RequestBytes, mean_the_same_one_at_a_time) {
  Stage stage;
  stage.origin.on("/echo", scripts::echoes());
  const std::string request =
      "POST " + stage.url("/echo?q") + " HTTP/1.1\r\nHost: " + stage.origin.host() +
      "\r\nX-One: 1\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n1\r\n!\r\n0\r\nX-T: t\r\n\r\n";
  Client whole(stage.daemon.port()), slow(stage.daemon.port());
  whole.send(request);
  const Reply expected = whole.reply();
  for (const char byte : request) ASSERT_TRUE(slow.send({&byte, 1}));
  const Reply reply = slow.reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "hello!");
  EXPECT_EQ(reply.body, expected.body);
  const auto seen = stage.origin.seen();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].head, seen[1].head);
  EXPECT_EQ(seen[0].body, seen[1].body);
}

}  // namespace
}  // namespace penstock::trial
