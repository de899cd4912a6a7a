// SPDX-License-Identifier: Apache-2.0
// What replies tell of the other processes.
#include "redis/limits/fleet.h"

#include <gtest/gtest.h>

namespace penstock::redis {
namespace {

constexpr flow::Time kOneSecond = 1'000'000;

BookReply reply(int alive, flow::Time received) {
  BookReply reply;
  reply.alive = alive;
  reply.received = received;
  return reply;
}

TEST(Fleet, is_as_large_as_was_counted_last_and_no_smaller_than_was_seen_since) {
  Fleet fleet({});
  EXPECT_EQ(fleet.alive(), 1);
  fleet.on_reply(reply(5, kOneSecond));
  EXPECT_EQ(fleet.alive(), 5);
  fleet.on_reply(reply(-3, 2 * kOneSecond));
  EXPECT_EQ(fleet.alive(), 5) << "at least three";
  fleet.on_reply(reply(-7, 2 * kOneSecond));
  EXPECT_EQ(fleet.alive(), 7);
  fleet.on_reply(reply(2, 3 * kOneSecond));
  EXPECT_EQ(fleet.alive(), 2);
}

TEST(Fleet, is_of_unknown_size_when_it_was_not_counted_for_four_seconds) {
  Fleet fleet({});
  EXPECT_EQ(fleet.alive_lately(0), 0);
  fleet.on_reply(reply(5, kOneSecond));
  EXPECT_EQ(fleet.alive_lately(5 * kOneSecond - 1), 5);
  EXPECT_EQ(fleet.alive_lately(5 * kOneSecond), 0);
}

TEST(Fleet, is_taken_to_wait_as_a_whole_where_it_was_not_told_how_many_do) {
  Fleet fleet({});
  BookReply told = reply(5, kOneSecond);
  fleet.on_reply(told);
  EXPECT_EQ(fleet.others().count, 4);
  told.others = 2, told.had_less = 9;
  fleet.on_answer(told, ClockMap());
  EXPECT_EQ(fleet.others().count, 2);
  EXPECT_EQ(fleet.others().had_less, 9);
}

}  // namespace
}  // namespace penstock::redis
