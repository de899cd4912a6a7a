// SPDX-License-Identifier: Apache-2.0
// Bookers of several processes that share limits through a real Redis.
#include <gmock/gmock.h>

#include <ranges>

#include "flow/group_hash.h"
#include "redis/in_time.h"
#include "redis/limiter_fixture.h"
#include "support/redis_server.h"

namespace penstock::redis {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class LimiterTest : public SharedLimiterTest {
 protected:
  bool has_key(std::string_view key) {
    return run_.run_until([&] { return server_.run({"EXISTS", key}).integer == 1; });
  }
  bool both_listen() { return all_listen(2); }
  /// The sliding window in Redis, whose times ascend, has as many departures, none earlier than these.
  bool counts_as_late_as(std::string_view key, const std::deque<flow::Departure>& departures) {
    std::vector<std::int64_t> expected, stored;
    for (const auto& departure : departures) expected.push_back(departure.in_redis);
    for (const auto& time : server_.run({"LRANGE", key, "1", "-1"}).items) stored.push_back(std::stoll(time.text));
    std::ranges::sort(expected);
    return std::ranges::equal(stored, expected, std::ranges::greater_equal());
  }
  flow::Time now() const { return run_.loop.now(); }
};

LimitConfig window(int reservoir, Duration interval) {
  return {.kind = WindowConfig{.reservoir = reservoir, .interval = interval}, .name = "window"};
}
LimitConfig sliding(int max, Duration interval) {
  return {.kind = SlidingWindowConfig{.max = max, .interval = interval}, .name = "sliding"};
}
LimitConfig of_group(LimitConfig limit) {
  limit.per = LimitConfig::Per::group;
  return limit;
}
LimitConfig own(LimitConfig limit) {
  limit.shared = false;
  return limit;
}

TEST_F(LimiterTest, lets_go_at_the_rate_and_says_what_made_requests_wait) {
  const auto a = desk({pacer(100)});
  a->arrive(20);
  ASSERT_TRUE(took_off(*a, 20));
  const auto times = all_times(*a);
  EXPECT_GE(times.back() - times.front(), 19 * 10'000 - clock_error(*a));
  EXPECT_TRUE(in_time(19 * 10'000 + 20'000, times.front(), times.back()));
  EXPECT_EQ(a->took_off().front().limited_by, flow::kNoLimit);
  EXPECT_EQ(a->took_off().back().limited_by, 0);
}

TEST_F(LimiterTest, gives_each_group_its_own_limit) {
  const auto a = desk({of_group(pacer(10))}), b = desk({of_group(pacer(10))});
  const auto since = now();
  a->arrive(5, "one");
  b->arrive(5, "one");
  a->arrive(5, "two");
  ASSERT_TRUE(run_.run_until([&] { return a->took_off().size() == 10 && b->took_off().size() == 5; }));
  std::vector<flow::Time> ones, twos;
  for (const auto* each : {a.get(), b.get()}) {
    for (const auto& one : each->took_off()) (one.group == "one" ? ones : twos).push_back(one.at);
  }
  std::ranges::sort(ones);
  EXPECT_GE(ones.back() - since, 9 * 100'000 - clock_error(*a, *b));
  EXPECT_GE(twos.back() - since, 4 * 100'000 - clock_error(*a));
  EXPECT_TRUE(in_time(4 * 100'000 + 50'000, twos.front(), twos.back()));
}

TEST_F(LimiterTest, keeps_groups_out_of_sight) {
  const auto a = desk({of_group(pacer(10)), pacer(1000)});
  a->arrive(3, "a secret token");
  ASSERT_TRUE(took_off(*a, 3));
  for (const auto& key : server_.run({"KEYS", "*"}).items) EXPECT_THAT(key.text, testing::Not(HasSubstr("secret")));
}

TEST_F(LimiterTest, keeps_to_limits_of_its_own_besides_the_shared_ones) {
  const auto a = desk({own(pacer(50)), window(1000, 1s)});
  a->arrive(15);
  ASSERT_TRUE(took_off(*a, 15));
  const auto times = all_times(*a);
  EXPECT_GE(times.back() - times.front(), 14 * 20'000 - clock_error(*a));
  EXPECT_TRUE(in_time(14 * 20'000 + 20'000, times.front(), times.back()));
  EXPECT_EQ(a->took_off().back().limited_by, 0);
}

TEST_F(LimiterTest, keeps_to_limits_of_its_own_where_many_lanes_ask_at_once) {
  for (const LimitConfig::Kind& kind : {LimitConfig::Kind(SlidingWindowConfig{.max = 3, .interval = 20s}),
                                        LimitConfig::Kind(SemaphoreConfig{.capacity = 3})}) {
    const auto a = desk({own({.kind = kind, .name = "own"}), window(1000, 1s)});
    a->fly_on();
    for (int i = 0; i < 9; ++i) a->arrive(1, flow::LaneKey("group " + std::to_string(i)));
    ASSERT_TRUE(took_off(*a, 3));
    run_.run_for(kSecond / 10);
    EXPECT_THAT(a->took_off(), SizeIs(3)) << limit_key(kind);
  }
}

TEST_F(LimiterTest, keeps_to_the_stricter_of_a_shared_limit_and_its_own) {
  const auto a = desk({own(pacer(500)), pacer(50)}), b = desk({own(pacer(500)), pacer(50)});
  a->arrive(8), b->arrive(8);
  ASSERT_TRUE(run_.run_until([&] { return a->took_off().size() + b->took_off().size() == 16; }));
  const auto times = all_times(*a, *b);
  EXPECT_GE(times.back() - times.front(), 15 * 20'000 - clock_error(*a, *b));
}

TEST_F(LimiterTest, lets_no_more_fly_than_its_own_semaphore_has) {
  const auto a = desk({own({.kind = SemaphoreConfig{.capacity = 2}, .name = "permits"}), pacer(1000)});
  a->fly_on();
  a->arrive(4);
  ASSERT_TRUE(took_off(*a, 2));
  run_.run_for(50'000);
  EXPECT_THAT(a->took_off(), SizeIs(2));
  a->land(0);
  ASSERT_TRUE(took_off(*a, 3));
  run_.run_for(50'000);
  EXPECT_THAT(a->took_off(), SizeIs(3));
}

/// A permit is reserved for each ask, and given up where Redis puts the ask off.
TEST_F(LimiterTest, with_a_semaphore_of_its_own_asks_once_for_what_is_used_up) {
  const auto a = desk({sliding(1, 1h), own({.kind = SemaphoreConfig{.capacity = 2}, .name = "permits"})});
  a->arrive(2);
  ASSERT_TRUE(run_.run_until([&] { return a->told_to_ask_after().size() >= 2; }));
  run_.run_for(kSecond / 4);
  EXPECT_THAT(a->took_off(), SizeIs(1));
  EXPECT_LE(a->told_to_ask_after().size(), 3u);
}

TEST_F(LimiterTest, asks_again_at_once_where_the_message_to_do_so_overtakes_the_answer_to_wait) {
  const auto a = desk({pacer(0.05)}), b = desk({of_group(pacer(0.05))});
  const auto digits = flow::GroupHash(config_.prefix, "github")("guild");
  const std::string for_all = "github line", for_group = for_all + " " + std::string(digits.data(), digits.size());
  for (const auto& [desk, group, message] : {std::tuple{a.get(), "", for_all}, {b.get(), "guild", for_group}}) {
    desk->arrive(1, flow::LaneKey(group));
    ASSERT_TRUE(took_off(*desk, 1));
    // It lies there before the next turn of the loop, in which the ask is sent.
    server_.run({"EVAL",
                 "for _, to in ipairs(redis.call('PUBSUB', 'CHANNELS')) do redis.call('PUBLISH', to, ARGV[1]) end", "0",
                 message});
    const std::size_t before = desk->told_to_ask_after().size();
    desk->arrive(1, flow::LaneKey(group));
    ASSERT_TRUE(run_.run_until([&] { return desk->told_to_ask_after().size() >= before + 2; }));
    EXPECT_LE(desk->told_to_ask_after()[before], 0);
    EXPECT_GT(desk->told_to_ask_after()[before + 1], kSecond) << "no process calls any more";
  }
}

TEST_F(LimiterTest, refuses_what_a_refusing_limit_does_not_allow_now) {
  LimitConfig limit = window(2, 8760h);
  limit.mode = LimitConfig::Mode::refuse;
  const auto a = desk({limit});
  a->arrive(3);
  ASSERT_TRUE(run_.run_until([&] { return a->refused().size() == 1; }));
  ASSERT_TRUE(took_off(*a, 2));  // a departure may be due a little later, by this process's clock
  EXPECT_EQ(a->refused()[0].why, flow::Refused::limited);
  EXPECT_EQ(a->refused()[0].limited_by, 0);
}

TEST_F(LimiterTest, names_the_limit_that_is_to_blame_by_its_place_in_the_file) {
  const auto a = desk({own(pacer(1e6)), pacer(1e5), sliding(3, 1s)});
  a->arrive(4);
  ASSERT_TRUE(took_off(*a, 4));
  EXPECT_EQ(a->took_off().back().limited_by, 2);
}

TEST_F(LimiterTest, resets_the_counters_of_groups_as_long_as_lanes_wait) {
  const LimitConfig counter = of_group({.kind = CounterConfig{.max = 3, .period = 200ms}, .name = "counter"});
  const auto a = desk({counter});
  a->arrive(9, "one");
  a->arrive(4, "two");
  ASSERT_TRUE(took_off(*a, 13));
  const auto times = all_times(*a);
  EXPECT_GE(times.back() - times.front(), 400'000 - clock_error(*a));
  EXPECT_TRUE(in_time(500'000, times.front(), times.back()));
}

TEST_F(LimiterTest, says_what_left_late_and_it_counts_from_then_in_every_process) {
  const auto a = desk({sliding(20, 10s)}), b = desk({sliding(20, 10s)});
  a->arrive(20);
  ASSERT_TRUE(took_off(*a, 20));
  const std::string key = "penstock:{github}:sliding";
  const auto stored = [&](const char* place) { return std::stoll(server_.run({"LINDEX", key, place}).text); };
  // On a busy machine some leave late by themselves. Redis is told within a millisecond.
  const auto redis_was_told = [&] { return counts_as_late_as(key, a->granted()); };
  ASSERT_TRUE(run_.run_until(redis_was_told));
  const auto first = stored("1");
  const auto granted = a->granted();
  for (const auto& departure : granted) a->limiter().report_late({}, departure, departure.at + 3 * kSecond);
  ASSERT_TRUE(run_.run_until(redis_was_told));
  EXPECT_GT(stored("1"), first + 2 * kSecond);
  EXPECT_EQ(server_.run({"LLEN", key}).integer, 1 + 20);
  b->arrive(1);
  const auto expected = a->booked()[0] + 13 * kSecond;
  ASSERT_TRUE(run_.run_until([&] { return b->limiter().ahead(now(), {}, 0, 0) > expected - clock_error(*a, *b); }));
  EXPECT_GE(a->limiter().ahead(now(), {}, 0, 0), expected - clock_error(*a)) << "its own memory";
}

TEST_F(LimiterTest, obeys_a_pause_that_another_process_was_asked_for) {
  const auto a = desk({pacer(1000)}), b = desk({pacer(1000)});
  const auto until = run_.loop.now() + kSecond;
  a->limiter().pause(run_.loop.now(), {}, until);
  ASSERT_TRUE(has_key("penstock:{github}:pause"));
  b->arrive(1);
  ASSERT_TRUE(took_off(*b, 1));
  EXPECT_GE(b->took_off()[0].at, until - clock_error(*a, *b));
  EXPECT_TRUE(in_time(50'000, until, b->took_off()[0].at));
  EXPECT_EQ(b->took_off()[0].limited_by, flow::kPause);
}

TEST_F(LimiterTest, pauses_a_group_alone) {
  const auto a = desk({of_group(pacer(1000))}), b = desk({of_group(pacer(1000))});
  const auto until = run_.loop.now() + kSecond;
  a->limiter().pause(run_.loop.now(), "held", until);
  ASSERT_TRUE(run_.run_until([&] { return !server_.run({"KEYS", "penstock:{github}:pause:*"}).items.empty(); }));
  b->arrive(1, "held");
  b->arrive(1, "free");
  ASSERT_TRUE(took_off(*b, 2));
  EXPECT_EQ(b->took_off()[0].group, "free");
  EXPECT_GE(b->took_off()[1].at, until - clock_error(*a, *b));
}

TEST_F(LimiterTest, ends_a_pause_for_all_processes_and_in_redis) {
  const auto a = desk({pacer(1000)}), b = desk({pacer(1000)}), c = desk({pacer(1000)});
  ASSERT_TRUE(all_listen(3));
  a->limiter().pause(run_.loop.now(), {}, run_.loop.now() + 30 * kSecond);
  ASSERT_TRUE(has_key("penstock:{github}:pause"));
  b->arrive(1);
  ASSERT_TRUE(run_.run_until([&] { return b->limiter().paused || !b->told_to_ask_after().empty(); }));
  EXPECT_TRUE(a->end_pauses());
  ASSERT_TRUE(took_off(*b, 1)) << "it is told";
  c->arrive(1);
  ASSERT_TRUE(took_off(*c, 1)) << "it has not learned of it, and Redis tells it no more";
  EXPECT_FALSE(a->end_pauses()) << "none is known";
}

TEST_F(LimiterTest, ends_a_pause_of_a_group_that_only_another_process_knows) {
  const auto a = desk({of_group(pacer(1000))}), b = desk({of_group(pacer(1000))});
  ASSERT_TRUE(both_listen());
  a->limiter().pause(run_.loop.now(), "held", run_.loop.now() + 30 * kSecond);
  const auto stored = [&] { return !server_.run({"KEYS", "penstock:{github}:pause:*"}).items.empty(); };
  ASSERT_TRUE(run_.run_until(stored));
  EXPECT_FALSE(b->end_pauses()) << "this process knows of none";
  ASSERT_TRUE(run_.run_until([&] { return !stored(); })) << "the other one ends it";
  b->arrive(1, "held");
  ASSERT_TRUE(took_off(*b, 1));
}

TEST_F(LimiterTest, tells_every_process_of_a_pause_of_some_credentials) {
  const auto a = desk({pacer(1000)}), b = desk({pacer(1000)});
  ASSERT_TRUE(both_listen());
  const auto until = run_.loop.now() + kSecond;
  a->limiter().pauses_shared()->tell("0123456789abcdef", kSecond);
  ASSERT_TRUE(run_.run_until([&] { return !b->paused_scopes.empty(); }));
  EXPECT_EQ(b->paused_scopes[0].first, "0123456789abcdef");
  EXPECT_TRUE(in_time(50'000, until, b->paused_scopes[0].second));
}

TEST_F(LimiterTest, gives_the_right_to_probe_to_one_process_at_a_time) {
  const auto a = desk({pacer(1000)}), b = desk({pacer(1000)});
  ASSERT_TRUE(both_listen());
  a->fly_on(), b->fly_on();
  a->limiter().pause(run_.loop.now(), {}, run_.loop.now() + kSecond);
  ASSERT_TRUE(has_key("penstock:{github}:pause"));
  a->arrive(3), b->arrive(3);
  ASSERT_TRUE(run_.run_until([&] { return a->took_off().size() + b->took_off().size() == 1; }));
  LimiterFixture &one = a->took_off().empty() ? *b : *a, &other = a->took_off().empty() ? *a : *b;
  run_.run_for(200'000);
  EXPECT_EQ(a->took_off().size() + b->took_off().size(), 1u) << "the others wait for its answer";
  one.answered(0);
  ASSERT_TRUE(run_.run_until([&] { return one.took_off().size() == 3 && other.took_off().size() == 2; }));
}

TEST_F(LimiterTest, leaves_the_right_to_a_process_while_its_probe_flies_and_takes_it_from_one_that_died) {
  auto a = desk({pacer(1000)});
  const auto b = desk({pacer(1000)});
  ASSERT_TRUE(both_listen());
  a->fly_on(), b->fly_on();
  a->pause(kSecond / 10), b->pause(kSecond / 10);
  a->arrive(1);
  ASSERT_TRUE(took_off(*a, 1));
  b->arrive(3);
  run_.run_for(2 * flow::kProbeRight);
  EXPECT_THAT(b->took_off(), SizeIs(0)) << "it connects, or was not answered yet";
  a.reset();
  const auto died = now();
  ASSERT_TRUE(took_off(*b, 1));
  EXPECT_TRUE(in_time(flow::kProbeRight + 200'000, died, b->took_off()[0].at));
}

/// Its limits are in Redis, or its own.
TEST_F(LimiterTest, sends_nothing_beside_another_process_s_probe_though_it_was_idle_during_the_pause) {
  for (const bool shared : {true, false}) {
    for (const std::string group : {"", "guild"}) {
      SCOPED_TRACE((shared ? "shared " : "own ") + group);
      const auto a = desk({pacer(1000)}), b = desk({pacer(1000)});
      ASSERT_TRUE(both_listen());
      if (!shared) a->change_to_own({own(pacer(1000))}), b->change_to_own({own(pacer(1000))});
      a->fly_on(), b->fly_on();
      a->pause(kSecond / 5, group);
      a->arrive(1, flow::LaneKey(group));
      ASSERT_TRUE(took_off(*a, 1)) << "the probe";
      b->arrive(64, flow::LaneKey(group));
      run_.run_for(300'000);
      EXPECT_THAT(b->took_off(), SizeIs(0));
      a->answered(0);
      ASSERT_TRUE(took_off(*b, 2));
      EXPECT_THAT(b->took_off(), SizeIs(2)) << "one round";
      a->land(0);
    }
  }
}

TEST_F(LimiterTest, begins_no_pause_again_by_its_own_late_message) {
  const auto a = desk({pacer(1000)}), b = desk({pacer(1000)});
  ASSERT_TRUE(both_listen());
  a->change_to_own({own(pacer(1000))}), b->change_to_own({own(pacer(1000))});
  const auto until = now() + kSecond;
  server_.pause();
  a->limiter().pause(now(), {}, until);
  b->limiter().pauses_shared()->tell("0123456789abcdef", kSecond);  // is told behind it
  run_.run_for(1'200'000);
  server_.resume();
  ASSERT_TRUE(run_.run_until([&] { return !a->paused_scopes.empty(); }));
  const auto then = now();
  EXPECT_LE(a->limiter().ahead(then, {}, 0, 0), then);
}

TEST_F(LimiterTest, probes_by_itself_where_redis_does_not_answer_who_may) {
  config_.timeout = 2s;
  const auto a = desk({pacer(1000)});
  a->change_to_own({own(pacer(1000))});
  const auto until = now() + kSecond / 5;
  a->pause(kSecond / 5);
  a->arrive(1);
  server_.pause();
  ASSERT_TRUE(took_off(*a, 1));
  EXPECT_TRUE(in_time(200'000, until + 2 * kSecond, a->took_off()[0].at));
  server_.resume();
}

TEST_F(LimiterTest, gives_unused_departures_back_to_the_others) {
  const auto a = desk({window(4, 10s)}), b = desk({window(4, 10s)});
  a->arrive(4);
  ASSERT_TRUE(took_off(*a, 4));
  for (const auto& departure : a->granted()) a->limiter().give_back(run_.loop.now(), {}, departure);
  run_.run_for(20'000);
  b->arrive(4);
  EXPECT_TRUE(took_off(*b, 4));
  EXPECT_TRUE(in_time(100'000, a->took_off()[0].at, b->took_off()[3].at));
}

TEST_F(LimiterTest, gives_departures_back_that_have_just_been_late) {
  const auto a = desk({sliding(4, 10s)}), b = desk({sliding(4, 10s)});
  a->arrive(4);
  ASSERT_TRUE(took_off(*a, 4));
  const auto granted = a->granted();
  for (const auto& departure : std::views::reverse(granted)) {  // a sliding window takes back only its newest
    const auto late = a->limiter().report_late({}, departure, departure.at + 20'000);
    a->limiter().give_back(run_.loop.now(), {}, late);
  }
  run_.run_for(20'000);
  b->arrive(4);
  EXPECT_TRUE(took_off(*b, 4));
  EXPECT_TRUE(in_time(100'000, a->took_off()[0].at, b->took_off()[3].at));
}

TEST_F(LimiterTest, gives_up_its_turn_when_nobody_waits_and_the_others_move_up) {
  const auto a = desk({pacer(0.5)}), b = desk({pacer(0.5)});
  a->arrive(1);
  ASSERT_TRUE(took_off(*a, 1));
  const auto first = a->booked()[0];
  a->arrive(1);
  run_.run_for(100'000);
  b->arrive(1);
  run_.run_for(100'000);
  a->leave(1);
  ASSERT_TRUE(took_off(*b, 1));
  EXPECT_GE(b->took_off()[0].at - first, 2 * kSecond - clock_error(*a, *b));
  EXPECT_TRUE(in_time(2 * kSecond + 50'000, first, b->took_off()[0].at)) << "not behind the process that has left";
}

TEST_F(LimiterTest, knows_how_long_a_wait_will_be_once_it_was_told) {
  const auto a = desk({pacer(0.5)}), b = desk({pacer(0.5)});
  a->arrive(1);
  ASSERT_TRUE(took_off(*a, 1));
  b->arrive(1);
  ASSERT_TRUE(run_.run_until([&] { return !b->told_to_ask_after().empty(); }));
  const auto ahead = b->limiter().ahead(run_.loop.now(), {}, 0, 0);
  EXPECT_NEAR(static_cast<double>(ahead - a->booked()[0]), 2e6, static_cast<double>(clock_error(*a, *b)));
}

TEST_F(LimiterTest, leaves_nothing_behind_that_would_stay_for_ever) {
  const auto a = desk({of_group(window(5, 1s)), pacer(100)});
  a->arrive(8, "one");
  a->limiter().pause(run_.loop.now(), "one", run_.loop.now() + kSecond);
  ASSERT_TRUE(took_off(*a, 5));
  const auto keys = server_.run({"KEYS", "penstock:*"}).items;
  EXPECT_GE(keys.size(), 4u);
  for (const auto& key : keys) {
    EXPECT_TRUE(key.text == "penstock:born" || server_.run({"PTTL", key.text}).integer > 0) << key.text;
  }
}

TEST_F(LimiterTest, notes_since_when_redis_has_forgotten_nothing) {
  const std::string info = server_.run({"INFO", "server"}).text;
  const std::string id = info.substr(info.find("run_id:") + 7, 16);
  const auto born = [&] { return server_.run({"GET", "penstock:born"}).text; };
  const auto a = desk({pacer(100)});
  ASSERT_TRUE(run_.run_until([&] { return !born().empty(); }));
  EXPECT_EQ(born(), "1m " + id + " 0") << "no process had used it";
  ASSERT_TRUE(run_.run_until([&] {
    return server_.run({"PUBSUB", "NUMSUB", "penstock:to:all"}).items.at(1).integer == 1;
  }));
  server_.run({"FLUSHALL"});
  const auto b = desk({pacer(100)});
  ASSERT_TRUE(run_.run_until([&] { return !born().empty(); }));
  EXPECT_THAT(born(), testing::MatchesRegex("1m " + id + " [0-9]{10,}"))
      << "another process is there, and may know more";
}

TEST_F(LimiterTest, does_not_wait_for_a_value_that_it_does_not_know) {
  const auto a = desk({pacer(100)});
  server_.run({"SET", "penstock:{github}:pacer", "something else"});
  a->arrive(3);
  ASSERT_TRUE(took_off(*a, 3));
  EXPECT_GE(a->hub().counts().of(FailureKind::corrupt), 1u);
  ASSERT_THAT(a->notices(), SizeIs(1));
  EXPECT_THAT(a->notices()[0], HasSubstr("CORRUPT penstock:{github}:pacer"));
}

TEST_F(LimiterTest, may_go_while_asks_are_under_way) {
  auto a = desk({pacer(100)});
  a->arrive(3);
  a.reset();
  run_.run_for(50'000);
}

TEST_F(LimiterTest, is_counted_as_alive_while_it_works) {
  const auto a = desk({pacer(1000)}), b = desk({pacer(1000)});
  a->arrive(1), b->arrive(1);
  ASSERT_TRUE(run_.run_until([&] { return server_.run({"ZCARD", "penstock:{github}:alive"}).integer == 2; }));
}

TEST_F(LimiterTest, knows_how_many_there_are_though_an_ask_was_sent_before_it_knew) {
  const auto a = desk({of_group(pacer(1000))}), b = desk({of_group(pacer(1000))});
  a->arrive(1, "one");
  ASSERT_TRUE(took_off(*a, 1));
  b->arrive(1, "one"), b->arrive(1, "two");  // the first ask counts, the second is sent before it is answered
  ASSERT_TRUE(took_off(*b, 2));
  EXPECT_EQ(b->limiter().processes(), 2);
}

}  // namespace
}  // namespace penstock::redis
