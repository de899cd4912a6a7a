// SPDX-License-Identifier: Apache-2.0
// The line, one by one: who waits stands in it, is given its part of what passes, has no claim when it does not come,
// and is told when one before it has left. And what several processes may do to one upstream: pause it, reset it,
// disagree about it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lua/asker.h"
#include "lua/post.h"
#include "support/scenario.h"

namespace penstock::lua {
namespace {

using namespace scenarios;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class Line : public testing::Test {
 protected:
  Asker process(const std::string& who, std::vector<LimitConfig> limits) {
    return {scripts_, "api", who, std::move(limits), kStart};
  }
  static std::vector<Time> times(const Answer& answer) {
    EXPECT_EQ(answer.status, "ok");
    std::vector<Time> all;
    for (const auto& departure : answer.booking.departures) all.push_back(departure.at);
    return all;
  }
  std::string value(const std::string& key) { return server_.run({"GET", key}).text; }

  test::RedisServer server_;
  Scripts scripts_{server_};
};

TEST_F(Line, is_told_as_the_limit_spaces_those_in_it) {
  Asker a = process("a", {pacer(10)}), b = process("b", {pacer(10)}), c = process("c", {pacer(10)});
  EXPECT_THAT(times(a.ask(0, {}, true)), ElementsAre(0));
  EXPECT_EQ(a.ask(ms(1), {}, true).booking.not_before, ms(100));
  EXPECT_EQ(b.ask(ms(2), {}, true).booking.not_before, ms(200));
  const Answer third = c.ask(ms(3), {}, true);
  EXPECT_EQ(third.booking.not_before, ms(300));
  EXPECT_EQ(third.booking.ask_again, ms(275));
  EXPECT_EQ(b.ask(ms(40), {}).booking.not_before, ms(200)) << "who asks again keeps its place";
}
TEST_F(Line, limits_and_pauses_are_nothing_to_who_goes_on_after_a_rest) {
  Asker a = process("a", {pacer(10)}), b = process("b", {pacer(10)});
  a.ask(0, {}, true);
  EXPECT_EQ(a.ask(ms(1), {}, true).booking.not_before, ms(100));
  a.pause(ms(2), {}, ms(500));
  const std::string counted = value(a.key_of(0, {}));
  EXPECT_THAT(times(b.ask(ms(3), {.weight = 0})), ElementsAre(ms(3)));
  EXPECT_EQ(value(a.key_of(0, {})), counted) << "nothing is counted for it";
  EXPECT_EQ(b.ask(ms(4), {}, true).booking.not_before, ms(502)) << "whoever departs is held";
}
/// A pacer by its next free moment and its burst, a window by its begin and what left in it.
TEST_F(Line, tells_how_many_others_wait_what_they_had_less_and_how_the_limits_stand) {
  const std::vector<LimitConfig> limits{pacer(10, 2), window(100, sec(10))};
  Asker a = process("a", limits), b = process("b", limits);
  EXPECT_THAT(a.ask(0, {.count = 2}, true).standing, IsEmpty()) << "nobody waits";
  const Answer alone = a.ask(ms(1), {.count = 9}, true);
  EXPECT_THAT(times(alone), ElementsAre(ms(1)));
  const auto at = [&](Time here) { return a.instant(here); };
  const Time begin = at(0) / sec(10) * sec(10);
  EXPECT_THAT(alone.standing, ElementsAre(0, 0, 0, at(ms(101)), 2, 1, begin, 3));
  b.ask(ms(2), {.count = 9}, true);
  EXPECT_THAT(a.ask(ms(60), {.count = 9}).standing, ElementsAre(1, 1, 0, at(ms(101)), 2, 1, begin, 3))
      << "of what it had alone one counts";
  const Answer granted = b.ask(ms(61), {.count = 9});
  EXPECT_THAT(times(granted), ElementsAre(ms(101)));
  EXPECT_THAT(granted.standing, ElementsAre(1, 0, 0, at(ms(201)), 2, 1, begin, 4));
  EXPECT_EQ(b.ask(ms(500), {.count = 9}).standing.at(0), 1) << "one that is late";
  EXPECT_EQ(b.ask(ms(1'500), {.count = 9}).standing.at(0), 0) << "is forgotten after a second";
}
/// Three units are free, too few for b's heavy request. Once a has one of them, another would put it two ahead of b.
TEST_F(Line, tells_one_that_is_ahead_to_come_when_the_others_can_have_as_much) {
  const std::vector<LimitConfig> limits{sliding(23, sec(100))};
  Asker a = process("a", limits), b = process("b", limits), c = process("c", limits);
  EXPECT_THAT(times(c.ask(0, {.weight = 20}, true)), SizeIs(1));
  EXPECT_GE(b.ask(ms(1), {.weight = 20}, true).booking.not_before, sec(100));
  EXPECT_THAT(times(a.ask(ms(2), {}, true)), SizeIs(1));
  const Answer ahead = a.ask(ms(3), {});
  EXPECT_THAT(times(ahead), IsEmpty());
  EXPECT_GE(ahead.booking.not_before, sec(100));
  EXPECT_EQ(ahead.booking.ask_again, ms(3) + sec(1)) << "not every 5 ms, but b may want less by then";
  b.cancel_wait(ms(4), {}, false);
  EXPECT_THAT(times(a.ask(ahead.booking.ask_again, {})), SizeIs(1));
}
TEST_F(Line, is_an_estimate_and_nobodys_booking) {
  Asker a = process("a", {pacer(10)}), b = process("b", {pacer(10)});
  a.ask(0, {}, true);
  EXPECT_EQ(a.ask(ms(1), {}, true).booking.not_before, ms(100));
  EXPECT_THAT(times(b.ask(ms(60), {}, true)), ElementsAre(ms(100))) << "a is not here, and has had no less";
  EXPECT_EQ(a.ask(ms(80), {}).booking.not_before, ms(200));
  EXPECT_EQ(b.ask(ms(101), {}).booking.not_before, ms(300)) << "a comes first, which has had less";
  EXPECT_THAT(times(a.ask(ms(155), {})), ElementsAre(ms(200)));
  EXPECT_THAT(times(b.ask(ms(255), {})), ElementsAre(ms(300)));
}
TEST_F(Line, gives_no_claim_to_one_that_does_not_come_and_forgets_it_after_a_second) {
  Asker a = process("a", {pacer(10)}), b = process("b", {pacer(10)});
  a.ask(0, {}, true);
  b.ask(ms(1), {}, true);
  EXPECT_EQ(a.ask(ms(2), {}, true).booking.not_before, ms(200));
  EXPECT_THAT(times(b.ask(ms(60), {})), ElementsAre(ms(100)));
  EXPECT_THAT(times(b.ask(ms(204), {})), IsEmpty()) << "a may be under way";
  EXPECT_THAT(times(b.ask(ms(206), {})), ElementsAre(ms(206)));
  EXPECT_EQ(b.ask(ms(210), {}).booking.not_before, ms(306));
  EXPECT_THAT(value(a.key("head")), testing::HasSubstr(" a/"));
  b.ask(sec(1) + ms(201), {.count = 2});
  EXPECT_THAT(value(a.key("head")), testing::Not(testing::HasSubstr(" a/")));
}
TEST_F(Line, shares_what_passes_by_what_each_has_had) {
  Asker a = process("a", {window(10, sec(1))}), b = process("b", {window(10, sec(1))});
  EXPECT_THAT(times(a.ask(0, {.count = 100}, true)), SizeIs(10)) << "alone it takes all";
  EXPECT_THAT(times(b.ask(ms(1), {.count = 100}, true)), IsEmpty());
  EXPECT_THAT(times(a.ask(ms(975), {.count = 90})), SizeIs(4)) << "the rest of what it has had counts as one";
  EXPECT_THAT(times(b.ask(ms(976), {.count = 100})), SizeIs(6));
}
TEST_F(Line, shares_no_more_than_each_wants) {
  Asker a = process("a", {window(10, sec(1))}), b = process("b", {window(10, sec(1))});
  a.ask(0, {.count = 100}, true);
  EXPECT_THAT(times(b.ask(ms(1), {.count = 1, .more = 1}, true)), IsEmpty());
  EXPECT_THAT(times(a.ask(ms(975), {.count = 90})), SizeIs(8)) << "b wants two, for its two lanes";
  EXPECT_THAT(times(b.ask(ms(976), {.count = 2})), SizeIs(2));
}
TEST_F(Line, has_one_ask_again_in_time_though_it_was_granted_some_where_others_want) {
  Asker a = process("a", {pacer(100)}), b = process("b", {pacer(100)});
  const Answer alone = a.ask(0, {.count = 10}, true);
  EXPECT_THAT(times(alone), SizeIs(6));
  EXPECT_EQ(alone.booking.ask_again, 0) << "when its last departure is near";
  const Answer second = b.ask(ms(1), {.count = 10}, true);
  EXPECT_EQ(second.booking.not_before, ms(60));
  EXPECT_EQ(second.booking.ask_again, ms(35));
  const Answer third = b.ask(ms(35), {.count = 10});
  EXPECT_THAT(times(third), ElementsAre(ms(60), ms(70), ms(80)));
  EXPECT_EQ(third.booking.not_before, ms(120)) << "a may have three before it is ahead of b";
  EXPECT_EQ(third.booking.ask_again, ms(95));
}
TEST_F(Line, is_entered_by_no_process_that_only_looks) {
  Asker a = process("a", {pacer(10)}), b = process("b", {pacer(10)});
  a.ask(0, {}, true);
  a.ask(ms(1), {}, true);
  const std::string head = value(a.key("head"));
  EXPECT_EQ(b.ask(ms(1), {.count = 0}, true).status, "ok");
  EXPECT_EQ(value(a.key("head")), head);
}
TEST_F(Line, that_one_leaves_moves_up_those_told_of_a_later_moment_and_tells_them) {
  Post post(server_);
  for (const auto* who : {"a", "b", "c"}) post.subscribe(who);
  Asker a = process("a", {pacer(10)}), b = process("b", {pacer(10)}), c = process("c", {pacer(10)});
  a.ask(0, {}, true);
  b.ask(ms(1), {}, true);
  a.ask(ms(2), {}, true);
  c.ask(ms(3), {}, true);
  EXPECT_EQ(a.cancel_wait(ms(4), "", false).text, "ok");
  EXPECT_THAT(post.take(), ElementsAre(Post::Message{"c", "api line"})) << "b is before it";
  EXPECT_EQ(c.ask(ms(5), {}).booking.not_before, ms(200));
  EXPECT_EQ(a.cancel_wait(ms(6), "", false).text, "ok") << "twice is once";
  EXPECT_THAT(post.take(), IsEmpty());
}
// What a took was reserved in vain: b need not wait for a refill.
TEST_F(Line, calls_those_told_of_a_later_moment_when_a_cost_was_less_than_reserved) {
  Post post(server_);
  for (const auto* who : {"a", "b"}) post.subscribe(who);
  const std::vector<LimitConfig> limits{of_tokens(bucket(10, 1, sec(1)))};
  Asker a = process("a", limits), b = process("b", limits);
  const Answer first = a.ask(0, {.cost = 10}, true);
  ASSERT_THAT(times(first), ElementsAre(0));
  EXPECT_EQ(b.ask(ms(1), {.cost = 8}, true).booking.not_before, sec(1));
  flow::Departure departure = first.booking.departures.front();
  EXPECT_EQ(a.settle(ms(2), {}, departure, 12).text, "ok");
  EXPECT_THAT(post.take(), IsEmpty()) << "a debt";
  departure.cost = 12;
  EXPECT_EQ(a.settle(ms(3), {}, departure, 1).text, "ok");
  EXPECT_THAT(post.take(), ElementsAre(Post::Message{"b", "api line"}));
  EXPECT_EQ(b.ask(ms(4), {.cost = 8}).booking.not_before, 0) << "12 less 10, as one refill may have paid one of 11";
  a.know("1-other", 2);
  EXPECT_EQ(a.settle(ms(5), {}, departure, 1).text, "stale");
}
TEST_F(Line, of_a_group_touches_nothing_of_the_upstream) {
  Post post(server_);
  post.subscribe("b");
  const std::vector<LimitConfig> limits{per_group(bucket(1, 1, sec(1))), pacer(100)};
  Asker a = process("a", limits), b = process("b", limits);
  EXPECT_THAT(times(a.ask(0, {.group = "g"}, true)), ElementsAre(0));
  const std::string before = value(a.key("pacer"));
  const Answer first = a.ask(ms(20), {.group = "g"}, true);
  EXPECT_EQ(first.booking.scope, flow::Booking::Scope::group);
  EXPECT_EQ(first.booking.not_before, sec(1));
  EXPECT_EQ(first.booking.ask_again, sec(1) - ms(4));
  EXPECT_EQ(b.ask(ms(21), {.group = "g"}, true).booking.not_before, sec(2));
  EXPECT_EQ(value(a.key("pacer")), before);
  EXPECT_THAT(times(b.ask(ms(22), {.group = "other"})), ElementsAre(ms(22))) << "others go on";
  EXPECT_EQ(a.cancel_wait(ms(23), "g", true).text, "ok");
  EXPECT_THAT(post.take(), ElementsAre(Post::Message{"b", "api line g"}));
  EXPECT_THAT(times(b.ask(sec(1) - ms(4), {.group = "g"})), ElementsAre(sec(1)));
  EXPECT_TRUE(server_.run({"GET", a.key("line", "g")}).kind == test::RedisReply::Kind::none) << "nobody waits";
}

/// In a line whose key begins with @ lanes of all groups stand, and the place of a process is theirs together.
TEST_F(Line, that_groups_share_has_no_place_for_one_that_is_paused) {
  Time at = 0;
  for (const bool with_wide : {false, true}) {
    std::vector<LimitConfig> limits{per_group(bucket(1, 1, sec(1)))};
    if (with_wide) limits.push_back(pacer(100));
    for (const std::string group : {"@route", "group"}) {
      at += sec(1'000);
      Asker a = process("a", limits), b = process("b", limits);
      EXPECT_THAT(times(b.ask(at, {.group = group}, true)), ElementsAre(at));
      EXPECT_EQ(b.ask(at + ms(1), {.group = group}, true).booking.not_before, at + sec(1));
      const std::string line = value(a.key("line", group));
      EXPECT_NE(line, "");
      a.pause(at + ms(2), group, sec(10));
      const Answer answer = a.ask(at + ms(3), {.group = group}, true);
      EXPECT_EQ(answer.booking.scope, flow::Booking::Scope::group);
      EXPECT_EQ(answer.booking.limited_by, flow::kPause);
      EXPECT_GE(answer.booking.not_before, at + sec(10));
      if (group == "@route") {
        EXPECT_EQ(answer.booking.ask_again, answer.booking.not_before);
        EXPECT_EQ(value(a.key("line", group)), line) << "as it was";
      } else {
        EXPECT_NE(value(a.key("line", group)), line);
      }
    }
  }
}
/// Many processes may each expect a departure a day later than the one before. Without the head nothing would be known
/// that was spent; without a line nothing is lost.
TEST_F(Line, is_no_reason_for_the_head_to_stay) {
  const std::vector<LimitConfig> limits{per_group(bucket(1, 1, sec(86'400)))};
  Asker a = process("a", limits);
  EXPECT_THAT(times(a.ask(0, {.group = "g"}, true)), ElementsAre(0));
  const auto lives = [&] { return server_.run({"PTTL", a.key("head")}).integer; };
  const auto before = lives();
  for (int n = 1; n < 5; ++n) {
    Asker one = process(std::to_string(n), limits);
    EXPECT_EQ(one.ask(ms(n), {.group = "g"}, true).booking.not_before, n * sec(86'400));
  }
  EXPECT_LE(lives(), before + 10'000);
}

TEST_F(Line, a_pause_that_one_process_learns_holds_all_of_them) {
  Asker a = process("a", {pacer(100)}), b = process("b", {pacer(100)});
  a.ask(0, {});
  a.pause(ms(5), "", sec(2));
  const Answer told = b.ask(ms(6), {});
  EXPECT_EQ(told.booking.limited_by, kPause);
  EXPECT_EQ(told.booking.not_before, sec(2) + ms(5));
  EXPECT_THAT(times(b.ask(sec(2), {.count = 2})), ElementsAre(sec(2) + ms(5), sec(2) + ms(15)));
}

TEST_F(Line, a_pause_that_is_shortened_ends_then_and_none_begins) {
  Asker a = process("a", {pacer(100)}), b = process("b", {pacer(100)});
  a.ask(0, {});
  EXPECT_EQ(a.shorten_pause(ms(1), "", sec(9)).integer, 0) << "there is none";
  a.pause(ms(5), "", sec(2));
  a.shorten_pause(ms(6), "", sec(9));
  EXPECT_EQ(b.ask(ms(7), {}).booking.not_before, sec(2) + ms(5)) << "it is shorter";
  a.shorten_pause(ms(10), "", ms(500));
  EXPECT_EQ(b.ask(ms(11), {}).booking.not_before, ms(510));
  a.shorten_pause(ms(20), "", 0);
  EXPECT_THAT(times(b.ask(ms(21), {})), ElementsAre(ms(21)));
  EXPECT_TRUE(server_.run({"GET", a.key("pause", "")}).kind == test::RedisReply::Kind::none);
}

TEST_F(Line, a_counter_is_reset_by_one_leader_and_no_deposed_one) {
  Post post(server_);
  post.subscribe("b");
  Asker a = process("a", {counter(2, sec(4))}), b = process("b", {counter(2, sec(4))});
  const auto reset = [&](Asker& who, Time now) { return who.reset(now, 0, "").items.at(0).text; };
  a.ask(ms(1), {.count = 2}, true);  // the period began at 0
  EXPECT_EQ(reset(a, ms(10)), "early");
  EXPECT_THAT(times(b.ask(ms(20), {}, true)), IsEmpty());
  EXPECT_EQ(reset(b, sec(4)), "deposed") << "a leads";
  EXPECT_EQ(reset(a, sec(4)), "ok");
  EXPECT_THAT(post.take(), ElementsAre(Post::Message{"b", "api line"}));
  EXPECT_THAT(times(b.ask(sec(4), {.count = 2})), ElementsAre(sec(4) + ms(1), sec(4) + ms(1)));
  EXPECT_EQ(reset(a, sec(8) - 1), "early") << "never sooner than a period after the one before";
  EXPECT_EQ(reset(b, sec(8) + ms(500)), "deposed");
  EXPECT_EQ(reset(b, sec(9) + ms(1)), "ok") << "a has not come: another takes over within a period";
  EXPECT_EQ(reset(a, sec(9) + ms(2)), "deposed");
  EXPECT_EQ(reset(a, sec(13) + ms(2)), "deposed");
}
TEST_F(Line, a_reset_takes_effect_after_the_last_departure_that_is_booked) {
  Asker a = process("a", {counter(2, ms(100)), pacer(25)});
  EXPECT_THAT(times(a.ask(0, {.count = 2})), ElementsAre(0, ms(40)));
  EXPECT_EQ(a.reset(ms(99), 0, "").items.at(0).text, "ok");
  EXPECT_THAT(times(a.ask(ms(99), {.count = 2})), ElementsAre(ms(100), ms(140)));
  EXPECT_EQ(a.reset(ms(199), 0, "").items.at(2).integer, static_cast<std::int64_t>(kStart) + ms(299));
  EXPECT_THAT(times(a.ask(ms(199), {.count = 2})), ElementsAre(ms(200), ms(240)));
  EXPECT_EQ(a.reset(ms(230), 0, "").items.at(0).text, "early");
}
TEST_F(Line, a_dead_leaders_counter_does_not_stand_still) {
  Asker a = process("a", {counter(1, sec(1))}), b = process("b", {counter(1, sec(1))});
  a.ask(ms(1), {});
  a.reset(ms(2), 0, "");  // leads, and is heard of no more
  EXPECT_THAT(times(b.ask(ms(1'100), {})), IsEmpty());
  const auto reply = b.reset(ms(1'100), 0, "");
  EXPECT_EQ(reply.items.at(0).text, "deposed");
  const Time again = b.here(reply.items.at(2).integer);
  EXPECT_LE(again, sec(2)) << "within a period of when the reset was due";
  EXPECT_EQ(b.reset(again, 0, "").items.at(0).text, "ok");
  EXPECT_THAT(times(b.ask(again, {})), ElementsAre(again + ms(1)));
}

TEST_F(Line, two_configurations_at_once_are_as_loose_as_the_looser) {
  Asker strict = process("strict", {sliding(3, sec(1))}), loose = process("loose", {sliding(6, sec(1))});
  std::vector<Time> all;
  for (Time now = 0; now < sec(6); now += ms(2)) {
    for (Asker* who : {&strict, &loose}) {
      for (Time at : times(who->ask(now, {.count = 2}))) all.push_back(at);
    }
  }
  std::ranges::sort(all);
  for (std::size_t i = 6; i < all.size(); ++i) EXPECT_GE(all[i] - all[i - 6], sec(1)) << "the " << i << "th";
  EXPECT_GE(all.size(), 33U);
}
TEST_F(Line, that_is_not_ours_is_reported) {
  Asker a = process("a", {pacer(10)});
  a.ask(0, {});
  const std::string head = value(a.key("head"));
  for (const char* garbage : {" who", " a/1/2", " a/1/2/3", " a/1/2/3/4/5", " a/1/2/3/x", " a/1/2/x/4", " //1/1/1"}) {
    server_.run({"SET", a.key("head"), head + garbage});
    EXPECT_THAT(a.ask(ms(1), {}).status, testing::StartsWith("CORRUPT " + a.key("head"))) << garbage;
  }
}
TEST_F(Line, lets_a_heavy_one_through_that_has_had_no_more_than_others) {
  Asker a = process("a", {bucket(20, 10, ms(10))}), b = process("b", {bucket(20, 10, ms(10))});
  EXPECT_THAT(times(a.ask(0, {.count = 200}, true)), SizeIs(70));
  EXPECT_THAT(times(b.ask(ms(1), {.count = 3, .weight = 20}, true)), IsEmpty());
  EXPECT_THAT(times(b.ask(ms(35), {.count = 3, .weight = 20})), ElementsAre(ms(70)));
}

}  // namespace
}  // namespace penstock::lua
