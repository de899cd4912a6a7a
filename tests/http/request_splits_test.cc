// SPDX-License-Identifier: Apache-2.0
// However the bytes are cut, the parser tells the same: good streams and bad ones, at every offset and byte by byte.
#include <gtest/gtest.h>

#include "http/reading.h"

namespace penstock::http {
namespace {

using namespace std::string_literals;

CapsConfig small_caps() {
  CapsConfig caps;
  caps.header_bytes = 200;
  caps.header_count = 4;
  caps.target_bytes = 40;
  caps.trailer_bytes = 40;
  caps.chunk_line_bytes = 20;
  return caps;
}

const std::string kStreams[] = {
    // Good ones
    get_with("Host: a.test\r\nX-Empty:\r\nX:  a b \t\r\n"),
    "\r\n\r\n" + get_with("Host: a.test\r\n") + "\r\n" + get_with("Host: b.test\r\n"),
    "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\n x\r\n ",
    "POST http://a.test/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx" + get_with("Host: a\r\n"),
    chunked_with("3\r\nabc\r\nA;x=\"y z\"\r\n0123456789\r\n0\r\nT: v\r\nU:\r\n\r\n") + get_with("Host: a\r\n"),
    chunked_with("0\r\n\r\n") + chunked_with("1\r\n \r\n0\r\n\r\n"),
    "GET http://a/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET http://b/ HTTP/1.0\r\n\r\nrest",
    "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n\x16\x03\x01",
    "FROB http://a/ HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab",
    get_with("Host: a\r\nConnection: close\r\n") + "whatever follows\r\n\r\n",
    // Cut ones
    "GET http://a/ HT",
    "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc",
    chunked_with("3\r\nab"),
    // Bad request lines
    "GET  http://a/ HTTP/1.1\r\n\r\n",
    "GET http://a/ HTTP/2.0\r\n\r\n",
    "GET http://a/ HTTP/1.1 \r\n\r\n",
    "\nGET / HTTP/1.1\r\n\r\n",
    "GET http://a/ HTTP/1.1\n\n",
    "G\x01T http://a/ HTTP/1.1\r\n\r\n",
    std::string(40, 'M') + " http://a/ HTTP/1.1\r\n\r\n",
    "\x16\x03\x01\x02\x01",
    "GET http://a/\x7f HTTP/1.1\r\n\r\n",
    "GET " + std::string(60, 'x') + "\x01 HTTP/1.1\r\n\r\n",
    // Bad fields
    get_with("Host: a\r\n folded\r\n"),
    get_with(" X: y\r\nHost: a\r\n"),
    get_with("X:\r\n y\r\nHost: a\r\n"),
    get_with("Host : a\r\n"),
    get_with(": x\r\nHost: a\r\n"),
    get_with("Host: a\r\nX: a\rb\r\n"),
    get_with("Host: a\r\nX: a\nb\r\n"),
    get_with("Host: a\r\nX: a\0b\r\n"s),
    get_with("X: y\r\n"),
    get_with("Host: a\r\nHost: a\r\n"),
    get_with("Host: a b\r\n"),
    get_with("Host: a\r\nno colon\r\n"),
    // Bad framing
    get_with("Host: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n") + "x",
    get_with("Host: a\r\nContent-Length: 1, 1\r\n"),
    get_with("Host: a\r\nTransfer-Encoding: gzip\r\n"),
    get_with("Host: a\r\nTransfer-Encoding: gzip, chunked\r\n"),
    get_with("Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n"),
    chunked_with("3\r\nabcd\r\n0\r\n\r\n"),
    chunked_with("3\nabc\r\n0\r\n\r\n"),
    chunked_with("G\r\n"),
    chunked_with("3 \r\nabc"),
    chunked_with("3\r\nabc\r\n0\r\nX : y\r\n\r\n"),
    chunked_with("3\r\nabc\r\n0\r\n X: y\r\n\r\n"),
    chunked_with("3\r\nabc\r\n0\r\nX: y\r\n z\r\n\r\n"),
    // Beyond the small caps
    get_with("Host: a\r\nX: " + std::string(200, 'x') + "\r\n"),
    get_with("Host: a\r\nA: b\r\nC: d\r\nE: f\r\nG: h\r\n"),
    "GET http://a/" + std::string(60, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n",
    chunked_with("3;" + std::string(30, 'x') + "\r\nabc\r\n0\r\n\r\n"),
    chunked_with("3\r\nabc\r\n0\r\nX: " + std::string(50, 'x') + "\r\n\r\n"),
    "\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r"
    "\n\r\n\r\n\r\n\r\n\r\n\r\n"
    "\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r"
    "\n\r\n\r\n\r\n\r\n\r\n\r\n"
    "\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r"
    "\n\r\n\r\n\r\n\r\n\r\n\r\n",
};

class Splits : public testing::TestWithParam<bool> {
 protected:
  CapsConfig caps() const { return GetParam() ? small_caps() : CapsConfig{}; }
};

TEST_P(Splits, at_every_offset_change_nothing) {
  for (const std::string& stream : kStreams) {
    const std::string expected = read(stream, caps()).transcript();
    for (std::size_t at = 1; at < stream.size(); ++at) {
      ASSERT_EQ(read_split(stream, at, caps()).transcript(), expected) << "split at " << at << " of\n" << stream;
    }
  }
}

TEST_P(Splits, in_pieces_of_any_size_change_nothing) {
  for (const std::string& stream : kStreams) {
    const std::string expected = read(stream, caps()).transcript();
    for (const std::size_t size : {1, 2, 3, 7, 16}) {
      ASSERT_EQ(read_in_pieces(stream, size, caps()).transcript(), expected) << "pieces of " << size << " of\n"
                                                                             << stream;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(WithCaps, Splits, testing::Bool(),
                         [](const auto& caps) { return caps.param ? std::string("small") : std::string("usual"); });

}  // namespace
}  // namespace penstock::http
