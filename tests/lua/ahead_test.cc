// SPDX-License-Identifier: Apache-2.0
// What a process is told that looks ahead: how much waits in each other one, and how the limits stand. Nothing changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
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
  /// What it says of the processes in the line: of each whether it is the caller, what it had, how much waits there and
  /// comes, and when it asks.
  using Place = std::tuple<bool, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  static std::vector<Place> line(const test::RedisReply& reply) {
    const auto all = numbers(reply.items.at(2));
    std::vector<Place> places;
    for (std::size_t i = 0; i + 7 < all.size(); i += 8)
      places.emplace_back(all[i] == 1, all[i + 2], all[i + 5], all[i + 6], all[i + 7]);
    return places;
  }

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
  ASSERT_EQ(told.items.size(), 5u) << told.text;
  EXPECT_EQ(told.items[1].integer, 2);
  EXPECT_THAT(post.take(), ElementsAre(Post::Message{"b", "api ahead"}, Post::Message{"c", "api ahead"}));
  EXPECT_EQ(b.report_waiting(ms(5), 40, 7, ms(70)).text, "ok");
  const auto read = a.look_ahead(ms(9), "read");
  EXPECT_THAT(line(read),
              ElementsAre(Place(false, 0, 40, 7, b.instant(ms(70))), Place(true, 0, 1, 0, 0), Place(false, 0, 2, 0, 0)))
      << "senior first; c has not reported: what it asked for";
  EXPECT_THAT(post.take(), IsEmpty());
}

TEST_F(Ahead, takes_no_report_for_an_earlier_look) {
  Asker a = process("a", {pacer(10)}), b = process("b", {pacer(10)});
  a.ask(0, {}, true);
  b.ask(ms(1), {.count = 3}, true);
  b.report_waiting(ms(5), 40, 7, ms(70));
  EXPECT_THAT(line(a.look_ahead(ms(55), "read")), ElementsAre(Place(false, 0, 40, 7, b.instant(ms(70)))));
  EXPECT_THAT(line(a.look_ahead(ms(56), "read")), ElementsAre(Place(false, 0, 3, 0, 0))) << "what it asked for";
}

TEST_F(Ahead, tells_what_each_had_and_which_has_other_limits) {
  Asker a = process("a", {pacer(100)}), b = process("b", {pacer(100)}), c = process("c", {pacer(90)});
  b.ask(0, {.count = 1}, true);
  EXPECT_GT(b.ask(ms(1), {.count = 9}, true).booking.departures.size(), 1u);
  a.ask(ms(2), {.count = 9}, true);
  c.ask(ms(2), {.count = 9}, true);
  const auto here = a.look_ahead(ms(3), "read"), there = b.look_ahead(ms(3), "read");
  const auto seen = line(here), seen_there = line(there);
  ASSERT_EQ(seen.size(), 3u);
  ASSERT_EQ(seen_there.size(), 3u);
  EXPECT_GT(std::get<1>(seen[0]), std::get<1>(seen[1])) << "b had more";
  EXPECT_TRUE(std::get<0>(seen[1]));
  EXPECT_TRUE(std::get<0>(seen_there[0]));
  EXPECT_THAT(std::vector({numbers(here.items[2])[1], numbers(here.items[2])[9], numbers(here.items[2])[17]}),
              ElementsAre(0, 0, 1));
}

TEST_F(Ahead, says_at_once_how_the_limits_stand_if_no_other_waits) {
  Asker a = process("a", {pacer(10), sliding(3, sec(1))}), b = process("b", a.limits());
  a.ask(0, {}, true);
  a.ask(ms(100), {}, true);
  const auto told = b.look_ahead(ms(101), "tell");
  ASSERT_EQ(told.items.size(), 5u) << told.text;
  EXPECT_EQ(told.items[1].integer, 0);
  EXPECT_THAT(line(told), IsEmpty());
  ASSERT_EQ(told.items[3].items.size(), 3u);
  EXPECT_EQ(told.items[3].items[0].integer, 0);
  EXPECT_EQ(told.items[3].items[1].integer, a.instant(ms(200)));
  ASSERT_EQ(told.items[4].items.size(), 3u);
  EXPECT_EQ(told.items[4].items[0].integer, 1);
  EXPECT_THAT(numbers(told.items[4].items[1]), ElementsAre(a.instant(0), a.instant(ms(100))));
  EXPECT_THAT(numbers(told.items[4].items[2]), IsEmpty());
}

TEST_F(Ahead, tells_what_strangers_have_taken_until_their_window_ends) {
  Asker a = process("a", {sliding(10, sec(10))});
  const auto mine = a.ask(0, {}, true).booking.departures;
  ASSERT_EQ(mine.size(), 1u);
  EXPECT_EQ(a.learned(ms(20), {}, mine[0], {.limit = 0, .count = 7, .resets = sec(9)}).text, "ok");
  const auto strangers = [&](Time at) { return numbers(a.look_ahead(at, "tell").items.at(4).items.at(2)); };
  EXPECT_THAT(strangers(ms(30)), ElementsAre(6, a.instant(-sec(1)), a.instant(sec(9)))) << "of 7, one was ours";
  EXPECT_THAT(strangers(sec(9) - ms(1)), ElementsAre(6, a.instant(-sec(1)), a.instant(sec(9))));
  EXPECT_THAT(strangers(sec(9)), IsEmpty());
}

TEST_F(Ahead, tells_the_rate_of_an_adaptive_limit) {
  Asker a = process("a", {adaptive(0.5, 80)});
  const auto rate_and_free = [&](Time at) {
    const auto stands = numbers(a.look_ahead(at, "tell").items.at(3));
    return std::pair(stands.at(2), stands.at(1));
  };
  a.ask(0, {}, true);
  EXPECT_EQ(rate_and_free(ms(1)), std::pair(std::int64_t{500'000}, a.instant(sec(2))))
      << "in millionths of a unit a second";
  a.ask(sec(2), {}, true);
  const double grown = 0.5 + std::log(2) * 0.5 * 2;
  EXPECT_EQ(rate_and_free(sec(2) + ms(1)).first, static_cast<std::int64_t>(grown * 1e6)) << "it doubles each second";
}

TEST_F(Ahead, tells_no_more_times_than_count) {
  Asker a = process("a", {sliding(2, sec(1))});
  for (const Time at : {Time{0}, ms(1), ms(1'010), ms(1'020)}) a.ask(at, {}, true);
  const auto told = a.look_ahead(ms(1'030), "tell");
  EXPECT_THAT(numbers(told.items.at(4).items.at(1)), ElementsAre(a.instant(ms(1'010)), a.instant(ms(1'020))));
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
  ASSERT_EQ(told.items.size(), 5u) << told.text;
  EXPECT_THAT(line(told), IsEmpty());
  EXPECT_EQ(server_.run({"EXISTS", a.key("head")}).integer, 0);
}

}  // namespace
}  // namespace penstock::lua
