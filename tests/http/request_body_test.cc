// SPDX-License-Identifier: Apache-2.0
// Bodies by length and in chunks, and trailers.
#include <gtest/gtest.h>

#include "http/reading.h"

namespace penstock::http {
namespace {

using namespace std::string_literals;

Seen only_request(const std::string& stream) {
  const Reading reading = read(stream);
  EXPECT_EQ(reading.requests.size(), 1u) << reading.transcript();
  EXPECT_EQ(reading.complete(), 1u) << reading.transcript();
  return reading.requests.empty() ? Seen{} : reading.requests.front();
}

TEST(RequestBody, by_length_is_taken_byte_for_byte) {
  std::string body;
  for (int c = 0; c < 256; ++c) body += static_cast<char>(c);
  const std::string stream = "PUT http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 256\r\n\r\n" + body;
  EXPECT_EQ(only_request(stream).body, body);
}

TEST(RequestBody, that_looks_like_a_request_is_not_one) {
  const std::string inner = "GET http://evil/ HTTP/1.1\r\nHost: evil\r\n\r\n";
  const Seen by_length = only_request(
      "PUT http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(inner.size()) + "\r\n\r\n" + inner);
  EXPECT_EQ(by_length.body, inner);
  EXPECT_EQ(only_request(chunked_with("29\r\n" + inner + "\r\n0\r\n\r\n")).body, inner);
}

TEST(RequestBody, that_begins_with_a_blank_is_no_folded_line) {
  EXPECT_EQ(only_request("PUT http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n x\r\n ").body, " x\r\n ");
  EXPECT_EQ(only_request(chunked_with("5\r\n x\r\n \r\n0\r\n\r\n")).body, " x\r\n ");
}

TEST(RequestBody, in_chunks_is_joined) {
  EXPECT_EQ(only_request(chunked_with("3\r\nabc\r\nA\r\n0123456789\r\n0b\r\nhello world\r\n0\r\n\r\n")).body,
            "abc0123456789hello world");
  EXPECT_EQ(only_request(chunked_with("0\r\n\r\n")).body, "");
  EXPECT_EQ(only_request(chunked_with("000\r\n\r\n")).body, "");
}

TEST(RequestBody, in_chunks_may_have_extensions_which_are_dropped) {
  EXPECT_EQ(only_request(chunked_with("3;a;b=c\r\nabc\r\n3;c=\"d e;f\"\r\ndef\r\n0;last\r\n\r\n")).body, "abcdef");
  for (const char* extensions : {";a;b", ";a=\"b\";c=\"d;e\"", ";a;b=\"c\";d=e", ";a=b;c=d", " ;a=b", "; a=b", ";a = b",
                                 ";a=\"b\\\"c\"", ";a=\"b\\\\\";c", "\t;\ta\t=\t\"b c\"", " ; a = \"\\\"\" ;b"}) {
    const std::string chunks = "3"s + extensions + "\r\nabc\r\n0" + extensions + "\r\n\r\n";
    EXPECT_EQ(only_request(chunked_with(chunks)).body, "abc") << extensions;
  }
}

TEST(RequestBody, in_a_chunk_of_a_size_that_never_comes_allocates_nothing) {
  const Reading reading = read(chunked_with("7fffffffffffffff\r\nabc"));
  ASSERT_EQ(reading.requests.size(), 1u);
  EXPECT_EQ(reading.requests[0].body, "abc");
  EXPECT_FALSE(reading.refusal.has_value());
  EXPECT_TRUE(reading.in_message);
}

TEST(RequestTrailers, are_handed_over_with_the_end_and_never_as_fields) {
  const Seen seen = only_request(
      chunked_with("3\r\nabc\r\n0\r\nX-Sum: 1\r\nAuthorization: x\r\nContent-Length: 7\r\nHost: b\r\n\r\n"));
  EXPECT_EQ(seen.trailers.find("x-sum"), "1");
  EXPECT_EQ(seen.trailers.size(), 4u);
  EXPECT_EQ(seen.head.fields.count("host"), 1u);
  EXPECT_EQ(seen.head.fields.find("content-length"), std::nullopt);
  EXPECT_EQ(seen.body, "abc");
}

TEST(RequestTrailers, with_a_coding_among_them_are_refused) {
  for (const char* coding : {"chunked", "gzip", "identity", ""}) {
    const Reading reading =
        read(chunked_with("3\r\nabc\r\n0\r\ntransfer-Encoding: " + std::string(coding) + "\r\n\r\n"));
    EXPECT_EQ(refused(reading), Reason::malformed) << coding;
  }
}

TEST(RequestTrailers, do_not_frame_what_follows) {
  const std::string stream = chunked_with("0\r\nContent-Length: 30\r\n\r\n") + chunked_with("1\r\nx\r\n0\r\n\r\n");
  const Reading reading = read(stream);
  ASSERT_EQ(reading.complete(), 2u) << reading.transcript();
  EXPECT_EQ(reading.requests[1].body, "x");
  EXPECT_TRUE(reading.requests[1].trailers.empty());
}

TEST(RequestBody, in_a_hundred_thousand_one_byte_chunks_is_joined) {
  std::string body;
  for (int i = 0; i < 100000; ++i) body += "1;x\r\ny\r\n";
  EXPECT_EQ(only_request(chunked_with(body + "0\r\n\r\n")).body, std::string(100000, 'y'));
}

}  // namespace
}  // namespace penstock::http
