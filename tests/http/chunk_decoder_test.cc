// SPDX-License-Identifier: Apache-2.0
// Chunks of either direction: what they say, what is ignored, and what makes them faulty, however they are cut.
#include "http/chunk_decoder.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock::http {
namespace {

using namespace std::string_literals;
using Fault = ChunkDecoder::Fault;

constexpr std::size_t kLine = 64;

struct Chunks {
  ChunkDecoder::State state = ChunkDecoder::State::more;
  Fault fault = Fault::none;
  std::string body;
  std::size_t taken = 0;

  bool operator==(const Chunks&) const = default;
};

Chunks chunks_in(const std::string& bytes, std::size_t each) {
  ChunkDecoder decoder;
  Chunks out;
  for (std::size_t at = 0; at < bytes.size() && out.state == ChunkDecoder::State::more; at += each) {
    const std::string cut = bytes.substr(at, each);
    std::string_view offered = cut, piece;
    while ((out.state = decoder.next(offered, piece, kLine)) == ChunkDecoder::State::piece) out.body += piece;
    out.taken += cut.size() - offered.size();
  }
  out.fault = decoder.fault();
  return out;
}

Chunks chunks_in(const std::string& bytes) {
  const Chunks whole = chunks_in(bytes, bytes.size());
  for (const std::size_t each : {1, 2, 3, 7})
    EXPECT_EQ(chunks_in(bytes, each), whole) << bytes << " in pieces of " << each;
  return whole;
}

TEST(ChunkDecoder, stops_behind_the_last_size_line) {
  const Chunks out = chunks_in("3\r\nabc\r\nA;x\r\n0123456789\r\n00\r\nX: y\r\n\r\n");
  EXPECT_EQ(out.state, ChunkDecoder::State::last);
  EXPECT_EQ(out.body, "abc0123456789");
  EXPECT_EQ(out.taken, "3\r\nabc\r\nA;x\r\n0123456789\r\n00\r\n"s.size());
}

// RFC 9112 7.1.1: a recipient must ignore those that it does not know.
TEST(ChunkDecoder, ignores_every_extension_of_the_grammar) {
  for (const char* extensions :
       {";a", ";a=b", ";a=b;c=d", ";a;b", ";a=\"b\"", ";tag=\"a;b\"", ";a=\"b\\\"c\"", ";a=\"\\\\\"", " ;a", "; a=b",
        ";a = b", "\t;\ta\t=\tb", ";a=\"b c\td\";e", ";a=\"\xc3\xa4\"", ";a=\"\"", ";!#$%&'*+-.^_`|~=x"}) {
    const Chunks out = chunks_in("1"s + extensions + "\r\nx\r\n0" + extensions + "\r\n");
    EXPECT_EQ(out.state, ChunkDecoder::State::last) << extensions;
    EXPECT_EQ(out.body, "x") << extensions;
  }
}

TEST(ChunkDecoder, refuses_a_line_that_may_be_read_as_two) {
  for (const std::string& line : {"1;a\nb\r\n"s, "1;a\rb\r\n"s, "1;a=\"b\nc\"\r\n"s, "1;a=\"b\\\nc\"\r\n"s, "1\n"s,
                                  "1\r\r\n"s, "1;a=\"\0\"\r\n"s, "1;a\x7f\r\n"s, "1;\x01\r\n"s}) {
    const Chunks out = chunks_in(line + "x\r\n0\r\n");
    EXPECT_EQ(out.state, ChunkDecoder::State::bad) << line;
    EXPECT_EQ(out.body, "") << line;
  }
  for (const char* open : {"1;a=\"b\r\nx\r\n0\r\n", "1;a=\"b\\\"\r\nx\r\n", "1;\"\r\n"})
    EXPECT_EQ(chunks_in(open).fault, Fault::extension) << open;
}

TEST(ChunkDecoder, refuses_what_is_no_size) {
  for (const char* line : {"\r\n", ";a\r\n", "g\r\n", "+1\r\n", " 1\r\n", "-0\r\n", "8000000000000000\r\n",
                           "ffffffffffffffff\r\n", "00000000000000001\r\n"})
    EXPECT_EQ(chunks_in(line).fault, Fault::size) << line;
  EXPECT_EQ(chunks_in("7fffffffffffffff\r\nabc").body, "abc");
  EXPECT_EQ(chunks_in("0000000000000003\r\nabc").body, "abc");
  for (const char* line : {"0x1\r\n", "1 \r\n", "1 2\r\n", "1,\r\n", "1 =\r\n", "1h\r\n"})
    EXPECT_NE(chunks_in(line).fault, Fault::none) << line;
}

TEST(ChunkDecoder, holds_a_chunk_to_its_size) {
  for (const char* bytes :
       {"3\r\nabcd\r\n0\r\n", "3\r\nab\r\n0\r\n", "3\r\nabc0\r\n", "3\r\nabc\n0\r\n", "3\r\nabc\r0\r\n"})
    EXPECT_EQ(chunks_in(bytes).fault, Fault::length) << bytes;
}

TEST(ChunkDecoder, takes_lines_up_to_their_longest) {
  const auto line = [](std::size_t size) { return "1;" + std::string(size - 4, 'a') + "\r\n"; };
  EXPECT_EQ(chunks_in(line(kLine) + "x\r\n" + line(kLine) + "y").body, "xy");
  EXPECT_EQ(chunks_in(line(kLine + 1) + "x").fault, Fault::line_too_long);
  EXPECT_EQ(chunks_in("1;a=\"" + std::string(kLine, 'a')).fault, Fault::line_too_long);
}

}  // namespace
}  // namespace penstock::http
