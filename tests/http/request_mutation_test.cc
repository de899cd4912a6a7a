// SPDX-License-Identifier: Apache-2.0
// 20 000 broken variants of good requests, from a fixed seed: nothing crashes, no control character reaches a head, and
// cutting a variant differently changes nothing.
#include <gtest/gtest.h>

#include <random>

#include "http/grammar.h"
#include "http/reading.h"
#include "http/target.h"

namespace penstock::http {
namespace {

const std::string kSeeds[] = {
    get_with("Host: a.test\r\nAccept: */*\r\n"),
    get_with("Host: a.test\r\nConnection: keep-alive, x-hop\r\nX-Hop: 1\r\nUpgrade: h2c\r\n"),
    "POST http://a.test/p?q HTTP/1.1\r\nHost: a.test\r\nContent-Length: 11\r\n\r\nhello world",
    "PUT http://[::1]:8080/ HTTP/1.1\r\nHost: [::1]:8080\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
    chunked_with("3\r\nabc\r\n5;x=y\r\nhello\r\n0\r\n\r\n"),
    chunked_with("A\r\n0123456789\r\n0\r\nX-Sum: 1\r\nContent-Length: 4\r\n\r\n"),
    "GET http://a.test/ HTTP/1.0\r\nProxy-Connection: keep-alive\r\n\r\n",
    "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n",
    "\r\nOPTIONS http://a.test HTTP/1.1\r\nHost: a.test\r\nMax-Forwards: 0\r\n\r\n",
    get_with("Host: a\r\n") + "POST http://b/ HTTP/1.1\r\nHost: b\r\nContent-Length: 1\r\n\r\nx" +
        get_with("Host: c\r\n"),
};

/// One to three edits: a byte changed, inserted or removed, or a stretch copied elsewhere.
std::string mutate(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
  constexpr std::string_view kNasty("\0\r\n\t :;,\x0b\x7f\x80\xff\"\\@[]#?/0x-+", 24);
  for (std::size_t edits = 1 + below(3); edits > 0 && !text.empty(); --edits) {
    const std::size_t at = below(text.size());
    const char byte = below(2) ? kNasty[below(kNasty.size())] : static_cast<char>(below(256));
    switch (below(4)) {
      case 0: text[at] = byte; break;
      case 1: text.insert(at, 1, byte); break;
      case 2: text.erase(at, 1 + below(4)); break;
      default: text.insert(at, text.substr(below(text.size()), 1 + below(16)));
    }
  }
  return text;
}

void expect_clean(const Fields& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    EXPECT_TRUE(is_token(fields[i].name));
    EXPECT_TRUE(is_field_value(fields[i].value));
    EXPECT_EQ(trim(fields[i].value), fields[i].value);
  }
}

void expect_clean(const Seen& seen) {
  EXPECT_TRUE(is_token(seen.head.method));
  for (const char c : seen.head.target) EXPECT_TRUE(is_visible(c));
  expect_clean(seen.head.fields);
  expect_clean(seen.trailers);
  EXPECT_FALSE(seen.head.fields.find("content-length") && seen.head.fields.find("transfer-encoding"));
  EXPECT_TRUE(!seen.complete || seen.head.body != BodyKind::length || seen.body.size() == seen.head.content_length);
  const auto target = parse_target(seen.head.method, seen.head.target);
  EXPECT_TRUE(!target || is_host_value(target->host_field()));
}

TEST(RequestMutations, never_crash_nor_let_a_control_character_through) {
  std::mt19937 random(20240229);
  int heads = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string stream = mutate(kSeeds[i % std::size(kSeeds)], random);
    const Reading whole = read(stream);
    for (const Seen& seen : whole.requests) expect_clean(seen);
    heads += static_cast<int>(whole.requests.size());
    ASSERT_EQ(read_split(stream, random() % (stream.size() + 1)).transcript(), whole.transcript()) << stream;
    ASSERT_FALSE(testing::Test::HasFailure()) << stream;
  }
  EXPECT_GT(heads, 5000) << "the variants are too broken to say anything";
}

}  // namespace
}  // namespace penstock::http
