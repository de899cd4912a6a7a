// SPDX-License-Identifier: Apache-2.0
// Answers on the wire: framing for each kind of client and answer, interim heads, and Penstock's own answers.
#include "http/response_writer.h"

#include <gtest/gtest.h>

namespace penstock::http {
namespace {

Fields one(std::string_view name, std::string_view value) {
  Fields fields;
  fields.add(name, value);
  return fields;
}

struct Written {
  std::string text;
  bool keeps;
};

/// A whole answer of 200 with the field `A: b` and the body "hello" in two pieces.
Written write(AnswerTo to, std::optional<std::uint64_t> length, int status = 200, std::string_view reason = "OK") {
  std::string out;
  ResponseWriter writer(to);
  writer.head(out, status, reason, one("A", "b"), length);
  writer.body(out, "hel");
  writer.body(out, "");
  writer.body(out, "lo");
  writer.end(out, one("T", "v"));
  return {out, writer.keeps_connection()};
}

TEST(ResponseWriter, says_a_length_that_is_known) {
  const Written written = write({}, 5);
  EXPECT_EQ(written.text, "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_TRUE(written.keeps);
}

TEST(ResponseWriter, tells_the_id_in_final_heads_only) {
  EXPECT_EQ(write({.id = "JNg-1"}, 5).text,
            "HTTP/1.1 200 OK\r\nA: b\r\nPenstock-Request-Id: JNg-1\r\nContent-Length: 5\r\n\r\nhello");
  std::string out;
  ResponseWriter writer({.id = "JNg-1"});
  writer.interim(out, 103, "Early Hints", {});
  EXPECT_EQ(out, "HTTP/1.1 103 Early Hints\r\n\r\n");
  out.clear();
  writer.interim(out, 101, "Switching Protocols", {});
  EXPECT_EQ(out, "HTTP/1.1 101 Switching Protocols\r\nPenstock-Request-Id: JNg-1\r\n\r\n");
  out.clear();
  write_refusal(out, {.why = Reason::draining, .details = "draining"}, "penstock", {.id = "JNg-1"});
  EXPECT_NE(out.find("\r\nPenstock-Request-Id: JNg-1\r\n"), std::string::npos) << out;
}

TEST(ResponseWriter, sends_chunks_and_trailers_where_no_length_is_known) {
  const Written written = write({}, std::nullopt);
  EXPECT_EQ(written.text,
            "HTTP/1.1 200 OK\r\nA: b\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\nT: v\r\n\r\n");
  EXPECT_TRUE(written.keeps);
}

TEST(ResponseWriter, writes_chunk_sizes_in_hexadecimal) {
  std::string out;
  ResponseWriter writer({});
  writer.head(out, 200, "OK", {}, std::nullopt);
  out.clear();
  writer.body(out, std::string(255, 'x'));
  writer.body(out, std::string(4096, 'y'));
  EXPECT_EQ(out, "ff\r\n" + std::string(255, 'x') + "\r\n1000\r\n" + std::string(4096, 'y') + "\r\n");
}

TEST(ResponseWriter, lets_the_connection_end_an_answer_of_unknown_length_to_http_1_0) {
  const Written written = write({.minor_version = 0}, std::nullopt);
  EXPECT_EQ(written.text, "HTTP/1.1 200 OK\r\nA: b\r\nConnection: close\r\n\r\nhello");
  EXPECT_FALSE(written.keeps);
}

TEST(ResponseWriter, tells_http_1_0_that_the_connection_stays) {
  const Written written = write({.minor_version = 0}, 5);
  EXPECT_EQ(written.text, "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello");
  EXPECT_TRUE(written.keeps);
}

TEST(ResponseWriter, says_close_where_the_connection_shall_end) {
  for (const std::uint8_t minor : {0, 1}) {
    const Written written = write({.minor_version = minor, .keep_alive = false}, 5);
    EXPECT_EQ(written.text, "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
    EXPECT_FALSE(written.keeps);
  }
}

TEST(ResponseWriter, gives_head_the_length_and_no_body) {
  EXPECT_EQ(write({.head_method = true}, 5).text, "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(write({.head_method = true}, std::nullopt).text, "HTTP/1.1 200 OK\r\nA: b\r\n\r\n");
  EXPECT_TRUE(write({.head_method = true}, 5).keeps);
  EXPECT_TRUE(write({.head_method = true, .minor_version = 0}, std::nullopt).keeps);
}

TEST(ResponseWriter, gives_304_the_length_and_no_body) {
  EXPECT_EQ(write({}, 5, 304, "Not Modified").text, "HTTP/1.1 304 Not Modified\r\nA: b\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(write({}, std::nullopt, 304, "x").text, "HTTP/1.1 304 x\r\nA: b\r\n\r\n");
}

TEST(ResponseWriter, gives_204_neither_length_nor_body) {
  for (const auto length : {std::optional<std::uint64_t>(5), std::optional<std::uint64_t>()}) {
    const Written written = write({}, length, 204, "No Content");
    EXPECT_EQ(written.text, "HTTP/1.1 204 No Content\r\nA: b\r\n\r\n");
    EXPECT_TRUE(written.keeps);
  }
}

TEST(ResponseWriter, frames_an_empty_body) {
  std::string out;
  ResponseWriter writer({});
  writer.head(out, 200, "OK", {}, 0);
  writer.end(out, {});
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  out.clear();
  ResponseWriter chunked({});
  chunked.head(out, 200, "OK", {}, std::nullopt);
  chunked.end(out, {});
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
}

TEST(ResponseWriter, never_writes_beyond_the_length_it_gave) {
  EXPECT_EQ(write({}, 4).text, "HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 4\r\n\r\nhell");
}

TEST(ResponseWriter, does_not_keep_a_connection_on_which_bytes_are_missing) { EXPECT_FALSE(write({}, 6).keeps); }

TEST(ResponseWriter, cleans_a_reason_of_controls) {
  using namespace std::string_literals;
  EXPECT_EQ(write({}, 5, 200, "O\r\nK\0\x7f ja \xfc"s).text,
            "HTTP/1.1 200 O  K   ja \xfc\r\nA: b\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(write({}, 5, 200, "").text, "HTTP/1.1 200 \r\nA: b\r\nContent-Length: 5\r\n\r\nhello");
}

TEST(ResponseWriter, passes_interim_heads_to_http_1_1_only) {
  std::string out;
  ResponseWriter writer({});
  writer.interim(out, 103, "Early Hints", one("Link", "<x>"));
  EXPECT_EQ(out, "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n");
  writer.head(out, 200, "OK", {}, 0);
  EXPECT_TRUE(out.ends_with("\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  out.clear();
  ResponseWriter old({.minor_version = 0});
  old.interim(out, 100, "Continue", {});
  EXPECT_EQ(out, "");
}

TEST(WriteRefusal, says_what_is_wrong_in_reason_field_and_body) {
  std::string out;
  write_refusal(out, refusal_until(Reason::queue_full, "github queue full", std::chrono::microseconds(6'200'001)),
                "penstock", {});
  EXPECT_EQ(out,
            "HTTP/1.1 503 Penstock: github queue full, retry in 7s\r\n"
            "Proxy-Status: penstock; error=connection_limit_reached; details=\"github queue full, retry in 7s\"\r\n"
            "Retry-After: 7\r\n"
            "Retry-After-Ms: 6202\r\n"
            "Content-Type: text/plain; charset=utf-8\r\n"
            "Content-Length: 41\r\n\r\n"
            "Penstock: github queue full, retry in 7s\n");
}

TEST(WriteRefusal, ends_the_connection_where_it_must) {
  std::string out;
  write_refusal(out, {.why = Reason::malformed, .details = "x"}, "p", {.keep_alive = false});
  EXPECT_NE(out.find("\r\nConnection: close\r\n"), std::string::npos);
  EXPECT_TRUE(out.starts_with("HTTP/1.1 400 Penstock: x\r\n"));
  EXPECT_EQ(out.find("Retry-After"), std::string::npos);
  EXPECT_EQ(out.find("Allow"), std::string::npos);
}

TEST(WriteRefusal, to_head_has_no_body) {
  std::string out;
  write_refusal(out, {.why = Reason::malformed, .details = "x"}, "p", {.head_method = true});
  EXPECT_TRUE(out.ends_with("\r\nContent-Length: 12\r\n\r\n"));
}

TEST(WriteRefusal, names_the_methods_allowed_where_it_must) {
  std::string out;
  write_refusal(out, {.why = Reason::max_forwards, .details = "x", .allow = "GET, HEAD"}, "p", {});
  EXPECT_TRUE(out.starts_with("HTTP/1.1 405 "));
  EXPECT_NE(out.find("\r\nAllow: GET, HEAD\r\n"), std::string::npos);
}

TEST(WriteRefusal, cannot_be_made_to_write_a_field_of_its_own) {
  std::string out;
  write_refusal(out, {.why = Reason::malformed, .details = "a\r\nSet-Cookie: b\r\n\r\nc\"; x=\""}, "p", {});
  EXPECT_EQ(out.find("\r\nSet-Cookie"), std::string::npos);
  EXPECT_EQ(out.find("\nSet-Cookie"), std::string::npos);
  EXPECT_NE(out.find("c\\\"; x=\\\"\"\r\n"), std::string::npos);
}

}  // namespace
}  // namespace penstock::http
