// SPDX-License-Identifier: Apache-2.0
// What a process is told that looks ahead: how much waits in each other one, and how the limits stand. Nothing changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "lua/asker.h"
#include "lua/post.h"
#include "support/scenario.h"

namespace penstock::lua {
namespace {

using namespace scenarios;
using testing::ElementsAre;
using testing::IsEmpty;

class Ahead : public testing::Test {
 protected:
  Asker process(const std::string& who, std::vector<LimitConfig> limits) {
    return {scripts_, "api", who, std::move(limits), kStart};
  }
  static std::vector<std::int64_t> numbers(const test::RedisReply& reply) {
    std::vector<std::int64_t> all;
    for (const auto& item : reply.items) all.push_back(item.integer);
    return all;
  }
  /// What it says of other processes: three numbers of each.
  static std::vector<std::int64_t> others(const test::RedisReply& reply) { return numbers(reply.items.at(2)); }

  test::RedisServer server_;
  Scripts scripts_{server_};
};

TEST_F(Ahead, has_the_others_told_and_reads_what_they_report) {
  Post post(server_);
  for (const auto* who : {"a", "b", "c"}) post.subscribe(who);
  Asker a = process("a", {pacer(10)}), b = process("b", {pacer(10)}), c = process("c", {pacer(10)});
  a.ask(0, {}, true);
  b.ask(ms(1), {.count = 3}, true);
  a.ask(ms(2), {}, true);
  c.ask(ms(3), {.count = 2}, true);
  const auto told = a.look_ahead(ms(4), "tell");
  ASSERT_EQ(told.items.size(), 6u) << told.text;
  EXPECT_EQ(told.items[1].integer, 2);
  EXPECT_THAT(post.take(), ElementsAre(Post::Message{"b", "api ahead"}, Post::Message{"c", "api ahead"}));
  EXPECT_EQ(b.report_waiting(ms(5), 40, 7).text, "ok");
  const auto read = a.look_ahead(ms(9), "read");
  EXPECT_THAT(others(read), ElementsAre(0, 40, 7, 0, 2, 0)) << "c has not reported: what it asked for";
  EXPECT_EQ(read.items[3].integer, 1) << "b came before";
  EXPECT_THAT(post.take(), IsEmpty());
}

TEST_F(Ahead, counts_what_each_had_less) {
  Asker a = process("a", {pacer(100)}), b = process("b", {pacer(100)});
  b.ask(0, {.count = 1}, true);
  EXPECT_TRUE(b.ask(ms(1), {.count = 9}, true).booking.departures.size() > 1);
  a.ask(ms(2), {.count = 9}, true);
  const auto here = others(a.look_ahead(ms(3), "read")), there = others(b.look_ahead(ms(3), "read"));
  ASSERT_EQ(here.size(), 3u);
  ASSERT_EQ(there.size(), 3u);
  EXPECT_LT(here[0], 0) << "b had more";
  EXPECT_EQ(here[0], -there[0]);
}

TEST_F(Ahead, says_at_once_how_the_limits_stand_if_no_other_waits) {
  Asker a = process("a", {pacer(10), sliding(3, sec(1))}), b = process("b", a.limits());
  a.ask(0, {}, true);
  a.ask(ms(100), {}, true);
  const auto told = b.look_ahead(ms(101), "tell");
  ASSERT_EQ(told.items.size(), 6u) << told.text;
  EXPECT_EQ(told.items[1].integer, 0);
  EXPECT_THAT(others(told), IsEmpty());
  ASSERT_EQ(told.items[4].items.size(), 3u);
  EXPECT_EQ(told.items[4].items[0].integer, 0);
  EXPECT_EQ(told.items[4].items[1].integer, a.instant(ms(200)));
  ASSERT_EQ(told.items[5].items.size(), 2u);
  EXPECT_EQ(told.items[5].items[0].integer, 1);
  EXPECT_THAT(numbers(told.items[5].items[1]), ElementsAre(a.instant(0), a.instant(ms(100))));
}

TEST_F(Ahead, tells_no_more_times_than_count) {
  Asker a = process("a", {sliding(2, sec(1))});
  for (const Time at : {Time{0}, ms(1), ms(1'010), ms(1'020)}) a.ask(at, {}, true);
  const auto told = a.look_ahead(ms(1'030), "tell");
  EXPECT_THAT(numbers(told.items.at(5).items.at(1)), ElementsAre(a.instant(ms(1'010)), a.instant(ms(1'020))));
}

TEST_F(Ahead, changes_nothing) {
  Asker a = process("a", {pacer(10), window(5, sec(1))}), b = process("b", a.limits());
  a.ask(0, {}, true);
  b.ask(ms(1), {.count = 3}, true);
  const auto values = [&] {
    std::vector<std::string> all{server_.run({"GET", a.key("head")}).text};
    for (const std::size_t limit : {0u, 1u}) all.push_back(server_.run({"GET", a.key_of(limit, {})}).text);
    return all;
  };
  const auto before = values();
  a.look_ahead(ms(2), "tell");
  a.look_ahead(ms(7), "read");
  EXPECT_EQ(values(), before);
}

TEST_F(Ahead, of_an_upstream_that_is_not_used_tells_of_none) {
  Asker a = process("a", {pacer(10)});
  const auto told = a.look_ahead(0, "tell");
  ASSERT_EQ(told.items.size(), 6u) << told.text;
  EXPECT_THAT(others(told), IsEmpty());
  EXPECT_EQ(server_.run({"EXISTS", a.key("head")}).integer, 0);
}

}  // namespace
}  // namespace penstock::lua
