// SPDX-License-Identifier: Apache-2.0
// What the scripts store: under one hash tag, never for ever, and never on top of what is not theirs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "lua/asker.h"
#include "support/scenario.h"

namespace penstock::lua {
namespace {

using namespace scenarios;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<LimitConfig> every_kind() {
  return {pacer(100, 5),
          window(5, sec(1)),
          per_group(sliding(5, sec(1))),
          per_group(bucket(5, 1, sec(1))),
          counter(5, sec(1)),
          named("other", per_group(counter(50, sec(9))))};
}

class Stored : public testing::Test {
 protected:
  std::vector<std::string> keys() {
    std::vector<std::string> names;
    for (const auto& item : server_.run({"KEYS", "*"}).items) names.push_back(item.text);
    return names;
  }
  std::int64_t ttl(const std::string& key) { return server_.run({"PTTL", key}).integer; }
  Asker asker(std::vector<LimitConfig> limits, const std::string& who = "me") {
    return {scripts_, "api", who, std::move(limits), kStart};
  }

  test::RedisServer server_;
  Scripts scripts_{server_};
};

TEST_F(Stored, every_key_goes_and_is_of_its_upstream_whatever_was_called) {
  Asker me = asker(every_kind()), other = asker(every_kind(), "other");
  const auto check = [&](const char* after) {
    for (const auto& key : keys()) {
      EXPECT_GT(ttl(key), 0) << key << " after " << after;
      EXPECT_THAT(key, StartsWith("penstock:{api}:"));
    }
  };
  for (int i = 0; i < 50; ++i) {
    const Time now = i * ms(70);
    const std::string group = i % 3 ? "a" : "b";
    const Answer answer = me.ask(now, {.group = group, .count = 4, .weight = 1 + i % 2}, i % 5 == 0);
    ASSERT_EQ(answer.status, "ok");
    check("book");
    EXPECT_EQ(other.ask(now, {.group = group, .count = 2}, true).status, "ok");
    check("another's book");
    if (!answer.booking.departures.empty()) me.undo(now, group, answer.booking.departures.back());
    check("undo");
    if (!answer.booking.departures.empty())
      me.report_late(now, group, {answer.booking.departures.front()}, now + ms(60));
    check("moved");
    me.pause(now, i % 2 ? group : "", ms(30));
    check("pause");
    EXPECT_EQ(me.reset(now, 4, "").items.size(), 4U);
    EXPECT_EQ(me.reset(now, 5, group).items.size(), 4U);
    check("reset");
    EXPECT_EQ(me.replay(now, group, {"2p 5 1 1 100", "1w 0 1 1000000", "1s 5 6", "1b 5 1", "", ""}).items.size(), 4U);
    check("hand-in");
    EXPECT_EQ(other.cancel_wait(now, group, i % 2 != 0).text, "ok");
    check("leave");
  }
  EXPECT_GT(keys().size(), 8U);
}

TEST_F(Stored, what_one_process_is_told_of_strangers_holds_for_all_until_the_window_ends) {
  for (const auto& limit : {window(10, sec(10)), sliding(10, sec(10))}) {
    Asker me = asker({limit}), other = asker({limit}, "other");
    const auto mine = me.ask(0, {}).booking.departures;
    ASSERT_EQ(mine.size(), 1u);
    EXPECT_EQ(me.learned(ms(20), "", mine[0], {.limit = 0, .count = 7, .resets = sec(10)}).text, "ok");
    EXPECT_EQ(other.ask(ms(30), {.count = 5}).booking.departures.size(), 3u) << "1 of ours, 6 of strangers";
    EXPECT_GT(ttl(me.key_of(0, "")), 0);
    EXPECT_GE(other.ask(sec(10) + ms(5), {.count = 6}).booking.departures.size(), 6u);
    Asker late = asker({limit}, "late");
    late.know("0-another", 1);
    EXPECT_EQ(late.learned(sec(10) + ms(6), "", mine[0], {.limit = 0, .count = 7, .resets = sec(20)}).text, "stale");
    server_.run({"FLUSHALL"});
  }
}

TEST_F(Stored, departures_that_left_late_are_moved_together) {
  Asker me = asker({sliding(300, sec(60))});
  ASSERT_EQ(me.ask(0, {.count = 100}).booking.departures.size(), 100U);
  ASSERT_EQ(me.ask(ms(5), {.count = 100}).booking.departures.size(), 100U);
  std::vector<flow::Departure> late(70, {.at = 0});
  late.insert(late.end(), 80, {.at = ms(5)});
  EXPECT_EQ(me.report_late(ms(40), "", late, ms(30)).text, "ok");
  std::map<Time, int> stored;
  for (const auto& time : server_.run({"LRANGE", me.key_of(0, ""), "1", "-1"}).items) {
    ++stored[me.here(std::stoll(time.text))];
  }
  EXPECT_THAT(stored, testing::ElementsAre(testing::Pair(0, 30), testing::Pair(ms(5), 20), testing::Pair(ms(30), 150)));
  EXPECT_TRUE(
      std::ranges::is_sorted(server_.run({"LRANGE", me.key_of(0, ""), "1", "-1"}).items, {}, &test::RedisReply::text));
}

TEST_F(Stored, another_generation_does_not_hear_of_late_departures) {
  Asker me = asker({sliding(3, sec(60))});
  const auto departures = me.ask(0, {.count = 3}).booking.departures;
  const std::string before = server_.run({"DUMP", me.key_of(0, "")}).text;
  me.know("another", 1);
  EXPECT_EQ(me.report_late(ms(40), "", departures, ms(30)).text, "stale");
  EXPECT_EQ(server_.run({"DUMP", me.key_of(0, "")}).text, before);
}

TEST_F(Stored, a_state_goes_a_second_after_it_has_become_meaningless) {
  constexpr std::int64_t stretched = 1'000;  // see clock.lua of the tests
  const auto lifetime = [&](const LimitConfig& limit, std::size_t count) {
    Asker me = asker({limit});
    me.ask(ms(1), {.count = count});
    const std::int64_t left = ttl(me.key_of(0, ""));
    server_.run({"FLUSHALL"});
    return (left + stretched - 1) / stretched;
  };
  EXPECT_EQ(lifetime(pacer(100), 1), 10 + 1'000);
  EXPECT_EQ(lifetime(pacer(100, 4, 0.5), 5), 10 + 80 + 1'000) << "and the burst earned back";
  EXPECT_EQ(lifetime(window(5, ms(500)), 3), 499 + 1'000);
  EXPECT_EQ(lifetime(sliding(5, ms(500)), 3), 502 + 1'000);
  EXPECT_EQ(lifetime(bucket(5, 2, ms(100)), 5), 300 + 1'000);
  EXPECT_EQ(lifetime(counter(5, ms(500)), 5), 1'000 + 1'000);
}

class Foreign : public Stored, public testing::WithParamInterface<std::vector<std::string>> {};

TEST_P(Foreign, values_are_reported_and_changed_by_nobody) {
  Asker me = asker(every_kind());
  ASSERT_EQ(me.ask(0, {.group = "g"}).status, "ok");
  for (const std::string name : {"head", "pause", "pause:g", "line:g", "pacer", "window", "slidingWindow-of-group:g",
                                 "tokenBucket-of-group:g", "counter"}) {
    const std::string key = "penstock:{api}:" + name;
    const std::string kept = server_.run({"DUMP", key}).text;
    const auto& command = GetParam();
    server_.run({"DEL", key});
    std::vector<std::string_view> words{command[0], key};
    words.insert(words.end(), command.begin() + 1, command.end());
    ASSERT_FALSE(server_.run(words).is_error());
    std::map<std::string, std::string> before;
    for (const auto& each : keys()) before[each] = server_.run({"DUMP", each}).text;

    EXPECT_THAT(me.ask(ms(1), {.group = "g", .count = 2}).status, StartsWith("CORRUPT " + key));
    std::map<std::string, std::string> after;
    for (const auto& each : keys()) after[each] = server_.run({"DUMP", each}).text;
    EXPECT_EQ(before, after);
    EXPECT_GT(ttl(key), 0) << "not for ever";
    EXPECT_LE(ttl(key), 60'000);

    server_.run({"DEL", key});
    if (!kept.empty()) server_.run({"RESTORE", key, "0", kept});
    EXPECT_EQ(me.ask(ms(1), {.group = "g"}).status, "ok") << "and then it goes on";
  }
}

using Words = std::vector<std::string>;
INSTANTIATE_TEST_SUITE_P(
    Kinds, Foreign,
    testing::Values(Words{"SET", ""}, Words{"SET", "hello"}, Words{"SET", "2p 1 2"}, Words{"SET", "2 7 1x 1 2 3"},
                    Words{"SET", "2 7 2p nan 0 0 1"}, Words{"SET", "2 7 2p 1e300 0 0 1"},
                    Words{"SET", "2 7 2p -inf 0 0 1"}, Words{"SET", "2 7 1w 1 2"}, Words{"SET", "2 7 1b x 1"},
                    Words{"SET", "2 7 2w 9000000000000000 1 1000000 x 1"}, Words{"RPUSH", "3s 7 1 1", "5"},
                    Words{"SET", "2 x 2p 1 1 0 1"}, Words{"SET", "2p 1 1 0 1"}, Words{"SET", "3 7 2p 1 1 0 1"},
                    Words{"RPUSH", "2s 7", "five"}, Words{"SET", std::string("\0\xff\n", 3)}, Words{"RPUSH", "five"},
                    Words{"HSET", "a", "1"}, Words{"SADD", "a"}, Words{"ZADD", "1", "a"}));

TEST_F(Stored, a_limit_that_is_left_out_is_neither_read_nor_written_and_the_others_keep_their_places) {
  Asker me = asker({pacer(10), window(2, sec(1))});
  server_.run({"SET", me.key("pacer"), "hello"});
  const auto reply = scripts_.call(
      Script::book, 1, {me.key("head"), me.key("alive"), me.key("pause"), me.key("pacer"), me.key("window")},
      {"me", "",  "g",  "1", "0",   "",       "3", "1", "0", "a",       "-",
       "u",  "d", "10", "0", "0.5", "window", "u", "d", "2", "1000000", "0"});
  ASSERT_EQ(reply.items.size(), 13U) << reply.text;
  EXPECT_EQ(reply.items[10].items.size(), 2U * 2) << "two of three";
  EXPECT_EQ(reply.items[6].integer, 1) << "because of the window";
  EXPECT_EQ(server_.run({"GET", me.key("pacer")}).text, "hello");
  EXPECT_EQ(ttl(me.key("pacer")), -1);
}

TEST_F(Stored, a_hand_in_of_nothing_sees_to_it_that_the_value_is_ours) {
  Asker me = asker({window(2, sec(1))}), other = asker({window(2, sec(1))}, "other");
  ASSERT_EQ(me.ask(0, {}).status, "ok");
  const std::string stored = server_.run({"GET", me.key("window")}).text;
  EXPECT_EQ(me.replay(1, "", {""}).items.at(3).integer, 0);
  EXPECT_EQ(server_.run({"GET", me.key("window")}).text, stored);
  server_.run({"SET", me.key("window"), "hello"});
  other.know(me.generation(), 1);
  EXPECT_EQ(other.replay(1, "", {""}).items.at(3).integer, 1) << "is not";
  EXPECT_EQ(server_.run({"GET", me.key("window")}).text, "hello") << "and left alone";
}

TEST_F(Stored, a_kind_that_is_not_known_is_an_error_and_writes_nothing) {
  Asker me = asker({pacer(10)});
  const auto reply = scripts_.call(Script::book, 1, {me.key("head"), me.key("alive"), me.key("pause"), me.key("x")},
                                   {"me", "", "g", "1", "0", "", "1", "1", "0", "a", "magic", "u", "d", "1", "2", "3"});
  EXPECT_THAT(reply.text, HasSubstr("no limit of the kind magic"));
  EXPECT_TRUE(keys().empty());
}

}  // namespace
}  // namespace penstock::lua
