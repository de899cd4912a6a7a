// SPDX-License-Identifier: Apache-2.0
// What processes learn of each other: how many there are, and whether their limits differ.
#include <gtest/gtest.h>

#include "lua/asker.h"
#include "support/scenario.h"

namespace penstock::lua {
namespace {

using namespace scenarios;

class Present : public testing::Test {
 protected:
  /// How many there are, as one that says so is told.
  std::int64_t present(const std::string& who, Time now) {
    return scripts_.call(Script::present, now, {"p:processes"}, {who}).integer;
  }
  std::string others_limits(Asker& asker, Time now) {
    const auto answer = asker.ask(now, {}, true);
    EXPECT_EQ(answer.status, "ok");
    return answer.others_limits;
  }

  test::RedisServer server_;
  Scripts scripts_{server_};
};

TEST_F(Present, are_those_that_said_so_within_three_seconds) {
  EXPECT_EQ(present("a", sec(1)), 1);
  EXPECT_EQ(present("b", sec(1.5)), 2);
  EXPECT_EQ(present("a", sec(2)), 2);
  EXPECT_EQ(present("a", sec(4.4)), 2);
  EXPECT_EQ(present("a", sec(4.6)), 1) << "b has gone";
  EXPECT_GT(server_.run({"PTTL", "p:processes"}).integer, 0) << "and nothing stays";
}

TEST_F(Present, under_a_foreign_value_are_told_as_such) {
  server_.run({"SET", "p:processes", "hello"});
  EXPECT_TRUE(scripts_.call(Script::present, 1, {"p:processes"}, {"a"}).is_error());
  EXPECT_EQ(server_.run({"GET", "p:processes"}).text, "hello");
  EXPECT_GT(server_.run({"PTTL", "p:processes"}).integer, 0) << "not for ever";
}

TEST_F(Present, say_so_along_with_an_ask) {
  Asker a(scripts_, "up", "a", {pacer(10)}, 1);
  a.says_there("p:processes");
  EXPECT_EQ(present("b", sec(1)), 1);
  EXPECT_EQ(a.ask(sec(1.5), {}).processes, 0) << "not without a touch";
  EXPECT_EQ(a.ask(sec(2), {}, true).processes, 2);
  EXPECT_EQ(present("b", sec(3)), 2);
}

TEST_F(Present, are_not_counted_by_an_ask_that_finds_a_foreign_value_there) {
  server_.run({"SET", "p:processes", "hello"});
  Asker a(scripts_, "up", "a", {pacer(10)}, 1);
  a.says_there("p:processes");
  const Answer answer = a.ask(sec(1), {}, true);
  EXPECT_EQ(answer.status, "ok");
  EXPECT_EQ(answer.booking.departures.size(), 1);
  EXPECT_EQ(answer.processes, 0);
}

TEST_F(Present, with_the_same_limits_hear_of_no_others) {
  Asker a(scripts_, "up", "a", {pacer(10)}, 1), b(scripts_, "up", "b", {pacer(10)}, 1);
  EXPECT_EQ(others_limits(a, sec(1)), "");
  EXPECT_EQ(others_limits(b, sec(1)), "");
  EXPECT_EQ(others_limits(a, sec(2)), "");
}

TEST_F(Present, with_other_limits_hear_what_these_are) {
  Asker a(scripts_, "up", "a", {pacer(10)}, 1), b(scripts_, "up", "b", {pacer(11)}, 1);
  EXPECT_EQ(others_limits(a, sec(1)), "");
  EXPECT_NE(others_limits(b, sec(1)).find(" a "), std::string::npos) << "who has them, and which";
  EXPECT_NE(others_limits(a, sec(2)).find(" b "), std::string::npos);
  EXPECT_EQ(a.ask(sec(2.1), {}).others_limits, "") << "only with a touch";
}

TEST_F(Present, that_read_other_limits_are_heard_with_these_alone_after_three_seconds) {
  Asker a(scripts_, "up", "a", {pacer(10)}, 1), b(scripts_, "up", "b", {pacer(11)}, 1);
  others_limits(a, sec(1)), others_limits(b, sec(1));
  b.change({pacer(10)});
  EXPECT_EQ(others_limits(b, sec(4.5)), "");
  EXPECT_EQ(others_limits(a, sec(4.6)), "");
}

}  // namespace
}  // namespace penstock::lua
