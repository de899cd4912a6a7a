// SPDX-License-Identifier: Apache-2.0
// Answers of the booking script, as it gives them and as it never would.
#include "redis/book_reply.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock::redis {
namespace {

/// RESP of `*n` (an array of so many), `'text` and integers.
std::string wire(std::initializer_list<std::string_view> words) {
  std::string text;
  for (const auto word : words) {
    if (word.starts_with('*')) {
      text += std::string(word) + "\r\n";
    } else if (word.starts_with('\'')) {
      text += "$" + std::to_string(word.size() - 1) + "\r\n" + std::string(word.substr(1)) + "\r\n";
    } else {
      text += ":" + std::string(word) + "\r\n";
    }
  }
  return text;
}

bool read(const std::string& bytes, std::size_t count, BookReply& into) {
  ReplyReader reader;
  EXPECT_TRUE(reader.feed(bytes));
  EXPECT_EQ(reader.next(), ReplyReader::Found::reply);
  const bool understood = read_book_reply(reader.reply(), count, into);
  EXPECT_TRUE(!understood || into.generation == "gen");
  return understood;
}

TEST(BookReply, of_a_grant_has_departures_and_limits) {
  BookReply reply;
  ASSERT_TRUE(read(wire({"*11", "'gen", "'ok", "1000000", "3", "'", "'u", "-1", "0", "0", "*0", "*4", "1000000", "-1",
                         "1002500", "0"}),
                   2, reply));
  EXPECT_EQ(reply.status, BookReply::Status::ok);
  EXPECT_EQ(reply.alive, 3);
  EXPECT_FALSE(reply.stop);
  ASSERT_EQ(reply.departures.size(), 2u);
  EXPECT_EQ(reply.departures[1].at, 1'002'500);
  EXPECT_EQ(reply.departures[1].limit, 0);
}

TEST(BookReply, of_a_turn_says_when_to_ask_again) {
  BookReply reply;
  ASSERT_TRUE(read(wire({"*11", "'gen", "'ok", "1000000", "-3", "'turn", "'g", "1", "2000000", "2050000", "*0", "*0"}),
                   2, reply));
  EXPECT_EQ(reply.alive, -3) << "three at least";
  EXPECT_EQ(reply.stop, flow::Booking::Stop::turn);
  EXPECT_EQ(reply.scope, flow::Booking::Scope::group);
  EXPECT_EQ(reply.limit, 1);
  EXPECT_EQ(reply.ask_again, 2'000'000);
  EXPECT_EQ(reply.not_before, 2'050'000);
}

TEST(BookReply, is_refused_where_it_is_not_what_was_asked_for) {
  BookReply reply;
  for (const auto& bytes : {
           wire({"5"}),
           wire({"*0"}),
           wire({"*2", "'gen", "'ok"}),
           wire({"*11", "'gen", "'fine", "1000000", "3", "'", "'u", "-1", "0", "0", "*0", "*0"}),
           wire({"*11", "'gen", "'ok", "1000000", "3", "'soon", "'u", "-1", "0", "0", "*0", "*0"}),
           wire({"*11", "'", "'ok", "1000000", "3", "'", "'u", "-1", "0", "0", "*0", "*0"}),
           wire({"*11", "'gen", "'ok", "'now", "3", "'", "'u", "-1", "0", "0", "*0", "*0"}),
           wire({"*11", "'gen", "'ok", "1000000", "3", "'", "'u", "-1", "-5", "0", "*0", "*0"}),
           wire({"*11", "'gen", "'ok", "1000000", "3", "'", "'u", "-1", "9000000000000000000", "0", "*0", "*0"}),
           wire({"*11", "'gen", "'ok", "1000000", "3", "'", "'u", "-1", "0", "0", "*0", "*1", "1000000"}),
           // In the past, more than were asked for, out of order, beyond the horizon.
           wire({"*11", "'gen", "'ok", "1000000", "3", "'", "'u", "-1", "0", "0", "*0", "*2", "999999", "0"}),
           wire({"*11", "'gen", "'ok", "1000000", "3", "'", "'u", "-1", "0", "0", "*0", "*6", "1000000", "0", "1000000",
                 "0", "1000000", "0"}),
           wire({"*11", "'gen", "'ok", "1000000", "3", "'", "'u", "-1", "0", "0", "*0", "*4", "1000001", "0", "1000000",
                 "0"}),
           wire({"*11", "'gen", "'ok", "1000000", "3", "'", "'u", "-1", "0", "0", "*0", "*2", "1060000", "0"}),
       }) {
    EXPECT_FALSE(read(bytes, 2, reply)) << bytes;
  }
}

}  // namespace
}  // namespace penstock::redis
