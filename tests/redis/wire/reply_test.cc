// SPDX-License-Identifier: Apache-2.0
// RESP2 read from bytes, whole and in pieces, honest and hostile.
#include "redis/wire/reply.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock::redis {
namespace {

using Found = ReplyReader::Found;
using Kind = Reply::Kind;

std::string told(const Reply& reply) {
  switch (reply.kind()) {
    case Kind::nil: return "nil";
    case Kind::integer: return std::to_string(reply.integer());
    case Kind::text: return "'" + std::string(reply.text()) + "'";
    case Kind::error: return "!" + std::string(reply.text());
    case Kind::array: break;
  }
  std::string text = "[";
  for (auto elements = reply.elements(); elements.left() > 0;) text += told(elements.next()) + " ";
  return text + "]";
}

std::string read(ReplyReader& reader, std::string_view bytes) {
  std::string text;
  EXPECT_TRUE(reader.feed(bytes));
  Found found;
  while ((found = reader.next()) == Found::reply) text += told(reader.reply());
  return found == Found::nonsense ? text + "nonsense" : text;
}

constexpr std::string_view kAll =
    "+OK\r\n-ERR "
    "no\r\n:-42\r\n$5\r\na\r\nbc\r\n$-1\r\n*-1\r\n*0\r\n*4\r\n:1\r\n*2\r\n$0\r\n\r\n*1\r\n:2\r\n*0\r\n$1\r\nz\r\n";
constexpr std::string_view kAllTold = "'OK'!ERR no-42'a\r\nbc'nilnil[][1 ['' [2 ] ] [] 'z' ]";

TEST(Reply, is_read_in_all_its_kinds) {
  ReplyReader reader;
  EXPECT_EQ(read(reader, kAll), kAllTold);
}

TEST(Reply, is_read_whatever_the_pieces_are) {
  for (std::size_t size = 1; size < kAll.size(); ++size) {
    ReplyReader reader;
    std::string text;
    for (std::size_t at = 0; at < kAll.size(); at += size) text += read(reader, kAll.substr(at, size));
    EXPECT_EQ(text, kAllTold) << size;
  }
}

TEST(Reply, has_nothing_where_another_kind_is_asked_for) {
  ReplyReader reader;
  ASSERT_TRUE(reader.feed(":7\r\n"));
  ASSERT_EQ(reader.next(), Found::reply);
  EXPECT_EQ(reader.reply().text(), "");
  auto elements = reader.reply().elements();
  EXPECT_EQ(elements.left(), 0u);
  EXPECT_EQ(elements.next().kind(), Kind::nil);
  EXPECT_EQ(elements.next().integer(), 0);
}

TEST(Reply, has_nil_past_the_end_of_an_array_however_it_goes_on) {
  ReplyReader reader;
  ASSERT_TRUE(reader.feed("*2\r\n*1\r\n:1\r\n:9\r\n"));
  ASSERT_EQ(reader.next(), Found::reply);
  auto elements = reader.reply().elements();
  auto inner = elements.next().elements();
  EXPECT_EQ(inner.next().integer(), 1);
  EXPECT_EQ(inner.next().kind(), Kind::nil);
  EXPECT_EQ(elements.next().integer(), 9);
}

TEST(Reply, of_nonsense_is_nonsense) {
  for (const char* bytes : {"hello\r\n", "*5000000000\r\n", ":12x\r\n", "$-7\r\n", "*-3\r\n",
                            "$99999999999999999999\r\n", "HTTP/1.1 400 Bad Request\r\n", "%1\r\n+a\r\n+b\r\n"}) {
    ReplyReader reader;
    EXPECT_EQ(read(reader, bytes), "nonsense") << bytes;
    EXPECT_EQ(reader.next(), Found::nonsense) << bytes;
  }
}

TEST(Reply, may_not_be_nested_without_end) {
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "*1\r\n";
  ReplyReader reader;
  EXPECT_EQ(read(reader, deep), "nonsense");
}

TEST(Reply, may_not_have_parts_without_end) {
  ReplyReader reader;
  ASSERT_TRUE(reader.feed("*2000000000\r\n"));
  std::string parts;
  for (int i = 0; i < 1000; ++i) parts += ":1\r\n";
  std::size_t fed = 0;
  while (reader.next() == Found::nothing && fed < 10'000'000 && reader.feed(parts)) fed += 1000;
  EXPECT_LE(fed, ReplyReader::kMostParts + 2000);
  EXPECT_EQ(reader.next(), Found::nonsense);
}

TEST(Reply, may_not_be_larger_than_any_that_we_ask_for) {
  ReplyReader reader;
  ASSERT_TRUE(reader.feed("$1073741824\r\n"));
  const std::string piece(64 * 1024, 'x');
  std::size_t fed = 0;
  while (reader.next() == Found::nothing && fed < 10 * ReplyReader::kMostBytes && reader.feed(piece))
    fed += piece.size();
  EXPECT_LE(fed, ReplyReader::kMostBytes);
}

TEST(Reply, may_not_gather_texts_without_end) {
  ReplyReader reader;
  const std::string text = "$50000\r\n" + std::string(50'000, 'x') + "\r\n";
  ASSERT_TRUE(reader.feed("*60000\r\n"));
  std::size_t fed = 0;
  while (reader.next() == Found::nothing && fed < 10 * ReplyReader::kMostBytes && reader.feed(text)) fed += text.size();
  EXPECT_LE(fed, ReplyReader::kMostBytes + 2 * text.size());
  EXPECT_EQ(reader.next(), Found::nonsense);
}

}  // namespace
}  // namespace penstock::redis
