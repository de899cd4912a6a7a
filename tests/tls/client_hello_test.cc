// SPDX-License-Identifier: Apache-2.0
// What is read of a client's hello, however it is cut, and whatever a stranger sends in its place.
#include "tls/client_hello.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace penstock::tls {
namespace {

using namespace std::string_literals;

std::string number(std::size_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}
std::string block(const std::string& content, int length_bytes) {
  return number(content.size(), length_bytes) + content;
}
std::string extension(int type, const std::string& content) { return number(type, 2) + block(content, 2); }
std::string name(const std::string& host) { return extension(0, block("\0"s + block(host, 2), 2)); }
std::string offers(const std::vector<std::string>& protocols) {
  std::string list;
  for (const auto& protocol : protocols) list += block(protocol, 1);
  return extension(16, block(list, 2));
}
const std::string kGrease = extension(0x0a0a, "");
const std::string kKeys = extension(51, std::string(1200, '\x42'));  // of the size that post-quantum ones have

/// A handshake message, RFC 8446 4.1.2.
std::string hello(const std::string& extensions, int type = 1) {
  const std::string body = "\3\3" + std::string(32, 'r') + block(std::string(32, 's'), 1) +
                           block("\x13\x01\x13\x02"s, 2) + block("\0"s, 1) + block(extensions, 2);
  return static_cast<char>(type) + block(body, 3);
}
std::string in_records(const std::string& message, std::size_t each) {
  std::string bytes;
  for (std::size_t at = 0; at < message.size(); at += each) bytes += "\x16\3\1" + block(message.substr(at, each), 2);
  return bytes;
}
std::string in_one(const std::string& message) { return in_records(message, 16'384); }

const std::string kUsual =
    hello(kGrease + name("api.github.com") + kKeys + offers({"\x3a\x3a", "h2", "http/1.1"}) + kGrease);

void expect_usual(const ClientHello& seen) {
  EXPECT_EQ(seen.sni(), "api.github.com");
  EXPECT_EQ(seen.alpn(), "h2,http/1.1");
}

TEST(ClientHello, tells_the_name_and_the_protocols_without_grease) {
  ClientHello seen;
  EXPECT_FALSE(seen.feed(in_one(kUsual) + "and more"));
  expect_usual(seen);
}

TEST(ClientHello, may_come_in_any_pieces) {
  const std::string bytes = in_one(kUsual);
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    ClientHello seen;
    EXPECT_TRUE(seen.feed(std::string_view(bytes).substr(0, cut)));
    EXPECT_FALSE(seen.feed(std::string_view(bytes).substr(cut)));
    expect_usual(seen);
  }
}

TEST(ClientHello, may_be_spread_over_many_records_byte_by_byte) {
  for (const std::size_t each : {1u, 2u, 3u, 5u, 7u, 100u, 1000u}) {
    const std::string bytes = in_records(kUsual, each);
    ClientHello seen;
    for (std::size_t i = 0; i + 1 < bytes.size(); ++i) ASSERT_TRUE(seen.feed(std::string_view(&bytes[i], 1))) << i;
    EXPECT_FALSE(seen.feed(std::string_view(&bytes.back(), 1)));
    expect_usual(seen);
  }
}

TEST(ClientHello, may_say_nothing) {
  for (const auto& extensions : {""s, kGrease, name(""), offers({}), extension(0, ""), extension(16, "")}) {
    ClientHello seen;
    EXPECT_FALSE(seen.feed(in_one(hello(extensions))));
    EXPECT_EQ(seen.sni() + seen.alpn(), "");
  }
}

TEST(ClientHello, that_is_none_is_given_up_at_once) {
  for (const auto& bytes : {"GET / HTTP/1.1\r\n"s, "SSH-2.0-x\r\n"s, "\0"s, "\x16\x01\0\0\5"s, "\x16\3\1\0\0"s,
                            "\x16\3\1\x40\1"s, in_one(hello(name("a.test"), 2))}) {
    ClientHello seen;
    EXPECT_FALSE(seen.feed(bytes)) << bytes;
    EXPECT_FALSE(seen.feed(in_one(kUsual))) << "once and for all";
    EXPECT_EQ(seen.sni(), "");
  }
}

TEST(ClientHello, beyond_the_longest_is_given_up_by_its_length_alone) {
  ClientHello seen;
  EXPECT_FALSE(seen.feed("\x16\3\1\x40\0\1"s + number(ClientHello::kLongest + 1, 3)));
}

TEST(ClientHello, of_the_longest_kind_is_read) {
  const std::size_t others = hello(name("a.test") + extension(21, "")).size() - 4;
  const auto longest = hello(extension(21, std::string(ClientHello::kLongest - others, '\0')) + name("a.test"));
  ASSERT_EQ(longest.size() - 4, ClientHello::kLongest);
  ClientHello seen;
  EXPECT_FALSE(seen.feed(in_one(longest)));
  EXPECT_EQ(seen.sni(), "a.test");
}

TEST(ClientHello, names_that_nobody_should_print_are_left_out) {
  for (const auto& host : {"a b"s, "a\nb"s, "a\0b"s, "\xc3\xa4.test"s, std::string(256, 'a')}) {
    ClientHello seen;
    EXPECT_FALSE(seen.feed(in_one(hello(name(host) + offers({host.substr(0, 255), "h2", "a,b"})))));
    EXPECT_EQ(seen.sni(), "");
    if (host.size() < 255) {
      EXPECT_EQ(seen.alpn(), "h2");
    }
    EXPECT_LE(seen.alpn().size(), 255u);
  }
}

TEST(ClientHello, with_a_length_that_lies_tells_what_came_before_at_most) {
  const std::string whole = hello(name("a.test") + offers({"h2"}));
  for (std::size_t cut = 4; cut < whole.size(); ++cut) {
    std::string shorter = whole.substr(0, cut);
    shorter.replace(1, 3, number(cut - 4, 3));  // the message ends there; what is inside it says otherwise
    ClientHello seen;
    EXPECT_FALSE(seen.feed(in_one(shorter)));
    EXPECT_TRUE(seen.sni().empty() || seen.sni() == "a.test") << cut;
    EXPECT_TRUE(seen.alpn().empty() || seen.alpn() == "h2") << cut;
  }
}

TEST(ClientHello, survives_whatever_is_sent) {
  std::mt19937 random(1);
  const std::string usual = in_one(kUsual);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = usual;
    for (auto changes = 1 + random() % 8; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    ClientHello seen;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t piece = 1 + random() % 400;
      seen.feed(std::string_view(bytes).substr(at, piece));
      at += piece;
    }
    ASSERT_LE(seen.sni().size(), 255u);
    ASSERT_LE(seen.alpn().size(), 255u);
  }
}

}  // namespace
}  // namespace penstock::tls
