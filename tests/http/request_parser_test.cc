// SPDX-License-Identifier: Apache-2.0
// What the parser tells about good requests, how it stops and goes on, and what it says of a connection.
#include "http/request_parser.h"

#include <gtest/gtest.h>

#include "http/reading.h"

namespace penstock::http {
namespace {

constexpr const char* kGet = "GET http://a.test/x HTTP/1.1\r\nHost: a.test\r\n\r\n";

RequestHead request_head_of(std::string_view stream) {
  const Reading reading = read(stream);
  EXPECT_FALSE(reading.refusal.has_value()) << reading.transcript();
  EXPECT_FALSE(reading.requests.empty());
  return reading.requests.empty() ? RequestHead{} : reading.requests.front().head;
}

TEST(RequestParser, tells_method_target_version_and_fields) {
  const RequestHead head =
      request_head_of("GET http://a.test/x?y HTTP/1.1\r\nHost: a.test\r\nX-Empty:\r\nx-two:  a \t\r\nX-Two: b\r\n\r\n");
  EXPECT_EQ(head.method, "GET");
  EXPECT_EQ(head.target, "http://a.test/x?y");
  EXPECT_EQ(head.minor_version, 1);
  EXPECT_EQ(head.body, BodyKind::none);
  EXPECT_FALSE(head.has_body());
  ASSERT_EQ(head.fields.size(), 4u);
  EXPECT_EQ(head.fields[1].name, "X-Empty");
  EXPECT_EQ(head.fields[1].value, "");
  EXPECT_EQ(head.fields[2].name, "x-two");
  EXPECT_EQ(head.fields[2].value, "a");
  EXPECT_EQ(head.fields[3].value, "b");
}

TEST(RequestParser, keeps_inner_blanks_and_high_bytes_of_values) {
  EXPECT_EQ(request_head_of(get_with("Host: a.test\r\nX: a \t b\xc3\xbc\r\n")).fields[1].value, "a \t b\xc3\xbc");
}

TEST(RequestParser, passes_methods_that_nobody_has_heard_of) {
  for (const char* method : {"QUERY", "FROB", "get", "M-SEARCH", "X!#$%&'*+-.^_`|~9", "PRI", "SOURCE", "POSTS"}) {
    const RequestHead head =
        request_head_of(std::string(method) + " http://a.test/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(head.method, method);
  }
}

TEST(RequestParser, knows_three_kinds_of_body) {
  EXPECT_EQ(request_head_of(kGet).body, BodyKind::none);
  const RequestHead length = request_head_of("POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_EQ(length.body, BodyKind::length);
  EXPECT_EQ(length.content_length, 3u);
  EXPECT_TRUE(length.has_body());
  const RequestHead chunked = request_head_of(chunked_with("0\r\n\r\n"));
  EXPECT_EQ(chunked.body, BodyKind::chunked);
  EXPECT_TRUE(chunked.has_body());
}

TEST(RequestParser, takes_a_content_length_of_zero_on_a_get) {
  const Reading reading = read(get_with("Host: a.test\r\nContent-Length: 0\r\n"));
  ASSERT_EQ(reading.complete(), 1u);
  EXPECT_EQ(reading.requests[0].head.body, BodyKind::length);
  EXPECT_FALSE(reading.requests[0].head.has_body());
}

TEST(RequestParser, frames_bodies_of_any_method_alike) {
  for (const char* method : {"GET", "HEAD", "DELETE", "OPTIONS", "FROB"}) {
    const Reading reading =
        read(std::string(method) + " http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc" + kGet);
    ASSERT_EQ(reading.complete(), 2u) << method;
    EXPECT_EQ(reading.requests[0].body, "abc");
    EXPECT_EQ(reading.requests[1].head.method, "GET");
  }
}

TEST(RequestParser, keeps_http_1_1_alive_unless_told_otherwise) {
  EXPECT_TRUE(request_head_of(get_with("Host: a\r\n")).keep_alive);
  EXPECT_TRUE(request_head_of(get_with("Host: a\r\nConnection: keep-alive\r\n")).keep_alive);
  EXPECT_FALSE(request_head_of(get_with("Host: a\r\nConnection: Close\r\n")).keep_alive);
  EXPECT_FALSE(request_head_of(get_with("Host: a\r\nConnection: foo\r\nConnection: bar , close\r\n")).keep_alive);
  EXPECT_FALSE(request_head_of(get_with("Host: a\r\nProxy-Connection: close\r\n")).keep_alive);
}

TEST(RequestParser, closes_http_1_0_unless_told_otherwise) {
  const auto with = [](const char* lines) { return std::string("GET http://a/ HTTP/1.0\r\n") + lines + "\r\n"; };
  EXPECT_EQ(request_head_of(with("")).minor_version, 0);
  EXPECT_FALSE(request_head_of(with("")).keep_alive);
  EXPECT_TRUE(request_head_of(with("Connection: Keep-Alive\r\n")).keep_alive);
  EXPECT_TRUE(request_head_of(with("Proxy-Connection: keep-alive\r\n")).keep_alive);
  EXPECT_FALSE(request_head_of(with("Connection: keep-alive, close\r\n")).keep_alive);
}

TEST(RequestParser, recognises_an_expected_continue_only_in_http_1_1_and_with_a_body) {
  EXPECT_TRUE(request_head_of("POST http://a/ HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\n")
                  .expect_continue);
  EXPECT_FALSE(
      request_head_of("POST http://a/ HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
          .expect_continue);
  EXPECT_FALSE(request_head_of(get_with("Host: a\r\nExpect: 100-continue\r\n")).expect_continue);
  EXPECT_FALSE(request_head_of("POST http://a/ HTTP/1.1\r\nHost: a\r\nExpect: other\r\nContent-Length: 3\r\n\r\n")
                   .expect_continue);
}

// RFC 9110 2.5: by the highest minor version that is known.
TEST(Request, of_a_later_http_1_is_read_as_1_1) {
  for (const char* version : {"1.2", "1.9"}) {
    const RequestHead head = request_head_of("GET http://a/ HTTP/" + std::string(version) + "\r\nHost: a\r\n\r\n");
    EXPECT_EQ(head.minor_version, 1) << version;
    EXPECT_TRUE(head.keep_alive) << version;
  }
  EXPECT_EQ(request_head_of("GET http://a/ HTTP/1.0\r\nHost: a\r\n\r\n").minor_version, 0);
}

// Erlang's httpc says so of every request.
TEST(Connect, may_say_that_it_has_no_body) {
  const Reading reading = read("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\ncontent-length: 0\r\n\r\n");
  ASSERT_EQ(reading.complete(), 1u);
  EXPECT_EQ(reading.requests[0].head.body, BodyKind::none);
}

TEST(RequestParser, takes_connect_as_a_head_that_ends_the_connection) {
  const Reading reading = read("CONNECT a.test:443 HTTP/1.0\r\n\r\n\x16\x03\x01 GET http://a/ HTTP/1.1\r\n\r\n");
  ASSERT_EQ(reading.requests.size(), 1u);
  EXPECT_EQ(reading.requests[0].head.target, "a.test:443");
  EXPECT_FALSE(reading.requests[0].head.keep_alive);
  EXPECT_TRUE(reading.requests[0].complete);
  EXPECT_FALSE(reading.refusal.has_value());
  EXPECT_EQ(read("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n").complete(), 1u);
}

TEST(RequestParser, lets_connect_keep_the_connection_only_where_it_says_so) {
  const auto keeps = [](const std::string& version, const std::string& line) {
    return request_head_of("CONNECT a.test:443 HTTP/" + version + "\r\nHost: a\r\n" + line + "\r\n").keep_alive;
  };
  EXPECT_TRUE(keeps("1.1", "Proxy-Connection: Keep-Alive\r\n"));
  EXPECT_TRUE(keeps("1.0", "Connection: keep-alive\r\n"));
  EXPECT_FALSE(keeps("1.1", ""));
  EXPECT_FALSE(keeps("1.1", "Connection: keep-alive, close\r\n"));
}

TEST(RequestParser, reads_pipelined_requests_one_by_one) {
  std::string stream;
  for (int i = 0; i < 100; ++i) stream += kGet;
  EXPECT_EQ(read(stream).complete(), 100u);
}

TEST(RequestParser, skips_blank_lines_before_a_request) {
  const Reading reading = read(std::string("\r\n") + kGet + "\r\n\r\n" + kGet);
  EXPECT_EQ(reading.complete(), 2u);
  EXPECT_FALSE(reading.in_message);
}

TEST(RequestParser, ignores_what_follows_a_request_that_ends_the_connection) {
  const Reading reading = read(get_with("Host: a\r\nConnection: close\r\n") + kGet + "not http at all\r\n\r\n");
  EXPECT_EQ(reading.requests.size(), 1u);
  EXPECT_FALSE(reading.refusal.has_value());
  EXPECT_FALSE(reading.in_message);
}

TEST(RequestParser, upgrades_are_read_as_ordinary_requests) {
  const Reading reading = read(get_with("Host: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n") + kGet);
  EXPECT_EQ(reading.complete(), 2u);
  const Reading with_body = read(
      "POST http://a/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
      "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" +
      std::string(kGet));
  ASSERT_EQ(with_body.complete(), 2u);
  EXPECT_EQ(with_body.requests[0].body, "abc");
}

TEST(RequestParser, knows_whether_a_request_is_under_way) {
  EXPECT_FALSE(read("").in_message);
  EXPECT_FALSE(read("\r\n\r\n").in_message);
  EXPECT_TRUE(read("G").in_message);
  EXPECT_TRUE(read("GET http://a/ HTTP/1.1\r\nHost: a\r\n").in_message);
  EXPECT_TRUE(read("POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nab").in_message);
  EXPECT_TRUE(read(chunked_with("3\r\nabc\r\n0\r\n")).in_message);
  EXPECT_FALSE(read(chunked_with("3\r\nabc\r\n0\r\n\r\n")).in_message);
}

/// Pauses wherever it is told to, and notes the order of what it hears.
class Pausing : public RequestSink {
 public:
  void on_head(RequestHead&&) override { note("head", pause_in_head); }
  void on_body(std::string_view bytes) override { note(std::string(bytes), pause_in_body); }
  void on_complete(Fields&&) override { heard.push_back("complete"); }

  RequestParser* parser = nullptr;
  bool pause_in_head = false;
  bool pause_in_body = false;
  bool in_body_at_head = false;
  std::vector<std::string> heard;

 private:
  void note(std::string what, bool pause) {
    heard.push_back(std::move(what));
    in_body_at_head = in_body_at_head || parser->in_body();
    if (pause) parser->pause();
  }
};

using Heard = std::vector<std::string>;

TEST(RequestParser, stops_exactly_behind_a_request) {
  const CapsConfig caps;
  Pausing sink;
  RequestParser parser(caps, sink);
  sink.parser = &parser;
  const std::string first = "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
  const auto progress = parser.consume(first + kGet);
  EXPECT_EQ(progress.consumed, first.size());
  EXPECT_EQ(progress.state, RequestParser::State::paused);
  EXPECT_EQ(sink.heard, (Heard{"head", "abc", "complete"}));
  const std::string chunked = chunked_with("3\r\nabc\r\n0\r\nT: v\r\n\r\n");
  EXPECT_EQ(parser.consume(chunked + kGet).consumed, chunked.size());
  EXPECT_EQ(parser.consume(std::string(kGet) + kGet).consumed, std::string(kGet).size());
}

TEST(RequestParser, holds_what_comes_to_caps_that_were_lowered_meanwhile) {
  const auto begun = [](const std::string& bytes, std::size_t CapsConfig::*lowered) {
    CapsConfig caps;
    Pausing sink;
    RequestParser parser(caps, sink);
    sink.parser = &parser;
    EXPECT_EQ(parser.consume(bytes).state, RequestParser::State::hungry);
    caps.*lowered = 40;
    return parser.consume("xxxx").state;
  };
  const std::string line = "GET http://a/" + std::string(100, 'x'), field = " HTTP/1.1\r\nHost: a\r\nX: x";
  EXPECT_EQ(begun(line, &CapsConfig::header_bytes), RequestParser::State::failed);
  EXPECT_EQ(begun(line, &CapsConfig::target_bytes), RequestParser::State::failed);
  EXPECT_EQ(begun(line + field, &CapsConfig::header_bytes), RequestParser::State::failed);
  EXPECT_EQ(begun(chunked_with("3;" + std::string(100, 'x')), &CapsConfig::chunk_line_bytes),
            RequestParser::State::failed);
  EXPECT_EQ(begun(line + field, &CapsConfig::trailer_bytes), RequestParser::State::hungry);
}

TEST(RequestParser, paused_in_the_head_delivers_no_body_byte) {
  const CapsConfig caps;
  Pausing sink;
  RequestParser parser(caps, sink);
  sink.parser = &parser;
  sink.pause_in_head = true;
  const std::string head = "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n";
  const auto progress = parser.consume(head + "abc");
  EXPECT_EQ(progress.consumed, head.size());
  EXPECT_EQ(progress.state, RequestParser::State::paused);
  EXPECT_EQ(sink.heard, Heard{"head"});
  EXPECT_TRUE(parser.in_body());
  EXPECT_EQ(parser.consume("abc").state, RequestParser::State::paused);
  EXPECT_EQ(sink.heard, (Heard{"head", "abc", "complete"}));
  EXPECT_FALSE(parser.in_body());
}

TEST(RequestParser, paused_in_the_head_of_a_chunked_request_delivers_no_body_byte) {
  const CapsConfig caps;
  Pausing sink;
  RequestParser parser(caps, sink);
  sink.parser = &parser;
  sink.pause_in_head = true;
  const std::string head = chunked_with("");
  EXPECT_EQ(parser.consume(head + "3\r\nabc\r\n0\r\n\r\n").consumed, head.size());
  EXPECT_EQ(sink.heard, Heard{"head"});
  EXPECT_EQ(parser.consume("3\r\nabc\r\n0\r\n\r\n").consumed, 13u);
  EXPECT_EQ(sink.heard, (Heard{"head", "abc", "complete"}));
}

TEST(RequestParser, paused_in_a_body_goes_on_with_the_next_bytes) {
  const CapsConfig caps;
  Pausing sink;
  RequestParser parser(caps, sink);
  sink.parser = &parser;
  sink.pause_in_body = true;
  const std::string head = chunked_with("");
  ASSERT_EQ(parser.consume(head).state, RequestParser::State::hungry);
  std::string_view rest = "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  auto progress = parser.consume(rest);
  EXPECT_EQ(progress.consumed, 6u);
  EXPECT_EQ(progress.state, RequestParser::State::paused);
  rest.remove_prefix(progress.consumed);
  progress = parser.consume(rest);
  EXPECT_EQ(progress.consumed, 7u);
  rest.remove_prefix(progress.consumed);
  EXPECT_EQ(parser.consume(rest).consumed, rest.size());
  EXPECT_EQ(sink.heard, (Heard{"head", "abc", "de", "complete"}));
}

TEST(RequestParser, paused_at_the_last_body_byte_completes_all_the_same) {
  const CapsConfig caps;
  Pausing sink;
  RequestParser parser(caps, sink);
  sink.parser = &parser;
  sink.pause_in_head = sink.pause_in_body = true;
  ASSERT_EQ(parser.consume(kGet).state, RequestParser::State::paused);
  EXPECT_EQ(sink.heard, (Heard{"head", "complete"}));
  std::string_view rest = "PUT http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx";
  rest.remove_prefix(parser.consume(rest).consumed);
  EXPECT_EQ(rest, "x");
  EXPECT_EQ(parser.consume(rest).state, RequestParser::State::paused);
  EXPECT_EQ(sink.heard, (Heard{"head", "complete", "head", "x", "complete"}));
}

TEST(RequestParser, delivers_a_body_as_it_comes) {
  const CapsConfig caps;
  Pausing sink;
  RequestParser parser(caps, sink);
  sink.parser = &parser;
  parser.consume("PUT http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775807\r\n\r\n");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(parser.consume("0123456789").state, RequestParser::State::hungry);
  EXPECT_EQ(sink.heard, (Heard{"head", "0123456789", "0123456789", "0123456789"}));
  EXPECT_TRUE(parser.in_body());
}

TEST(RequestParser, serves_any_number_of_requests_on_one_connection) {
  const CapsConfig caps;
  Pausing sink;
  RequestParser parser(caps, sink);
  sink.parser = &parser;
  const std::string chunked = chunked_with("1\r\nx\r\n0\r\n\r\n");
  for (int i = 0; i < 10000; ++i) {
    sink.heard.clear();
    const std::string_view request = i % 2 ? std::string_view(kGet) : std::string_view(chunked);
    ASSERT_EQ(parser.consume(request).consumed, request.size());
    ASSERT_EQ(sink.heard.back(), "complete");
  }
}

TEST(RequestParser, stays_failed) {
  const CapsConfig caps;
  Pausing sink;
  RequestParser parser(caps, sink);
  sink.parser = &parser;
  EXPECT_EQ(parser.consume("nonsense\r\n\r\n").state, RequestParser::State::failed);
  EXPECT_EQ(parser.consume(kGet).state, RequestParser::State::failed);
  EXPECT_EQ(parser.refusal().why, Reason::malformed);
  EXPECT_TRUE(sink.heard.empty());
}

}  // namespace
}  // namespace penstock::http
