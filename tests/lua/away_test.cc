// SPDX-License-Identifier: Apache-2.0
// Three processes lose Redis and come back one after the other: what is kept back for those that are still away, for
// how long, and who is told. And what every answer tells of what is left, by which they go on meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lua/asker.h"
#include "lua/post.h"
#include "support/scenario.h"

namespace penstock::lua {
namespace {

using namespace scenarios;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class Away : public testing::Test {
 protected:
  Away() { post_.subscribe("all"); }
  /// All three were there at that time.
  void with(std::vector<LimitConfig> limits, Time now = sec(1)) {
    for (Asker* each : {&a_, &b_, &c_}) {
      each->change(limits);
      look(*each, now);
    }
    look(a_, now);
    EXPECT_EQ(answer_.alive, 3);
  }
  /// A call that asks for nothing.
  void look(Asker& who, Time now) { answer_ = ask(who, now, {.count = 0}, true); }
  /// As many of so many as it may have at once. It does not wait for more.
  int takes(Asker& who, Time now, std::size_t count = 100, int weight = 1) {
    answer_ = ask(who, now, {.count = count, .weight = weight});
    who.cancel_wait(now, "", false);
    return static_cast<int>(answer_.booking.departures.size()) * weight;
  }
  Answer ask(Asker& who, Time now, const flow::Ask& ask, bool touch = false) {
    const Answer answer = who.ask(now, ask, touch);
    EXPECT_EQ(answer.status, "ok");
    return answer;
  }
  /// It is back, and was last told that time.
  void returns(Asker& who, Time last, Time now, bool hands_in = false) {
    who.was_away(last, hands_in);
    look(who, now);
  }
  /// What the last answer told: until when, and how many units.
  using Left = std::pair<Time, std::int64_t>;
  std::vector<Left> left() const {
    std::vector<Left> all;
    for (const auto& one : answer_.left) all.emplace_back(static_cast<Time>(one.until), one.units);
    return all;
  }
  std::vector<std::string> told_to_all() {
    std::vector<std::string> texts;
    for (const auto& message : post_.take()) texts.push_back(message.text);
    return texts;
  }
  std::string value(const std::string& key) { return server_.run({"GET", key}).text; }
  std::int64_t ttl(const std::string& key) { return server_.run({"PTTL", key}).integer; }

  test::RedisServer server_;
  Scripts scripts_{server_};
  Post post_{server_};
  Asker a_{scripts_, "api", "a", {}, kStart}, b_{scripts_, "api", "b", {}, kStart},
      c_{scripts_, "api", "c", {}, kStart};
  Answer answer_;
  const std::string list_ = a_.key("away");
};

// ---- what is left ---------------------------------------------------------------------------------------------------

TEST_F(Away, a_process_goes_on_by_what_each_limit_had_left) {
  with({window(30, sec(10)), counter(20, sec(10)), pacer(10, 8), bucket(9, 2, sec(1))});
  EXPECT_EQ(takes(a_, sec(2), 4), 4);
  EXPECT_THAT(left(),
              ElementsAre(Left{sec(10), 26}, Left{sec(2) - ms(1) + sec(10), 16}, Left{sec(2), 4}, Left{sec(2), 5}));
}

TEST_F(Away, a_process_is_told_of_a_sliding_window_where_that_stops_it_and_with_a_touch) {
  with({sliding(5, sec(10))});
  EXPECT_EQ(takes(a_, sec(2), 4), 4);
  EXPECT_THAT(left(), ElementsAre(Left{0, 0}));
  look(a_, sec(3));
  EXPECT_THAT(left(), ElementsAre(Left{sec(3) + sec(10) + ms(2), 1}));
  EXPECT_EQ(takes(a_, sec(4), 2), 1);
  EXPECT_THAT(left(), ElementsAre(Left{sec(4) + sec(10) + ms(2), 0}));
}

// ---- who is away ----------------------------------------------------------------------------------------------------

TEST_F(Away, are_those_that_were_alive_when_the_first_that_returns_was_told_last) {
  with({window(30, sec(10))});
  look(b_, sec(3));
  ask(a_, sec(4.2), {.count = 0});
  returns(a_, sec(4.2), sec(9));
  const auto names = value(list_);
  EXPECT_THAT(names, StartsWith("1a " + std::to_string(a_.instant(sec(4.2))) + " 3 "));
  EXPECT_THAT(names, HasSubstr(" b"));
  EXPECT_EQ(names.find(" a"), names.npos) << "who returns is not away";
  EXPECT_EQ(names.find(" c"), names.npos) << "it was seen 3.2 s before that";
}

TEST_F(Away, are_those_too_that_may_have_lost_redis_later) {
  with({window(30, sec(10))});
  look(c_, sec(3.5));
  returns(a_, sec(2), sec(9));
  EXPECT_THAT(value(list_), HasSubstr(" b"));
  EXPECT_THAT(value(list_), HasSubstr(" c"));
}

TEST_F(Away, is_nobody_where_one_returns_that_was_alone) {
  Asker alone(scripts_, "api", "alone", {window(30, sec(10))}, kStart);
  look(alone, sec(1));
  for (const bool hands_in : {false, true}) {
    returns(alone, sec(1), sec(1.5), hands_in);
    EXPECT_EQ(value(list_), "");
  }
  EXPECT_EQ(takes(alone, sec(2)), 30);
  EXPECT_THAT(told_to_all(), IsEmpty());
}

TEST_F(Away, is_nobody_while_nobody_says_that_it_returns) {
  with({window(30, sec(10))});
  EXPECT_EQ(takes(a_, sec(2)), 30);
  EXPECT_EQ(value(list_), "");
}

// ---- what is kept back ----------------------------------------------------------------------------------------------

class AwayFrom : public Away, public testing::WithParamInterface<LimitConfig> {};

TEST_P(AwayFrom, a_count_in_its_open_period_has_a_part_kept_back_of_what_was_left_until_its_owner_calls) {
  with({GetParam()});
  EXPECT_EQ(takes(a_, sec(1.1), 5), 5);
  EXPECT_EQ(takes(b_, sec(1.2), 3), 3);
  returns(a_, sec(1.2), sec(2));
  EXPECT_EQ(takes(a_, sec(2)), 7) << "31 - 8 = 23: a third, rounded up, for each of two";
  EXPECT_GE(answer_.booking.not_before, sec(10));
  EXPECT_EQ(takes(b_, sec(2.1)), 8) << "it calls, and is not away any more";
  EXPECT_EQ(takes(a_, sec(2.2)), 0);
  look(c_, sec(2.3));
  EXPECT_EQ(takes(a_, sec(2.4)), 8);
}

// Departures are granted a horizon ahead.
TEST_F(Away, what_leaves_after_a_period_that_is_about_to_end_has_a_part_kept_back_of_the_whole) {
  with({sliding(31, sec(10))});
  EXPECT_EQ(takes(b_, sec(1)), 31);
  with({sliding(31, sec(10))}, sec(9));
  returns(a_, sec(1), sec(10.98));
  EXPECT_EQ(takes(a_, sec(10.99)), 9) << "at 11.002 s: 31 - 2 · ⌈31 ÷ 3⌉";
}

TEST_P(AwayFrom, a_count_in_a_later_period_has_a_part_kept_back_of_the_whole) {
  const bool slides = GetParam().name == "slidingWindow", counts = GetParam().name == "counter";
  with({GetParam()});
  EXPECT_EQ(takes(a_, sec(1.1), 8), 8);
  if (counts) a_.reset(sec(1.1), 0, "");
  with({GetParam()}, sec(9.5));
  returns(a_, sec(9.5), slides ? sec(18) : sec(9.6));
  if (!slides) {
    EXPECT_EQ(takes(a_, sec(9.7)), 7);
  }
  if (counts) a_.reset(sec(11.2), 0, "");
  EXPECT_EQ(takes(a_, slides ? sec(19.6) : sec(11.3)), 9) << "31 - 2 · ⌈31 ÷ 3⌉";
}

TEST_P(AwayFrom, a_count_has_nothing_kept_back_after_three_seconds) {
  with({GetParam()});
  returns(a_, sec(1), sec(2));
  EXPECT_EQ(takes(a_, sec(5) - 1), 9);
  EXPECT_EQ(takes(a_, sec(5)), 22);
}

TEST_P(AwayFrom, a_count_has_more_kept_back_where_processes_are_more_than_are_named) {
  with({GetParam()});
  a_.know(a_.generation(), 5);
  returns(a_, sec(1), sec(2));
  EXPECT_EQ(takes(a_, sec(2)), 31 - 2 * 7);
}

TEST_P(AwayFrom, a_count_has_what_was_left_noted_before_anything_is_handed_in) {
  with({GetParam()});
  EXPECT_EQ(takes(a_, sec(1.1), 1), 1);
  returns(a_, sec(1.1), sec(2), true);
  const std::string now = std::to_string(a_.instant(sec(2))), start = std::to_string(a_.instant(0));
  std::string state = "1w " + start + " 10 10000000";
  if (GetParam().name == "counter") state = "1c " + start + ".0000 10 " + now + ".0000 0 - 0";
  if (GetParam().name == "slidingWindow") {
    state = "1s";
    for (int i = 0; i < 10; ++i) state += ' ' + now;
  }
  a_.booked_in("");
  ASSERT_EQ(a_.replay(sec(2), "", {state}, "+").items.at(0).text, "open");
  EXPECT_EQ(takes(a_, sec(2.1)), 0) << "10 of each of the three that had 30 left, and the one before";
  look(b_, sec(2.1));
  EXPECT_EQ(takes(a_, sec(2.2)), 10);
}

INSTANTIATE_TEST_SUITE_P(EachCount, AwayFrom,
                         testing::Values(window(31, sec(10)), sliding(31, sec(10)), counter(31, sec(10))),
                         [](const auto& of) { return of.param.name; });

TEST_F(Away, a_second_time_have_kept_back_what_was_left_then) {
  with({sliding(30, sec(5))});
  EXPECT_EQ(takes(a_, sec(1)), 30);
  with({sliding(30, sec(5))}, sec(5.5));
  returns(a_, sec(5.5), sec(5.6));
  EXPECT_EQ(takes(a_, sec(5.6)), 0);
  look(b_, sec(5.7)), look(c_, sec(5.7));
  with({sliding(30, sec(5))}, sec(6.5));
  returns(a_, sec(6.5), sec(6.6));
  EXPECT_EQ(takes(a_, sec(6.7)), 10) << "of 30 that were left, b and c may take 10 each";
}

TEST_F(Away, from_a_pacer_leaves_the_others_their_part_of_its_rate) {
  with({pacer(30)});
  returns(a_, sec(1), sec(2));
  EXPECT_EQ(takes(a_, sec(2)), 1);
  EXPECT_EQ(answer_.booking.not_before, sec(2) + ms(100)) << "a third of 30/s";
  look(b_, sec(2) + ms(1));
  EXPECT_EQ(ask(a_, sec(2) + ms(2), {}).booking.departures.at(0).at, sec(2) + ms(50)) << "two thirds";
  look(c_, sec(2) + ms(3));
  EXPECT_EQ(ask(a_, sec(2) + ms(50), {}).booking.departures.at(0).at, sec(2) + ms(50) + 33'334) << "all";
}

TEST_F(Away, from_a_pacer_leaves_the_others_their_part_of_its_burst) {
  with({pacer(3, 8)});
  returns(a_, sec(1), sec(2));
  EXPECT_EQ(takes(a_, sec(2)), 1 + 8 / 3);
}

TEST_F(Away, from_a_bucket_leaves_the_others_their_part_of_its_tokens) {
  with({bucket(9, 2, sec(1))});
  returns(a_, sec(1), sec(2));
  EXPECT_EQ(takes(a_, sec(2)), 3);
  EXPECT_EQ(answer_.booking.not_before, sec(5)) << "a third as often";
  EXPECT_EQ(takes(b_, sec(2) + ms(1)), 3);
  look(c_, sec(2) + ms(2));
  EXPECT_EQ(takes(a_, sec(2) + ms(3)), 3);
  EXPECT_EQ(answer_.booking.not_before, sec(3));
}

TEST_F(Away, where_all_are_is_a_moment_for_nobody) {
  with({pacer(30), bucket(9, 2, sec(1))});
  returns(a_, sec(1), sec(2), true);
  a_.was_away(sec(1), true);
  EXPECT_EQ(takes(a_, sec(2)), 0) << "it has yet to hand in, and the others are away";
  EXPECT_EQ(answer_.booking.not_before, sec(5));
}

TEST_F(Away, a_weight_that_does_not_fit_waits_until_they_are_back) {
  with({window(10, sec(10))});
  returns(a_, sec(1), sec(2));
  EXPECT_EQ(takes(a_, sec(2), 1, 3), 0) << "10 - 2 · 4 = 2";
  EXPECT_EQ(answer_.booking.not_before, sec(5)) << "it may be that nobody comes";
  EXPECT_EQ(takes(a_, sec(2), 100, 2), 2);
  look(b_, sec(2.1));
  EXPECT_EQ(takes(a_, sec(2.2), 100, 3), 3) << "10 - 4 - 2 = 4";
  look(c_, sec(2.3));
  EXPECT_EQ(takes(a_, sec(2.4), 100, 3), 3);
}

TEST_F(Away, a_limit_of_a_group_has_its_part_kept_back_too) {
  with({per_group(window(31, sec(10)))});
  const auto takes = [&](Asker& who, Time now, const char* group, std::size_t count) {
    const auto answer = ask(who, now, {.group = group, .count = count});
    who.cancel_wait(now, group, true);
    return answer.booking.departures.size();
  };
  EXPECT_EQ(takes(b_, sec(1.1), "g", 8), 8U);
  returns(a_, sec(1.1), sec(2));
  EXPECT_EQ(takes(a_, sec(2), "g", 100), 7U);
  EXPECT_EQ(takes(a_, sec(2), "h", 100), 9U) << "nothing is known of it: its parts are of the whole";
}

// ---- who hands in, who is told --------------------------------------------------------------------------------------

TEST_F(Away, is_one_that_kept_to_its_part_until_it_has_handed_in) {
  with({window(30, sec(10))});
  returns(a_, sec(1), sec(2), true);
  returns(b_, sec(1), sec(2.1));
  EXPECT_EQ(takes(b_, sec(2.1)), 10);
  a_.was_away(sec(1), true);
  look(a_, sec(2.2));
  EXPECT_THAT(value(list_), HasSubstr(" a")) << "it has not handed in yet";
  look(c_, sec(2.3));
  EXPECT_EQ(takes(b_, sec(2.3)), 10);
  EXPECT_EQ(a_.replay(sec(2.4), "", {""}, "0").items.at(0).text, "open");
  EXPECT_THAT(value(list_), HasSubstr(" a")) << "more is to come";
  EXPECT_EQ(a_.replay(sec(2.5), "", {""}, "+").items.at(0).text, "open");
  EXPECT_EQ(value(list_), "");
  EXPECT_EQ(takes(b_, sec(2.6)), 10);
}

TEST_F(Away, all_are_told_once_to_come_back) {
  with({window(30, sec(10))});
  EXPECT_THAT(told_to_all(), IsEmpty());
  returns(a_, sec(1), sec(2));
  EXPECT_THAT(told_to_all(), ElementsAre("api back"));
  returns(b_, sec(1), sec(2.1));
  EXPECT_THAT(told_to_all(), IsEmpty());
}

TEST_F(Away, all_are_told_that_they_have_gathered_where_somebody_was_held_up) {
  with({window(30, sec(10))});
  returns(a_, sec(1), sec(2));
  EXPECT_EQ(takes(a_, sec(2), 11), 10);
  EXPECT_EQ(takes(a_, sec(2)), 0);
  look(b_, sec(2.1));
  told_to_all();
  look(c_, sec(2.2));
  EXPECT_THAT(told_to_all(), ElementsAre("api gathered"));
  look(c_, sec(2.3)), look(a_, sec(2.4));
  EXPECT_THAT(told_to_all(), IsEmpty());
}

TEST_F(Away, nobody_is_told_that_they_have_gathered_where_nobody_was_held_up) {
  with({window(30, sec(10))});
  returns(a_, sec(1), sec(2));
  EXPECT_EQ(takes(a_, sec(2), 10), 10);
  look(b_, sec(2.1)), look(c_, sec(2.2));
  EXPECT_EQ(value(list_), "");
  EXPECT_THAT(told_to_all(), ElementsAre("api back"));
}

TEST_F(Away, nobody_is_told_that_they_have_gathered_where_the_limit_itself_held_all_up) {
  with({window(30, sec(10))});
  EXPECT_EQ(takes(b_, sec(1.5)), 30);
  returns(a_, sec(1.5), sec(2));
  EXPECT_EQ(takes(a_, sec(2)), 0);
  look(b_, sec(2.1)), look(c_, sec(2.2));
  EXPECT_THAT(told_to_all(), ElementsAre("api back"));
}

TEST_F(Away, nobody_is_told_that_they_have_gathered_where_a_pause_held_all_up) {
  with({window(30, sec(10))});
  returns(a_, sec(1), sec(2));
  a_.pause(sec(2), "", sec(1));
  EXPECT_EQ(takes(a_, sec(2)), 0);
  look(b_, sec(2.1)), look(c_, sec(2.2));
  EXPECT_THAT(told_to_all(), ElementsAre("api back"));
}

TEST_F(Away, all_are_told_that_they_have_gathered_where_a_slower_limit_held_somebody_up) {
  for (const auto& limit : {bucket(9, 2, sec(10)), pacer(0.1)}) {
    with({limit}, answer_.now + sec(1));
    const Time now = answer_.now + sec(1);
    returns(a_, answer_.now, now);
    EXPECT_GT(takes(a_, now), 0);
    EXPECT_EQ(takes(a_, now), 0);
    EXPECT_EQ(answer_.booking.not_before, now + sec(30));
    told_to_all();
    look(b_, now + ms(1)), look(c_, now + ms(1));
    EXPECT_THAT(told_to_all(), ElementsAre("api gathered")) << limit.name;
  }
}

TEST_F(Away, all_are_told_that_nothing_is_kept_back_any_more_after_three_seconds) {
  with({window(30, sec(10))});
  returns(a_, sec(1), sec(2));
  told_to_all();
  look(a_, sec(5) - 1);
  EXPECT_THAT(told_to_all(), IsEmpty());
  look(a_, sec(5));
  EXPECT_THAT(told_to_all(), ElementsAre("api gathered"));
  look(a_, sec(5) + 1);
  EXPECT_THAT(told_to_all(), IsEmpty());
}

// ---- what is stored -------------------------------------------------------------------------------------------------

TEST_F(Away, under_a_foreign_value_is_told_as_such_and_does_not_last) {
  const std::vector<std::vector<std::string_view>> foreign{{"SET", list_, "hello"},
                                                           {"SET", list_, "1a 5 3 1"},
                                                           {"SET", list_, "1a 5 3 2 b c"},
                                                           {"SET", list_, "1a 99999999999999999999 3 0 b"},
                                                           {"RPUSH", list_, "b"}};
  with({window(30, sec(10))});
  for (const auto& command : foreign) {
    returns(a_, answer_.now, answer_.now + ms(10));
    server_.run({"DEL", list_});
    server_.run(command);
    EXPECT_THAT(a_.ask(answer_.now, {}).status, StartsWith("CORRUPT " + list_ + " ")) << command[2];
    EXPECT_THAT(a_.replay(answer_.now, "", {""}, "+").text, StartsWith("CORRUPT " + list_ + " ")) << command[2];
    EXPECT_GT(ttl(list_), 0) << command[2];
    EXPECT_EQ(server_.run({"EXISTS", list_}).integer, 1) << "it is not ours to overwrite";
    const Time later = answer_.now + sec(3);
    server_.run({"DEL", list_});
    look(a_, later), look(b_, later), look(c_, later);
  }
}

TEST_F(Away, under_a_foreign_value_beside_a_limit_is_told_as_such) {
  with({window(30, sec(10))});
  returns(a_, sec(1), sec(2));
  for (const std::string_view text : {"hello", "1a 5", "1a 5 x"}) {
    server_.run({"SET", a_.key("window:away"), text});
    EXPECT_THAT(a_.ask(sec(2), {}).status, StartsWith("CORRUPT ")) << text;
    EXPECT_EQ(value(a_.key("window:away")), text);
  }
  EXPECT_EQ(takes(a_, sec(5)), 30) << "when nobody is away it is not looked at";
}

TEST_F(Away, without_their_list_are_forgotten) {
  with({window(30, sec(10))});
  returns(a_, sec(1), sec(2));
  server_.run({"DEL", list_});
  EXPECT_EQ(takes(a_, sec(2)), 30);
}

TEST_F(Away, all_that_is_stored_goes) {
  with({window(30, sec(10)), pacer(100, 50), bucket(90, 2, sec(1)), counter(90, sec(9)), sliding(90, sec(7))});
  const auto check = [&] {
    for (const auto& item : server_.run({"KEYS", "*"}).items) {
      EXPECT_GT(ttl(item.text), 0) << item.text;
      if (item.text.ends_with(":away")) {
        EXPECT_LE(ttl(item.text), 1'000 * (3'000 + 1'000)) << item.text << ", which clock.lua keeps for longer";
      }
    }
  };
  returns(a_, sec(1), sec(2), true);
  EXPECT_GT(takes(b_, sec(2)), 0);
  check();
  EXPECT_EQ(server_.run({"KEYS", "*:away"}).items.size(), 4U) << "the list, and what was left of three counts";
  ASSERT_EQ(a_.replay(sec(2.1), "", {"", "", "", "", ""}, "+").items.at(0).text, "open");
  look(c_, sec(2.2));
  EXPECT_EQ(value(list_), "");
  check();
}

}  // namespace
}  // namespace penstock::lua
