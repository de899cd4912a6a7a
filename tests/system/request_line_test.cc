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

TEST(RequestLine, refuses_stray_blanks) {
  Stage stage;
  const std::string url = stage.url("/x");
  for (const auto& line : {"GET  " + url + " HTTP/1.1", "GET " + url + "  HTTP/1.1", "GET\t" + url + " HTTP/1.1",
                           "GET " + url + "\tHTTP/1.1", "GET " + url + " HTTP/1.1 ", "GET " + url + " HTTP/1.1\t",
                           " GET " + url + " HTTP/1.1"}) {
    expect_refused(stage, with_line(stage, line));
  }
}

TEST(RequestLine, refuses_controls_and_blanks_inside_the_target) {
  Stage stage;
  for (const auto& bad : {"\r"s, "\0"s, "\x01"s, "\x1f"s, "\x7f"s, " "s, "\v"s, "\x1b"s}) {
    expect_refused(stage, with_target(stage, stage.url("/a" + bad + "b")));
  }
}

TEST(RequestLine, refuses_bytes_beyond_ascii_in_the_target) {
  Stage stage;
  expect_refused(stage, with_target(stage, stage.url("/caf\xc3\xa9")));
}

TEST(RequestLine, refuses_a_bare_line_feed_as_its_end) {
  Stage stage;
  expect_refused(stage, "GET " + stage.url() + " HTTP/1.1\nHost: " + stage.origin.host() + "\n\n");
}

TEST(RequestLine, refuses_versions_that_are_not_1_0_or_1_1) {
  Stage stage;
  for (const char* version : {"HTTP/2.0", "HTTP/0.9", "HTTP/3.0"}) {
    expect_refused(stage, with_line(stage, "GET " + stage.url() + " " + version), {505});
  }
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

TEST(RequestLine, refuses_what_is_no_version) {
  Stage stage;
  for (const char* version : {"http/1.1", "HTTP/1.10", "HTTP/1", "HTTP/11", "HTTPS/1.1", "HTTP/1.x", ""}) {
    expect_refused(stage, with_line(stage, "GET " + stage.url() + " " + version), {400});
  }
  expect_refused(stage, with_line(stage, "GET " + stage.url()), {400});
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

TEST(RequestLine, refuses_methods_that_are_no_tokens) {
  Stage stage;
  for (const char* method : {"G(ET", "", "G{T", "GE\"T", "G\xc3\x84T", "GET,POST", "get:"}) {
    expect_refused(stage, with_line(stage, std::string(method) + " " + stage.url() + " HTTP/1.1"));
  }
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

TEST(Target, in_origin_form_is_not_for_a_proxy) {
  Stage stage;
  expect_declined(stage, with_target(stage, "/x"));
  expect_declined(stage, with_target(stage, "//" + stage.origin.host() + "/x"));
}

TEST(Target, of_another_form_than_the_method_asks_for_is_refused) {
  Stage stage;
  expect_declined(stage, with_target(stage, "*"));
  expect_declined(stage, with_target(stage, stage.origin.host()));
  expect_declined(stage, with_target(stage, "x"));
  expect_declined(stage, with_target(stage, "http:"));
  expect_declined(stage, with_target(stage, "http:/x"));
  expect_declined(stage, with_target(stage, "http:" + stage.origin.host() + "/x"));
  expect_declined(stage, with_line(stage, "CONNECT / HTTP/1.1"), {400});
  expect_declined(stage, with_line(stage, "CONNECT " + stage.url() + " HTTP/1.1"), {400});
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

TEST(Target, of_8000_bytes_is_served_and_one_beyond_the_cap_is_414) {
  Stage stage;
  const std::string path = "/" + std::string(8000, 'a');
  EXPECT_EQ(stage.fetch(path).status, 200);
  EXPECT_EQ(stage.origin.seen()[0].target, path);
  expect_refused(stage, with_target(stage, stage.url("/" + std::string(16 * 1024, 'a'))), {414});
  expect_refused(stage, with_target(stage, stage.url("/" + std::string(64 * 1024 + 1, 'a'))), {414});
}

TEST(Target, that_never_ends_is_cut_off_at_the_cap) {
  Stage stage;
  Client client(stage.daemon.port());
  client.send("GET " + stage.url("/" + std::string(1024 * 1024, 'a')));
  expect_refusal(client, {414});
  EXPECT_EQ(stage.origin.count(), 0u);
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

TEST(Target, with_a_fragment_is_refused) {
  Stage stage;
  expect_declined(stage, with_target(stage, stage.url("/a#b")));
  expect_declined(stage, with_target(stage, stage.url("#")));
  expect_declined(stage, with_target(stage, stage.url("/a?b#c")));
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

TEST(Target, with_a_malformed_authority_is_refused) {
  Stage stage;
  for (const char* target :
       {"http:///", "http://", "http://:80/", "http://127.0.0.1:0/", "http://127.0.0.1:65536/", "http://127.0.0.1:80a/",
        "http://127.0.0.1:80:80/", "http://127.0.0.1:+80/", "http://127.0.0.1:-1/", "http://127.0.0.1: 80/",
        "http://127.0.0.1:99999999999999999999/", "http://[::1/", "http://::1/", "http://[]/", "http://[::1]x/"}) {
    expect_declined(stage, with_target(stage, target));
  }
}

TEST(Target, with_tricks_in_the_authority_is_refused) {
  Stage stage;
  const std::string host = stage.origin.host();
  for (const auto& target :
       {"http://" + host + "\\@evil.test/", "http://evil.test\\" + host + "/", "http://a%2f" + host + "/",
        "http://a@b@" + host + "/", "http://127.0.0.1\t:80/"s, "http://127.0.0.1%00/"s, "http://%31%32%37.0.0.1/"s,
        "http://127.1/"s, "http://2130706433/"s, "http://0x7f.1/"s, "http://0177.0.0.1/"s, "http://[127.0.0.1]/"s,
        "http://1.2.3.4.5/"s, "http://256.0.0.1/"s, "http://a%5fb.test/"s, "http://[fe80::1%25eth0]/"s}) {
    expect_declined(stage, with_target(stage, target), {400});
  }
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

TEST(RequestStart, that_is_no_http_is_refused) {
  Stage stage;
  expect_refused(stage, "\x16\x03\x01\x02\x01\x01\x00\x01\xfc\x03\x03 a TLS client hello\r\n\r\n"s, {400});
  expect_refused(stage, "SSH-2.0-OpenSSH_9.2\r\n\r\n", {400});
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

TEST(RequestBytes, mean_the_same_split_at_every_offset) {
  Stage stage;
  const std::string request = with_body("POST", stage.url("/x"), "0123456789", "X-A: b\r\nX-C:\r\n");
  std::string head;
  for (std::size_t at = 1; at < request.size(); ++at) {
    SCOPED_TRACE(at);
    Client client(stage.daemon.port());
    client.send(request.substr(0, at));
    client.send(request.substr(at));
    EXPECT_EQ(client.reply().status, 200);
    const auto seen = stage.origin.seen().back();
    if (head.empty()) head = seen.head;
    EXPECT_EQ(seen.head, head);
    EXPECT_EQ(seen.body, "0123456789");
  }
}

}  // namespace
}  // namespace penstock::trial
