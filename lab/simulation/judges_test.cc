// SPDX-License-Identifier: Apache-2.0
// Each judge, on runs written by hand: one that just keeps the rule, and one that just breaks it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "simulation/hand_made.h"
#include "simulation/random.h"

namespace penstock::simulation {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr auto kNobody = [](Time) { return false; };

// ---- keeps ----------------------------------------------------------------------------------------------------------

TEST(Keeps, a_pacer_lets_its_burst_and_one_request_go_at_once_and_then_its_rate) {
  for (const Time early : {0, 400}) {
    HandMade run({pacer(100, 5)});
    run.pass(0, 6);
    for (int n = 1; n <= 50; ++n) run.pass(n * 10'000 - (n == 50 ? early : 0), 1);
    EXPECT_THAT(run.broken("keeps"), SizeIs(early > 0 ? 1 : 0));
  }
}

TEST(Keeps, a_pacer_of_weights_lets_the_heaviest_go_with_the_burst) {
  for (const int weight : {3, 4}) {
    HandMade run({pacer(100, 5)});
    run.add({.weight = 3});
    run.pass(0, 2);
    run.add({.weight = weight});  // 5 + 4 may leave at once only where 4 is the heaviest; 5 + 3 in any case
    EXPECT_THAT(run.broken("keeps"), IsEmpty());
    run.pass(0, 1);
    EXPECT_THAT(run.broken("keeps"), SizeIs(1));
  }
}

TEST(Keeps, a_window_begins_at_its_edge) {
  HandMade run({window(10, kSecond)});
  run.pass(kSecond - 1, 10);
  run.pass(kSecond, 10);
  EXPECT_THAT(run.broken("keeps"), IsEmpty());
  run.pass(2 * kSecond - 1, 1);
  EXPECT_THAT(run.broken("keeps"), SizeIs(1));
}

TEST(Keeps, near_to_an_edge_a_window_has_the_doubt_of_far_processes) {
  for (const double jitter : {0.0, 0.5}) {  // half of 10 ms, by two: 5 ms, of which 1 ms is the guard
    HandMade run({window(10, kSecond)}, 2);
    for (Member& member : run.plan.members) member.round_trip = 10'000, member.jitter = jitter;
    run.pass(kSecond / 2, 5);
    run.pass(kSecond - 3'000, 6);  // one of these may have been meant for the next window
    run.pass(kSecond + kSecond / 2, 9);
    EXPECT_THAT(run.broken("keeps"), SizeIs(jitter > 0 ? 0 : 1));
    run.pass(kSecond + kSecond / 2, 1);
    EXPECT_THAT(run.broken("keeps"), SizeIs(1));
  }
}

TEST(Keeps, a_sliding_window_looks_back_one_interval) {
  for (const Time early : {0, 1}) {
    HandMade run({{.kind = SlidingWindowConfig{.max = 10, .interval = 1s}}});
    run.pass(300, 10);
    run.pass(kSecond + 300 - early, 1);
    EXPECT_THAT(run.broken("keeps"), SizeIs(early > 0 ? 1 : 0));
  }
}

/// Only a run without faults is held to the steps from the first departure on; this run has a fault.
TEST(Keeps, a_token_bucket_is_refilled_in_steps) {
  HandMade run({{.kind = TokenBucketConfig{.capacity = 5, .refill_amount = 2, .refill_frequency = 1s}}});
  run.fail(Fault::Kind::scripts_flushed, 0);
  run.pass(300'000, 5);
  run.pass(1'200'000, 2);
  run.pass(1'400'000, 2);  // more than a second after the first departures
  EXPECT_THAT(run.broken("keeps"), IsEmpty());
  run.pass(1'290'000, 1);
  EXPECT_THAT(run.broken("keeps"), SizeIs(1));
}

TEST(Keeps, a_token_bucket_is_refilled_from_its_first_departure_on) {
  for (const bool early : {false, true}) {
    HandMade run({{.kind = TokenBucketConfig{.capacity = 5, .refill_amount = 2, .refill_frequency = 1s}}});
    run.pass(300'000, 4);
    run.pass(400'000, early ? 2 : 1);
    run.pass(1'300'000, early ? 1 : 2);
    EXPECT_THAT(run.broken("keeps"), SizeIs(early ? 1 : 0));
  }
}

TEST(Keeps, a_counter_is_reset_a_period_after_its_first_departure) {
  for (const Time early : {0, 2'000}) {
    HandMade run({{.kind = CounterConfig{.max = 5, .period = 1s}}});
    run.pass(300'000, 4);
    run.pass(400'000, 1);
    run.pass(1'300'000 - early, 5);
    EXPECT_THAT(run.broken("keeps"), SizeIs(early > 0 ? 1 : 0));
  }
}

/// A departure was booked for a request that had gone by then. It was taken back, but refills keep its rhythm.
TEST(Keeps, a_departure_that_was_taken_back_may_have_begun_the_refills) {
  for (const Time early : {0, 1'000}) {
    HandMade run({{.kind = TokenBucketConfig{.capacity = 5, .refill_amount = 2, .refill_frequency = 1s}}});
    run.refuse(200'000, flow::Refused::wait_over).ended = 250'000;
    run.pass(300'000, 5);
    run.pass(1'200'000 - early, 2);
    EXPECT_THAT(run.broken("keeps"), SizeIs(early > 0 ? 1 : 0));
  }
}

TEST(Keeps, a_request_that_is_refused_at_once_was_booked_nothing) {
  HandMade run({{.kind = CounterConfig{.max = 5, .period = 1s}}});
  run.refuse(200'000, flow::Refused::wait_over);
  run.pass(300'000, 5);
  run.pass(1'290'000, 1);
  EXPECT_THAT(run.broken("keeps"), SizeIs(1));
}

/// An ask that goes through Redis books its departure in all limits for when Redis was asked. It leaves when the answer
/// comes.
TEST(Keeps, a_limit_of_one_process_beside_a_shared_one_is_late_by_the_way_back) {
  for (const bool beside : {false, true}) {
    LimitConfig own{.kind = TokenBucketConfig{.capacity = 5, .refill_amount = 2, .refill_frequency = 1s}};
    own.shared = false;
    HandMade run(beside ? std::vector{own, semaphore(100)} : std::vector{own});
    run.plan.members[0].round_trip = 10'000;
    run.pass(305'000, 5);
    run.pass(1'300'000, 2);
    EXPECT_THAT(run.broken("keeps"), SizeIs(beside ? 0 : 1));
    run.pass(1'299'000, 1);
    EXPECT_THAT(run.broken("keeps"), SizeIs(1));
  }
}

TEST(Keeps, a_counter_may_be_full_on_both_sides_of_a_reset) {
  HandMade run({{.kind = CounterConfig{.max = 5, .period = 1s}}});
  run.fail(Fault::Kind::scripts_flushed, 0);
  run.pass(0, 5);
  run.pass(100'000, 5);
  run.pass(kSecond, 5);
  EXPECT_THAT(run.broken("keeps"), IsEmpty());
  run.pass(900'000, 1);
  EXPECT_THAT(run.broken("keeps"), SizeIs(1));
}

TEST(Keeps, a_semaphore_counts_flights_at_every_moment) {
  for (const Time early : {0, 1}) {
    HandMade run({semaphore(2)}, 2);
    run.pass(0, 1, {.flight = 500});
    run.pass(0, 1, {.flight = 900, .member = 1});
    run.pass(500 - early, 1, {.flight = 900, .member = 1});
    EXPECT_THAT(run.broken("keeps"), SizeIs(early > 0 ? 1 : 0));
  }
}

TEST(Keeps, each_group_has_its_own_limit_and_each_process_one_that_is_not_shared) {
  const auto both = [](const LimitConfig& limit) {
    HandMade run({limit}, 2);
    run.pass(0, 10, {.member = 0, .group = 0});
    run.pass(0, 10, {.member = 1, .group = 1});
    return run.broken("keeps");
  };
  LimitConfig own = window(10, kSecond);
  own.shared = false;
  EXPECT_THAT(both(window(10, kSecond)), SizeIs(1));
  EXPECT_THAT(both(each_group(window(10, kSecond))), IsEmpty());
  EXPECT_THAT(both(own), IsEmpty());
}

/// The most by which any stretch between two departures exceeds the bound.
double over(const HandMade& run, const std::function<double(Time length)>& bound) {
  double worst = -INFINITY;
  for (const Request& first : run.journal.requests) {
    double units = 0;
    for (const Request& other : run.journal.requests) units += other.departed == first.departed ? other.weight : 0;
    worst = std::max(worst, units - bound(0));
    for (const Request& last : run.journal.requests) {
      if (last.departed <= first.departed) continue;
      units = 0;
      for (const Request& one : run.journal.requests)
        units += one.departed >= first.departed && one.departed <= last.departed ? one.weight : 0;
      worst = std::max(worst, units - bound(last.departed - first.departed));
    }
  }
  return worst;
}

TEST(Keeps, the_worst_of_all_stretches_is_found_as_by_looking_at_each) {
  Random random(7);
  for (int i = 0; i < 300; ++i) {
    HandMade paced({pacer(200, 3)}), bucket({{.kind = TokenBucketConfig{4, 3, 20ms}}}),
        sliding({{.kind = SlidingWindowConfig{5, 50ms}}}), counter({{.kind = CounterConfig{6, 40ms}}});
    Time at = random.between(0, 100'000);
    for (int n = 0; n < 25; ++n, at += random.happens(0.3) ? 0 : random.between(0, 30) * 997) {
      for (HandMade* run : {&paced, &bucket, &sliding, &counter})
        run->add({.arrived = at, .departed = at, .weight = n == 0 ? 3 : 1 + n % 2});
    }
    for (HandMade* run : {&bucket, &counter}) run->fail(Fault::Kind::scripts_flushed, 0);
    const auto excess = [](HandMade& run) { return run.judged().figures.worst_excess; };
    EXPECT_NEAR(excess(paced), over(paced, [](Time t) { return 200 * static_cast<double>(t + 302) / 1e6 + 3 + 3; }),
                1e-6);
    EXPECT_NEAR(excess(bucket),
                over(bucket, [](Time t) { return 4 + 3 * std::ceil(static_cast<double>(t + 302) / 20e3); }), 1e-6);
    EXPECT_NEAR(excess(sliding), over(sliding, [](Time t) { return t < 50'000 ? 5.0 : 1e9; }), 1e-6);
    EXPECT_NEAR(excess(counter),
                over(counter, [](Time t) { return 6 + 6 * std::ceil(static_cast<double>(t + 302) / 40e3); }), 1e-6);
  }
}

// ---- use ------------------------------------------------------------------------------------------------------------

/// Of 200 possible units in 2 s, 198 are due, less a grant of three and one request.
TEST(UseOfLimits, is_99_percent_less_one_grant_and_one_request) {
  for (const auto& [lost, broken] : {std::pair{5, 0u}, std::pair{8, 1u}}) {
    HandMade run({pacer(100)}, 3);
    queue_of(run, 100, 3 * kSecond, [&](Time at) { return at > kSecond && at <= kSecond + lost * 10'000; });
    EXPECT_THAT(run.broken("use"), SizeIs(broken)) << lost;
    EXPECT_NEAR(run.judged().figures.least_use, 1 - lost / 200.0, 0.006);
  }
}

/// `left` of 100 have left in a window of a day, and one more request waits, or is refused.
TEST(Room, in_a_window_is_for_those_that_wait) {
  for (const bool waits : {false, true}) {
    for (const int left : {70, 98, 99}) {
      HandMade run({window(100, kDay)});
      run.pass(kSecond, left);
      Request& held = run.refuse(9 * kSecond, flow::Refused::wait_over);
      if (waits) held.end = Request::End::none, held.ended = kNotYet, held.arrived = 5 * kSecond;
      run.journal.ended = 10 * kSecond;
      EXPECT_THAT(run.broken("room"), SizeIs(left < 99 ? 1 : 0)) << left;
    }
  }
}

TEST(UseOfLimits, is_judged_only_while_somebody_waits_who_has_a_slot) {
  for (const int slots : {1, 1'000}) {
    HandMade run({pacer(100)});
    run.plan.members[0].settings.max_concurrent = slots;
    for (int n = 1; n <= 30; ++n) run.add({.departed = n * 100'000, .flight = 100'000});
    run.add({.departed = 3'100'000});
    EXPECT_THAT(run.broken("use"), SizeIs(slots == 1 ? 0 : 1));
  }
  HandMade idle({pacer(100)});
  for (int n = 1; n <= 50; ++n) idle.pass(n * 100'000, 1);
  EXPECT_THAT(idle.broken("use"), IsEmpty());
}

TEST(UseOfLimits, is_not_judged_before_the_process_has_reached_redis) {
  for (const Time reached : {Time{0}, 400 * kMillisecond}) {
    HandMade run({pacer(100)});
    run.journal.standings = {{.at = reached, .member = 0, .up = true}};
    queue_of(run, 100, 3 * kSecond, [](Time at) { return at <= 400 * kMillisecond; });
    EXPECT_THAT(run.broken("use"), SizeIs(reached == 0 ? 1 : 0));
  }
}

TEST(UseOfLimits, of_several_is_what_they_let_pass_together) {
  for (const int each_window : {50, 46}) {
    HandMade run({pacer(200, 10), window(50, kSecond)});
    for (int second = 0; second < 41; ++second) {
      for (int n = 0; n < each_window; ++n)
        run.add({.departed = second * kSecond + 2'000 + std::max(0, n - 10) * 5'000, .group = second});
    }
    run.add({.departed = 41 * kSecond + 2'000});
    EXPECT_THAT(run.broken("use"), SizeIs(each_window == 50 ? 0 : 2)) << "two stretches of 20 windows";
  }
}

TEST(UseOfLimits, is_judged_for_each_group_where_groups_alone_have_limits) {
  for (const bool idles : {false, true}) {
    HandMade run({each_group(pacer(20))}, 2);
    for (int n = 1; n <= 40; ++n) {
      run.add({.departed = n * 50'000, .member = 0, .group = 1});
      if (!idles || n < 20) run.add({.departed = n * 50'000 + 7, .member = 1, .group = 2});
    }
    for (const int group : {1, 2}) run.add({.departed = 2'100'000, .member = group - 1, .group = group});
    EXPECT_THAT(run.broken("use"), SizeIs(idles ? 1 : 0));
  }
}

/// Two permits, flights of 100 ms, a queue; between two flights a permit lies idle for `idle`.
HandMade permits_that_idle(Time idle, int processes) {
  HandMade run({semaphore(2)}, processes);
  for (int n = 0; n < 60; ++n) {
    const Time at = 1'000 + n / 2 * (100'000 + idle);
    run.add({.departed = at, .flight = 100'000, .member = n / 2 % processes});
  }
  for (int i = 0; i < processes; ++i) run.add({.departed = 30 * (100'000 + idle) + 1'000, .member = i});
  return run;
}

TEST(UseOfPermits, is_99_percent_and_two_round_trips_for_each_that_goes_to_another_process) {
  EXPECT_THAT(permits_that_idle(900, 1).broken("use"), IsEmpty());
  EXPECT_THAT(permits_that_idle(1'100, 1).broken("use"), SizeIs(1));
  EXPECT_THAT(permits_that_idle(1'300, 2).broken("use"), IsEmpty());  // 0.4 ms more are allowed
  EXPECT_THAT(permits_that_idle(1'600, 2).broken("use"), SizeIs(1));
}

// ---- shares ---------------------------------------------------------------------------------------------------------

TEST(Shares, are_within_a_tenth_of_the_mean) {
  for (const auto& [first, broken] : {std::pair{54, 0u}, std::pair{56, 1u}}) {
    HandMade run({pacer(100)}, 2);
    for (int n = 1; n <= 1'200; ++n) run.add({.departed = n * 10'000, .member = n % 100 < first ? 0 : 1});
    for (const int member : {0, 1}) run.add({.departed = 12'010'000, .member = member});
    EXPECT_THAT(run.broken("shares"), SizeIs(broken));
    EXPECT_NEAR(run.judged().figures.widest_shares, first / (100.0 - first), 0.02);
  }
}

TEST(Shares, are_of_those_alone_that_want_all_the_time) {
  HandMade run({pacer(100)}, 2);
  for (int n = 1; n <= 1'200; ++n) {
    const int member = n % 10 == 0 ? 1 : 0;
    run.add({.arrived = member == 1 ? n * 10'000 - 100 : 0, .departed = n * 10'000, .member = member});
  }
  run.add({.departed = 12'010'000});
  EXPECT_THAT(run.broken("shares"), IsEmpty());
}

TEST(Shares, of_permits_are_of_permits_times_time) {
  for (const auto& [flight, broken] : {std::pair{110'000, 0u}, std::pair{130'000, 1u}}) {
    HandMade run({semaphore(2)}, 2);
    for (int n = 0; n < 100; ++n) {
      run.add({.departed = 1'000 + n * 130'000, .flight = 100'000, .member = 0});
      run.add({.departed = 1'000 + n * 130'000, .flight = flight, .member = 1});
    }
    for (const int member : {0, 1}) run.add({.departed = 13'001'000, .member = member});
    EXPECT_THAT(run.broken("shares"), SizeIs(broken));
  }
}

// ---- order, draining, waits -----------------------------------------------------------------------------------------

TEST(Order, is_that_of_arrival_in_each_lane) {
  HandMade run({pacer(100)}, 2);
  run.add({.arrived = 0, .departed = 500});
  run.add({.arrived = 10, .departed = 400, .group = 1});
  run.add({.arrived = 20, .departed = 300, .member = 1});
  EXPECT_THAT(run.broken("order"), IsEmpty());
  run.add({.arrived = 30, .departed = 499});
  EXPECT_THAT(run.broken("order"), SizeIs(1));
}

TEST(Order, gives_each_request_one_outcome) {
  HandMade run({pacer(100)});
  run.pass(0, 3);
  EXPECT_THAT(run.broken("order"), IsEmpty());
  run.journal.requests[1].end = Request::End::refused;
  EXPECT_THAT(run.broken("order"), SizeIs(1));
  run.journal.requests[2].end = Request::End::none;
  EXPECT_THAT(run.broken("order"), SizeIs(2));
}

TEST(Order, lets_nobody_wait_beyond_its_deadline) {
  for (const auto& [wait, broken] : {std::pair{1'001'000, 0u}, std::pair{1'001'001, 1u}}) {  // a timer's millisecond
    HandMade run({pacer(100)});
    run.plan.members[0].settings.max_wait = kSecond;
    run.add({.arrived = 5, .departed = 5 + wait});
    EXPECT_THAT(run.broken("order"), SizeIs(broken));
  }
  HandMade waits_still({pacer(100)});
  waits_still.plan.members[0].settings.max_wait = kSecond;
  waits_still.pass(2 * kSecond, 1);
  waits_still.journal.requests.push_back({.arrived = 0});
  EXPECT_THAT(waits_still.broken("order"), SizeIs(1));
}

/// 200 requests at 100 a second and 1 % slower, a grant of three and a request, 50 ms, and a second: 3.11 s.
TEST(Draining, ends_a_second_after_the_limit_would_have_let_all_go) {
  for (const auto& [last, broken] : {std::pair{3'100'000, 0u}, std::pair{3'112'000, 1u}}) {
    HandMade run({pacer(100)});
    for (int n = 1; n < 200; ++n) run.add({.departed = n * 10'000});
    run.add({.departed = last});
    EXPECT_THAT(run.broken("drains"), SizeIs(broken));
  }
}

TEST(Draining, of_groups_is_each_for_itself) {
  for (const auto& [last, broken] : {std::pair{3'100'000, 0u}, std::pair{3'112'000, 1u}}) {
    HandMade run({each_group(pacer(100))});
    for (int n = 1; n < 200; ++n) {
      for (const int group : {1, 2}) run.add({.departed = n * 10'000, .group = group});
    }
    run.add({.departed = last, .group = 2});
    EXPECT_THAT(run.broken("drains"), SizeIs(broken));
  }
}

TEST(Draining, goes_on_while_less_arrives_than_may_leave) {
  for (const double rate :
       {99.0, 62.0}) {  // with 60 arrivals a second the 300 must be gone after 7.5 s; draining two a second is too slow
    HandMade run({pacer(100)});
    double leaves = 0;
    for (int n = 0; n < 1'200; ++n) {
      const Time arrives = n < 300 ? 0 : (n - 299) * 1'000'000 / 60;
      leaves = std::max(leaves + 1e6 / rate, static_cast<double>(arrives));
      run.add({.arrived = arrives, .departed = static_cast<Time>(leaves)});
    }
    EXPECT_EQ(run.broken("drains").empty(), rate == 99.0);
  }
}

/// Two processes: the fair wait for one request is 20 ms. Three times that, two rounds of grants of three, a horizon
/// and two trips: 230.4 ms.
TEST(Waits, are_at_most_thrice_the_fair_one_and_two_rounds_of_grants) {
  for (const auto& [wait, broken] : {std::pair{230'400, 0u}, std::pair{230'500, 1u}}) {
    HandMade run({pacer(100)}, 2);
    for (int n = 1; n < 100; ++n) run.add({.departed = n * 10'000, .member = 0});
    run.add({.arrived = 500'000, .departed = 500'000 + wait, .member = 1});
    EXPECT_THAT(run.broken("waits"), SizeIs(broken));
  }
}

/// Two round trips of 0.2 ms, a millisecond, and the clock error of 0.2 ms: 1.6 ms. One of 100 may be off.
TEST(Alone, means_to_do_as_one_process_without_redis) {
  for (const auto& [off, those, broken] :
       {std::tuple{1'600, 50, 0u}, std::tuple{1'601, 1, 0u}, std::tuple{1'601, 2, 1u}}) {
    HandMade run({pacer(100)});
    for (int n = 0; n < 100; ++n) run.add({.departed = n * 10'000 + (n < those ? off : 0)});
    EXPECT_THAT(run.broken("alone"), SizeIs(broken));
  }
}

TEST(Keys, are_gone_in_the_end_but_for_the_marks_of_the_server) {
  HandMade run({pacer(100)});
  run.journal.keys_left = {"penstock:born", "penstock:labels"};
  EXPECT_THAT(run.broken("keys"), IsEmpty());
  run.journal.keys_left.push_back("penstock:{u}:turns");
  EXPECT_THAT(run.broken("keys"), SizeIs(1));
}

TEST(Judges, say_a_rule_ten_times_at_most) {
  HandMade run({window(1, kSecond)});
  for (int second = 0; second < 30; ++second) run.pass(second * kSecond, 2, {.group = second});
  run.plan.limits = {each_group(window(1, kSecond))};
  EXPECT_THAT(run.broken("keeps"), SizeIs(kMostVerdicts));
}

}  // namespace
}  // namespace penstock::simulation
