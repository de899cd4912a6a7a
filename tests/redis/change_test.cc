// SPDX-License-Identifier: Apache-2.0
// Limits that change while requests wait and asks are under way, at a real Redis. A frozen Redis keeps an ask under way
// for as long as the test likes.
#include <gmock/gmock.h>

#include "redis/changing.h"

namespace penstock::redis {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// ---- what waits -----------------------------------------------------------------------------------------------------

TEST_F(RedisChange, who_was_told_to_wait_for_long_leaves_at_once_under_a_raised_limit) {
  const auto a = desk({pacer(0.05)});
  a->arrive(3);
  ASSERT_TRUE(took_off(*a, 1));
  EXPECT_EQ(settled(*a), 1u);
  a->change({pacer(1'000)});
  ASSERT_TRUE(took_off(*a, 3)) << "and not 20 s later";
}

TEST_F(RedisChange, a_process_that_has_changed_does_not_wait_for_the_turn_of_one_that_has_not) {
  const auto a = desk({pacer(0.05)}), b = desk({pacer(0.05)});
  a->arrive(1);
  ASSERT_TRUE(took_off(*a, 1));
  b->arrive(1);
  run_.run_for(kSecond / 10);
  a->arrive(1);
  run_.run_for(kSecond / 10);
  a->change({pacer(1'000)});
  ASSERT_TRUE(took_off(*a, 2));
}

TEST_F(RedisChange, processes_that_disagree_keep_to_the_looser_limit_and_never_to_the_sum) {
  const auto a = desk({long_window(3)}), b = desk({long_window(3)});
  a->change({long_window(5)});
  a->arrive(9);
  ASSERT_TRUE(took_off(*a, 5));
  b->arrive(9);
  EXPECT_EQ(settled(*a) + settled(*b), 5u);
}

TEST_F(RedisChange, processes_that_disagree_keep_to_it_whoever_comes_first) {
  const auto a = desk({long_window(3)}), b = desk({long_window(3)});
  a->change({long_window(5)});
  b->arrive(9);
  ASSERT_TRUE(took_off(*b, 3));
  a->arrive(9);
  ASSERT_TRUE(took_off(*a, 2));
  EXPECT_EQ(settled(*a) + settled(*b), 5u);
}

TEST_F(RedisChange, a_lowered_limit_holds_from_the_next_departure_on) {
  const auto a = desk({pacer(1'000)});
  a->arrive(5);
  ASSERT_TRUE(took_off(*a, 5));
  a->change({pacer(4)});
  a->arrive(4);
  ASSERT_TRUE(took_off(*a, 9));
  const auto& times = a->booked();
  EXPECT_GE(times[8] - times[5], 3 * kSecond / 4 - clock_error(*a));
}

TEST_F(RedisChange, groups_that_wait_for_limits_of_their_own_leave_at_once_too) {
  const auto a = desk({of_group(pacer(0.05)), long_window(1'000)});
  a->arrive(2, "one");
  a->arrive(2, "two");
  ASSERT_TRUE(took_off(*a, 2));
  EXPECT_EQ(settled(*a), 2u);
  a->change({long_window(1'000), of_group(pacer(1'000))});
  ASSERT_TRUE(took_off(*a, 4));
}

TEST_F(RedisChange, an_estimate_made_by_old_limits_refuses_nobody) {
  const auto a = desk({pacer(0.05)});
  a->arrive(2);
  ASSERT_TRUE(took_off(*a, 1));
  ASSERT_TRUE(
      run_.run_until([&] { return a->limiter().ahead(run_.loop.now(), {}, 0, 0) > run_.loop.now() + 10 * kSecond; }));
  a->change({long_window(1'000)});
  EXPECT_LT(a->limiter().ahead(run_.loop.now(), {}, 0, 0), run_.loop.now() + kSecond);
}

TEST_F(RedisChange, who_waits_for_a_reset_leaves_when_a_shorter_period_says) {
  const auto a = desk({counter(1, 40s)});
  a->arrive(2);
  ASSERT_TRUE(took_off(*a, 1));
  EXPECT_EQ(settled(*a), 1u);
  a->change({named("first", long_window(1'000)), counter(1, 300ms)});
  ASSERT_TRUE(took_off(*a, 2));
  a->arrive(1);
  EXPECT_TRUE(took_off(*a, 3)) << "resets go on under the other number";
}

TEST_F(RedisChange, a_refusal_of_before_refuses_nobody) {
  const auto a = desk({refusing(long_window(1))});
  a->arrive(2);
  ASSERT_TRUE(run_.run_until([&] { return a->refused().size() == 1; }));
  a->change({refusing(long_window(5))});
  a->arrive(1);
  ASSERT_TRUE(took_off(*a, 2));
}

// ---- asks under way -------------------------------------------------------------------------------------------------

TEST_F(RedisChange, what_an_ask_under_way_is_granted_is_taken_and_named_by_the_new_numbers) {
  const auto a = desk({pacer(5), long_window(1'000)});  // so slow that no machine comes later than it lets go
  a->arrive(3);
  ASSERT_TRUE(took_off(*a, 1));  // two more are asked for
  a->change({named("new", pacer(10'000)), long_window(1'000), pacer(5)});
  ASSERT_TRUE(took_off(*a, 3));
  EXPECT_EQ(a->took_off()[1].limited_by, 2);
}

TEST_F(RedisChange, what_an_ask_under_way_is_told_to_wait_for_does_not_hold) {
  const auto a = desk({pacer(0.05)});
  a->arrive(1);
  ASSERT_TRUE(took_off(*a, 1));
  server_.pause();
  a->arrive(2);
  a->change({long_window(1'000), pacer(1'000)});
  server_.resume();
  ASSERT_TRUE(took_off(*a, 3));
}

TEST_F(RedisChange, by_what_an_ask_under_way_is_refused_does_not_refuse) {
  const auto a = desk({refusing(long_window(1))});
  a->arrive(1);
  ASSERT_TRUE(took_off(*a, 1));
  server_.pause();
  a->arrive(1);
  a->change({long_window(3)});
  server_.resume();
  ASSERT_TRUE(took_off(*a, 2));
  EXPECT_THAT(a->refused(), IsEmpty());
}

TEST_F(RedisChange, two_changes_during_an_ask_are_one_after_the_other) {
  const auto a = desk({named("gone", pacer(5'000)), pacer(2)});
  a->arrive(3);
  ASSERT_TRUE(took_off(*a, 1));
  a->change({named("x", long_window(1'000)), pacer(2), named("y", long_window(1'000))});
  a->change({pacer(2), named("y", long_window(1'000))});
  ASSERT_TRUE(took_off(*a, 3));
  EXPECT_EQ(a->took_off()[1].limited_by, 0);
  EXPECT_THAT(a->notices(), IsEmpty());
}

TEST_F(RedisChange, an_ask_that_comes_too_late_is_taken_back_from_the_limits_of_then) {
  config_.timeout = 500ms;
  config_.when_down = WhenDown::refuse;
  const auto a = desk({long_window(10)});
  a->arrive(1);
  ASSERT_TRUE(took_off(*a, 1));
  server_.pause();
  a->arrive(1);
  a->change({named("new", long_window(10)), long_window(10)});
  ASSERT_TRUE(run_.run_until([&] { return a->refused().size() == 1; })) << "answered in its time all the same";
  ASSERT_TRUE(run_.run_until([&] { return !a->up(); })) << "Redis has not answered in time either";
  server_.resume();
  ASSERT_TRUE(run_.run_until([&] { return a->up() && !a->degraded(); }));
  a->arrive(1);
  EXPECT_TRUE(took_off(*a, 2));
}

TEST_F(RedisChange, many_changes_while_lanes_ask_without_end_keep_the_limits_and_lose_nobody) {
  const auto a = desk({pacer(200)}), b = desk({pacer(200)});
  a->work_without_end(20);
  b->work_without_end(20, "group");
  for (int i = 0; i < 60; ++i) {
    std::vector<LimitConfig> limits{pacer(200)};
    if (i % 2 == 0) limits.push_back(named("other", pacer(5'000)));
    if (i % 3 == 0) limits.insert(limits.begin(), permits_of(1'000));
    if (i % 5 == 0) limits.insert(limits.begin(), of_group(named("each", long_window(100'000))));
    a->change(limits), b->change(limits);
    run_.run_for(kSecond / 60);
  }
  const auto until = run_.loop.now();
  EXPECT_LE(fullest(all_times(*a, *b), kSecond / 2), 106u);
  a->stop_working(), b->stop_working();
  ASSERT_TRUE(run_.run_until([&] { return a->pending() + b->pending() == 0; }));
  EXPECT_THAT(a->refused(), IsEmpty());
  EXPECT_EQ(a->cut() + b->cut(), 0u);
  EXPECT_THAT(a->notices(), IsEmpty());
  EXPECT_TRUE(in_time(kSecond / 2, until, run_.loop.now()));
}

// ---- what was booked before -----------------------------------------------------------------------------------------

TEST_F(RedisChange, what_was_booked_before_is_given_back_to_the_limits_that_counted_it) {
  const auto a = desk({long_window(10)});
  a->arrive(2);
  ASSERT_TRUE(took_off(*a, 2));
  a->change({named("new", long_window(10)), long_window(10)});
  a->arrive(1);
  ASSERT_TRUE(took_off(*a, 3));
  a->limiter().give_back(run_.loop.now(), {}, a->granted()[0]);
  ASSERT_TRUE(run_.run_until([&] { return stored("window").find(" 2 ") != std::string::npos; })) << stored("window");
  EXPECT_THAT(stored("new"), HasSubstr(" 1 "));
}

TEST_F(RedisChange, a_limit_that_becomes_shared_begins_with_what_redis_has) {
  const auto a = desk({own(long_window(3)), pacer(1'000)}), b = desk({long_window(3), pacer(1'000)});
  a->arrive(2);
  ASSERT_TRUE(took_off(*a, 2));
  b->arrive(2);
  ASSERT_TRUE(took_off(*b, 2));
  a->change({long_window(3), pacer(1'000)});
  a->arrive(3);
  ASSERT_TRUE(took_off(*a, 3));
  EXPECT_EQ(settled(*a), 3u) << "three of the shared window";
}

TEST_F(RedisChange, a_limit_that_is_no_longer_shared_counts_those_of_this_process) {
  const auto a = desk({long_window(3), pacer(1'000)}), b = desk({long_window(3), pacer(1'000)});
  a->arrive(1), b->arrive(2);
  ASSERT_TRUE(run_.run_until([&] { return a->took_off().size() + b->took_off().size() == 3; }));
  a->change({own(long_window(3)), pacer(1'000)});
  a->arrive(3);
  ASSERT_TRUE(took_off(*a, 3));
  EXPECT_EQ(settled(*a), 3u);
}

TEST_F(RedisChange, alone_a_process_remembers_what_it_let_go_under_other_numbers) {
  const auto a = desk({named("gone", pacer(10'000)), long_window(4)});
  a->arrive(2);
  ASSERT_TRUE(took_off(*a, 2));
  server_.stop(SIGKILL);
  ASSERT_TRUE(run_.run_until([&] { return !a->up(); }));
  a->change({long_window(4), named("new", pacer(10'000))});
  a->arrive(3);
  ASSERT_TRUE(took_off(*a, 4));
  EXPECT_EQ(settled(*a), 4u);
  server_.start();
  ASSERT_TRUE(run_.run_until([&] { return !a->degraded(); }));
  EXPECT_EQ(settled(*a), 4u) << "and hands it in when Redis is back";
}

TEST_F(RedisChange, a_limit_that_is_apart_stays_so_under_its_new_number) {
  const auto a = desk({pacer(1'000), long_window(3)});
  server_.run({"SET", "penstock:{github}:window", "something else"});
  a->arrive(2);
  ASSERT_TRUE(took_off(*a, 2));
  ASSERT_TRUE(a->degraded());
  a->change({long_window(3), pacer(1'000), named("third", pacer(1'000))});
  EXPECT_TRUE(a->degraded());
  a->arrive(2);
  ASSERT_TRUE(took_off(*a, 3));
  EXPECT_EQ(settled(*a), 3u) << "it has counted two, and has this process's part";
  server_.run({"DEL", "penstock:{github}:window"});
  ASSERT_TRUE(run_.run_until([&] { return !a->degraded(); }));
  EXPECT_THAT(stored("window"), HasSubstr(" 3 "));
}

TEST_F(RedisChange, a_limit_that_is_apart_and_goes_is_so_no_more) {
  const auto a = desk({pacer(1'000), long_window(3)});
  server_.run({"SET", "penstock:{github}:window", "something else"});
  a->arrive(2);
  ASSERT_TRUE(took_off(*a, 2));
  a->change({pacer(1'000)});
  ASSERT_TRUE(run_.run_until([&] { return !a->degraded(); }));
  a->arrive(9);
  ASSERT_TRUE(took_off(*a, 11));
}

}  // namespace
}  // namespace penstock::redis
