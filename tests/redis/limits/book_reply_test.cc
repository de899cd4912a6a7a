// SPDX-License-Identifier: Apache-2.0
// Answers of the booking script, as it gives them and as it never would.
#include "redis/limits/book_reply.h"

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
  ASSERT_TRUE(read(wire({"*11", "'gen", "'ok", "1000000", "-3", "'turn", "'n", "1", "2000000", "2050000", "*0", "*0"}),
                   2, reply));
  EXPECT_EQ(reply.alive, -3) << "three at least";
  EXPECT_EQ(reply.stop, flow::Booking::Stop::turn);
  EXPECT_EQ(reply.scope, flow::Booking::Scope::group);
  EXPECT_EQ(reply.limit, 1);
  EXPECT_EQ(reply.ask_again, 2'000'000);
  EXPECT_EQ(reply.not_before, 2'050'000);
}

TEST(BookReply, tells_how_limits_stand_where_somebody_waits) {
  BookReply reply;
  const auto head = [](std::string_view elements) {
    return wire({elements, "'gen", "'ok", "1000000", "3", "'", "'u", "-1", "0", "0", "*0", "*0"});
  };
  ASSERT_TRUE(read(head("*14") + wire({"*5", "2", "-7", "1", "900000", "40", "*0", "'theirs"}), 2, reply));
  EXPECT_EQ(reply.others, 2);
  EXPECT_EQ(reply.had_less, -7);
  ASSERT_EQ(reply.standing.size(), 1u);
  EXPECT_EQ(reply.standing[0].limit, 1);
  EXPECT_EQ(reply.standing[0].since, 900'000);
  EXPECT_EQ(reply.standing[0].much, 40);
  EXPECT_EQ(reply.others_limits.size(), 6u);
  ASSERT_TRUE(read(head("*12") + wire({"*0"}), 2, reply));
  EXPECT_LT(reply.others, 0);
  EXPECT_TRUE(reply.standing.empty());
  for (const auto& standing :
       {wire({"*2", "-1", "0"}), wire({"*4", "1", "0", "0", "900000"}), wire({"*5", "1", "0", "0", "-1", "0"}),
        wire({"*5", "1", "0", "0", "0", "-1"}), wire({"*5", "1", "0", "0", "9000000000000000000", "0"})}) {
    EXPECT_FALSE(read(head("*12") + standing, 2, reply)) << standing;
  }
}

TEST(BookReply, tells_what_is_left_of_each_limit) {
  BookReply reply;
  const auto with = [](std::string_view left) {
    return wire({"*13", "'gen", "'ok", "1000000", "3", "'", "'u", "-1", "0", "0", "*0", "*0", "*0"}) +
           std::string(left);
  };
  ASSERT_TRUE(read(with(wire({"*4", "1500000", "-3", "0", "0"})), 2, reply));
  ASSERT_EQ(reply.left.size(), 2u);
  EXPECT_EQ(reply.left[0].until, 1'500'000);
  EXPECT_EQ(reply.left[0].units, -3);
  EXPECT_EQ(reply.left[1].until, 0) << "it says nothing of this one";
  for (const auto& left : {wire({"*1", "1500000"}), wire({"*2", "-1", "0"}), wire({"*2", "9000000000000000000", "0"}),
                           wire({"*2", "1500000", "9000000000000000000"})}) {
    EXPECT_FALSE(read(with(left), 2, reply)) << left;
  }
}

TEST(BookReply, names_limits_by_their_places_in_the_file) {
  BookReply reply{.departures = {{.limit = 0}, {.limit = 1}, {.limit = -1}, {.limit = 2}}, .standing = {{.limit = 1}}};
  const std::vector<flow::LimitIndex> places{3, 5};
  for (const auto& [number, place] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {0, 3}, {1, 5}, {2, flow::kNoLimit}, {-1, flow::kNoLimit}, {-2, flow::kPause}, {-7, flow::kNoLimit}}) {
    reply.limit = number;
    reply.name_limits(places);
    EXPECT_EQ(reply.limited_by(), place) << number;
    if (number == 0) {
      EXPECT_EQ(reply.departures[0].limit, 3);
      EXPECT_EQ(reply.departures[1].limit, 5);
      EXPECT_EQ(reply.departures[2].limit, flow::kNoLimit);
      EXPECT_EQ(reply.departures[3].limit, flow::kNoLimit);
      EXPECT_EQ(reply.standing[0].limit, 5);
    }
  }
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
