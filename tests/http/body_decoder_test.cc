// SPDX-License-Identifier: Apache-2.0
// Bodies by length, in chunks, and to the end of the connection: whole, cut anywhere, and malformed.
#include "http/body_decoder.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace penstock::http {
namespace {

using State = BodyDecoder::State;

struct Decoded {
  State state = State::more;
  std::string body, rest, trailers;
  bool may_end = false;
  Reason why{};

  bool operator==(const Decoded&) const = default;
};

/// Feeds `bytes` in pieces of `each`, the first of `first`.
Decoded decode(const std::string& fields, const std::string& bytes, std::size_t first, std::size_t each,
               const std::string& method = "GET", const std::string& status = "200 OK") {
  ResponseHeadReader reader(64 * 1024, 50);
  reader.on_line("HTTP/1.1 " + status + "\r\n");
  if (!fields.empty()) reader.on_line(fields);
  EXPECT_EQ(reader.on_line("\r\n"), ResponseHeadReader::Verdict::final) << fields;
  BodyDecoder decoder(reader, method);
  Decoded decoded;
  std::string_view left = bytes;
  do {
    const std::string cut(left.substr(0, first));  // a copy: no view may outlive its read
    left.remove_prefix(cut.size());
    first = each;
    std::string_view offered = cut, piece;
    while ((decoded.state = decoder.next(offered, piece)) == State::piece) decoded.body += piece;
    decoded.rest += offered;
  } while (!left.empty() && decoded.state == State::more);
  decoded.rest += left;
  decoded.may_end = decoder.ends_with_connection();
  if (decoded.state == State::bad) {
    decoded.why = decoder.why();
    decoded.rest.clear();  // how far it came depends on the cuts
    EXPECT_FALSE(decoder.details().empty());
  }
  const Fields& trailers = reader.trailers();
  for (std::size_t i = 0; i < trailers.size(); ++i) {
    decoded.trailers.append(trailers[i].name).append("=").append(trailers[i].value).append(";");
  }
  return decoded;
}

/// However it is cut, it means the same.
Decoded decode(const std::string& fields, const std::string& bytes) {
  const Decoded whole = decode(fields, bytes, bytes.size(), 1);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    EXPECT_EQ(decode(fields, bytes, at, bytes.size()), whole) << fields << bytes << " cut at " << at;
  }
  EXPECT_EQ(decode(fields, bytes, 1, 1), whole) << fields << bytes << " byte by byte";
  return whole;
}

constexpr const char* kChunked = "Transfer-Encoding: chunked\r\n";

TEST(BodyDecoder, counts_a_length_and_leaves_what_follows) {
  const Decoded decoded = decode("Content-Length: 5\r\n", "helloHTTP/1.1 200 OK");
  EXPECT_EQ(decoded.state, State::whole);
  EXPECT_EQ(decoded.body, "hello");
  EXPECT_EQ(decoded.rest, "HTTP/1.1 200 OK");
  EXPECT_EQ(decode("Content-Length: 6\r\n", "hello").state, State::more);
  EXPECT_FALSE(decode("Content-Length: 6\r\n", "hello").may_end);
}

TEST(BodyDecoder, reads_to_the_end_of_the_connection_where_nothing_is_said) {
  const Decoded decoded = decode("", "hello\r\n0\r\n\r\n");
  EXPECT_EQ(decoded.state, State::more);
  EXPECT_TRUE(decoded.may_end);
  EXPECT_EQ(decoded.body, "hello\r\n0\r\n\r\n");
}

TEST(BodyDecoder, knows_answers_without_a_body) {
  EXPECT_EQ(decode("Content-Length: 0\r\n", "").state, State::whole);
  EXPECT_EQ(decode("Content-Length: 5\r\n", "", 0, 1, "HEAD").state, State::whole);
  EXPECT_EQ(decode("", "x", 1, 1, "GET", "204 No Content").state, State::whole);
  EXPECT_EQ(decode(kChunked, "", 0, 1, "GET", "304 Not Modified").state, State::whole);
}

TEST(BodyDecoder, joins_chunks) {
  const Decoded decoded = decode(kChunked, "3\r\nabc\r\n00A;x=\"y z\"\r\n0123\r\n6789\r\n1 ; y\r\n!\r\n0\r\n\r\nrest");
  EXPECT_EQ(decoded.state, State::whole);
  EXPECT_EQ(decoded.body, "abc0123\r\n6789!");
  EXPECT_EQ(decoded.rest, "rest");
  EXPECT_EQ(decoded.trailers, "");
}

TEST(BodyDecoder, reads_trailers) {
  const Decoded decoded = decode(kChunked, "1\r\nx\r\n0;last\r\nDigest: d\r\nX:\r\n\r\nrest");
  EXPECT_EQ(decoded.state, State::whole);
  EXPECT_EQ(decoded.trailers, "Digest=d;X=;");
  EXPECT_EQ(decoded.rest, "rest");
}

TEST(BodyDecoder, is_not_done_before_the_last_line) {
  const std::string all = "3\r\nabc\r\n0\r\nT: v\r\n\r\n";
  for (std::size_t size = 0; size < all.size(); ++size) {
    const Decoded decoded = decode(kChunked, all.substr(0, size));
    EXPECT_EQ(decoded.state, State::more) << size;
    EXPECT_FALSE(decoded.may_end) << size;
  }
}

TEST(BodyDecoder, refuses_what_is_no_chunk) {
  for (const char* bytes :
       {"\r\n", "x\r\n", "-1\r\nx\r\n", "+1\r\nx\r\n", "0x1\r\nx\r\n", " 1\r\nx\r\n", "1 \r\nx\r\n", "1 x\r\nx\r\n",
        "1\nx\r\n", "1\r\r\nx\r\n", "1;\x01\r\nx\r\n", "1\r\nxy\r\n", "1\r\nx\n", "2\r\nx\r\n\r\n", "1\r\nx0\r\n\r\n",
        "10000000000000000\r\nx", "ffffffffffffffff\r\nx", "1;a=\"b\r\nx", "00000000000000001\r\nx"}) {
    const Decoded decoded = decode(kChunked, bytes);
    EXPECT_EQ(decoded.state, State::bad) << bytes;
    EXPECT_EQ(decoded.why, Reason::response_coding) << bytes;
  }
}

TEST(BodyDecoder, refuses_trailers_as_it_refuses_fields) {
  EXPECT_EQ(decode(kChunked, "0\r\nno colon\r\n\r\n").why, Reason::protocol_error);
  EXPECT_EQ(decode(kChunked, "0\r\na b: c\r\n\r\n").why, Reason::protocol_error);
}

TEST(BodyDecoder, keeps_no_line_without_end) {
  const std::string many(70 * 1024, '1');
  EXPECT_EQ(decode(kChunked, many, many.size(), 1).why, Reason::response_coding);
  EXPECT_EQ(decode(kChunked, "1;" + many, 100, 100).why, Reason::response_coding);
  EXPECT_EQ(decode(kChunked, "1;" + many + "\r\nx", many.size() + 5, 1).why, Reason::response_coding);
  EXPECT_EQ(decode(kChunked, "1\r\nx" + many, 100, 100).state, State::bad);
  EXPECT_EQ(decode(kChunked, "0\r\nX: " + many, 1000, 1000).state, State::bad);
  for (const std::size_t each : {std::size_t{1000}, std::size_t{100'000}}) {
    EXPECT_EQ(decode(kChunked, "0\r\nX: " + many + "\r\n\r\n", each, each).why, Reason::response_coding)
        << "however cut";
  }
}

TEST(BodyDecoder, takes_sizes_in_either_case) {
  EXPECT_EQ(decode(kChunked, "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n").body.size(), 20u);
  const std::string much(0x1fb, 'm');
  EXPECT_EQ(decode(kChunked, "1Fb\r\n" + much + "\r\n0\r\n\r\n", 7, 100).body, much);
}

}  // namespace
}  // namespace penstock::http
