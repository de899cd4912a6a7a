// SPDX-License-Identifier: Apache-2.0
// Which changes of protocol are asked for, passed on, and believed.
#include "http/upgrade.h"

#include <gtest/gtest.h>

#include "http/reading.h"

namespace penstock::http {
namespace {

std::string asked(const std::string& lines, const std::string& line = "GET http://a/ HTTP/1.1") {
  const Reading reading = read(line + "\r\nHost: a\r\n" + lines + "\r\n");
  EXPECT_EQ(reading.complete(), 1u) << lines;
  return reading.complete() == 1 ? reading.requests[0].head.upgrade : "?";
}

TEST(Upgrade, is_asked_for_by_both_fields) {
  EXPECT_EQ(asked("Connection: Upgrade\r\nUpgrade: websocket\r\n"), "websocket");
  EXPECT_EQ(asked("Upgrade: WebSocket\r\nConnection: keep-alive, upgrade\r\n"), "WebSocket");
  EXPECT_EQ(asked("Connection: Upgrade\r\nUpgrade: foo/2, websocket\r\nUpgrade: bar\r\n"), "foo/2, websocket, bar");
  EXPECT_EQ(asked("Upgrade: websocket\r\n"), "");
  EXPECT_EQ(asked("Connection: Upgrade\r\n"), "");
  EXPECT_EQ(asked("Connection: keep-alive\r\nUpgrade: websocket\r\n"), "");
  EXPECT_EQ(asked("Proxy-Connection: Upgrade\r\nUpgrade: websocket\r\n"), "");
  EXPECT_EQ(asked("Connection: Upgrade\r\nUpgrade:\r\n"), "");
}

TEST(Upgrade, to_what_would_hide_requests_is_not_passed_on) {
  EXPECT_EQ(asked("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"), "");
  EXPECT_EQ(asked("Connection: Upgrade\r\nUpgrade: TLS/1.0, HTTP/1.1, HTTP/2.0, H2C\r\n"), "");
  EXPECT_EQ(asked("Connection: Upgrade\r\nUpgrade: h2c, websocket\r\n"), "websocket");
}

TEST(Upgrade, to_what_is_no_protocol_is_not_passed_on) {
  EXPECT_EQ(asked("Connection: Upgrade\r\nUpgrade: web socket, a/b/c, /1, a/, ok/1\r\n"), "ok/1");
}

TEST(Upgrade, is_for_a_get_of_http_1_1_without_a_body) {
  const std::string lines = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  EXPECT_EQ(asked(lines, "GET http://a/ HTTP/1.0"), "");
  EXPECT_EQ(asked(lines, "OPTIONS http://a/ HTTP/1.1"), "");
  EXPECT_EQ(asked(lines + "Content-Length: 0\r\n"), "websocket");
  const Reading with_body = read("GET http://a/ HTTP/1.1\r\nHost: a\r\n" + lines + "Content-Length: 1\r\n\r\nx");
  ASSERT_EQ(with_body.complete(), 1u);
  EXPECT_EQ(with_body.requests[0].head.upgrade, "");
}

bool switches(const std::string& fields, const std::string& what, const std::string& version = "HTTP/1.1") {
  ResponseHeadReader reader(4096, 20);
  reader.let_switch();
  reader.on_line(version + " 101 Switching Protocols\r\n");
  for (std::size_t at = 0; at < fields.size(); at = fields.find('\n', at) + 1) {
    reader.on_line(std::string_view(fields).substr(at, fields.find('\n', at) + 1 - at));
  }
  EXPECT_EQ(reader.on_line("\r\n"), ResponseHeadReader::Verdict::switched);
  return switches_as_asked(reader.head(), what);
}

TEST(Upgrade, is_believed_where_the_101_names_what_was_asked_for) {
  EXPECT_TRUE(switches("Connection: Upgrade\r\nUpgrade: websocket\r\n", "websocket"));
  EXPECT_TRUE(switches("Connection: x, upgrade\r\nUpgrade: WebSocket\r\n", "foo/2, websocket"));
  EXPECT_TRUE(switches("Connection: upgrade\r\nUpgrade: foo/2\r\nUpgrade: websocket\r\n", "websocket, foo/2"));
  EXPECT_FALSE(switches("Connection: Upgrade\r\nUpgrade: h2c\r\n", "websocket"));
  EXPECT_FALSE(switches("Connection: Upgrade\r\nUpgrade: websocket, foo\r\n", "websocket"));
  EXPECT_FALSE(switches("Connection: Upgrade\r\nUpgrade: foo/1\r\n", "foo/2"));
  EXPECT_FALSE(switches("Connection: Upgrade\r\n", "websocket"));
  EXPECT_FALSE(switches("Upgrade: websocket\r\n", "websocket"));
  EXPECT_FALSE(switches("Connection: Upgrade\r\nUpgrade: websocket\r\n", "websocket", "HTTP/1.0"));
}

TEST(Upgrade, is_written_with_the_field_that_makes_it_hop_by_hop) {
  Fields fields;
  add_upgrade(fields, "websocket");
  EXPECT_EQ(fields.find("connection"), "Upgrade");
  EXPECT_EQ(fields.find("upgrade"), "websocket");
}

}  // namespace
}  // namespace penstock::http
