// SPDX-License-Identifier: Apache-2.0
// The judges of what happens during and after faults, and the table of what faults excuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "simulation/allowances_page.h"
#include "simulation/hand_made.h"

namespace penstock::simulation {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using enum Fault::Kind;

/// Sends `units` in one window of ten, which two processes share.
std::size_t breaks_with(int units, Fault::Kind kind, WhenDown mode, Time lasts = 500'000) {
  HandMade run({window(10, kSecond)}, 2);
  run.plan.when_down = mode;
  run.fail(kind, 100'000, lasts, 0);
  run.pass(400'000, units);
  return run.broken("keeps").size();
}

TEST(Allowances, of_one_process_alone_are_its_part) {
  for (const auto kind : {connection_lost, cut_off}) {
    EXPECT_EQ(breaks_with(15, kind, WhenDown::share), 0u);
    EXPECT_EQ(breaks_with(16, kind, WhenDown::share), 1u);
    EXPECT_EQ(breaks_with(11, kind, WhenDown::wait), 1u);
    EXPECT_EQ(breaks_with(11, kind, WhenDown::refuse), 1u);
    EXPECT_EQ(breaks_with(100, kind, WhenDown::open), 0u);
  }
}

TEST(Allowances, of_a_window_are_none_where_all_lose_redis) {
  for (const auto kind : {redis_stops, redis_loses_memory, redis_goes_back, redis_flushed, redis_stalls, clients_killed,
                          out_of_memory, read_only, denied}) {
    EXPECT_EQ(breaks_with(10, kind, WhenDown::share), 0u);
    EXPECT_EQ(breaks_with(11, kind, WhenDown::share), 1u);
    EXPECT_EQ(breaks_with(100, kind, WhenDown::open), 0u);
  }
}

TEST(Allowances, of_what_is_no_outage_are_none) {
  for (const auto mode : {WhenDown::share, WhenDown::wait, WhenDown::open, WhenDown::refuse}) {
    for (const auto kind : {scripts_flushed, mailbox_lost, killed, paused}) EXPECT_EQ(breaks_with(11, kind, mode), 1u);
    EXPECT_EQ(breaks_with(11, redis_stalls, mode, 40'000), 1u) << "shorter than redis.timeout";
  }
}

TEST(Allowances, end_with_the_fault) {
  HandMade run({window(10, kSecond)}, 2);
  run.fail(cut_off, 100'000, 500'000, 0);
  run.pass(2'600'000, 15);  // two seconds are allowed to return and to replay
  EXPECT_THAT(run.broken("keeps"), IsEmpty());
  run.pass(3'100'000, 11);
  EXPECT_THAT(run.broken("keeps"), SizeIs(1));
}

TEST(Allowances, of_a_pacer_alone_flow_at_its_part_of_the_rate) {
  for (const int too_many : {0, 2}) {
    HandMade run({pacer(100)}, 2);
    run.fail(cut_off, 0, 4 * kSecond, 0);
    for (int n = 0; n <= 600; ++n) run.pass(n * 10'000, n % 2 == 0 ? 1 : 2);  // 1.5 times the rate
    run.pass(6 * kSecond, too_many);  // allowed besides: half of a burst of 0, and one request
    EXPECT_THAT(run.broken("keeps"), SizeIs(too_many > 0 ? 1 : 0));
  }
}

TEST(Allowances, of_permits_are_none_but_for_a_process_away_for_longer_than_a_lease) {
  const auto over_by = [](int flights, Fault::Kind kind, Time lasts, WhenDown mode) {
    HandMade run({semaphore(10, 3 * kSecond)}, 2);
    run.plan.when_down = mode;
    run.fail(kind, 0, lasts, 0);
    run.pass(lasts, flights, {.flight = kSecond});
    return run.broken("keeps").size();
  };
  EXPECT_EQ(over_by(11, cut_off, 3 * kSecond, WhenDown::share), 1u);
  EXPECT_EQ(over_by(15, cut_off, 3 * kSecond + 1, WhenDown::share), 0u);
  EXPECT_EQ(over_by(16, cut_off, 3 * kSecond + 1, WhenDown::share), 1u);
  EXPECT_EQ(over_by(11, cut_off, 3 * kSecond + 1, WhenDown::wait), 1u);
  EXPECT_EQ(over_by(11, redis_stops, 9 * kSecond, WhenDown::share), 1u);
  EXPECT_EQ(over_by(20, frozen, 4 * kSecond, WhenDown::share), 0u);
  EXPECT_EQ(over_by(11, frozen, 2 * kSecond, WhenDown::share), 1u);
}

TEST(Allowances, of_lost_memory_are_whole_where_a_process_died_along) {
  for (const bool dies : {false, true}) {
    HandMade run({window(10, kSecond)}, 2);
    run.fail(redis_loses_memory, 200'000, 100'000);
    if (dies) run.fail(killed, 150'000, 0, 0);
    run.pass(100'000, 10);
    run.pass(400'000, 10);
    EXPECT_THAT(run.broken("keeps"), SizeIs(dies ? 0 : 1));
  }
}

TEST(AllowanceTable, says_why_and_names_nothing_that_excuses_nothing) {
  std::set<Fault::Kind> named;
  for (const AllowanceRow& row : allowance_table()) {
    EXPECT_FALSE(row.why.empty());
    EXPECT_FALSE(row.faults.empty() || row.kinds.empty());
    const Allowance& it = row.allowance;
    EXPECT_TRUE(it.anything || it.unheard || it.horizon || it.whole + it.part + it.each + it.refills + it.units > 0);
    named.insert(row.faults.begin(), row.faults.end());
  }
  for (const auto kind : {scripts_flushed, mailbox_lost, killed, paused}) EXPECT_FALSE(named.contains(kind));
}

/// The part of docs/limits.md between its marks. If it differs: script/simulate --allowances docs/limits.md
TEST(AllowanceTable, is_the_one_of_the_documentation) {
  std::ifstream file(PENSTOCK_LIMITS_PAGE);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  const std::string begins = "<!-- simulate: allowances -->\n", ends = "<!-- simulate: end -->\n";
  const auto from = page.find(begins);
  ASSERT_NE(from, page.npos);
  const auto until = page.find(ends, from);
  ASSERT_NE(until, page.npos);
  EXPECT_EQ(page.substr(from + begins.size(), until - from - begins.size()), allowances_page());
}

// ---- without Redis --------------------------------------------------------------------------------------------------

/// Two processes with a window of 20 a second; Redis stops for 6 s. Each second the first sends `each`, the second 10.
HandMade divided(int each, Fault::Kind kind = redis_stops, int member = -1) {
  HandMade run({window(20, kSecond)}, 2);
  run.fail(kind, 2 * kSecond, 6 * kSecond, member);
  for (int second = 0; second < 9; ++second) {
    for (const int one : {0, 1}) {
      const Time at = second * kSecond + 2 * kMillisecond;
      for (int n = 0; n < (one == 1 ? 10 : each); ++n) run.add({.departed = at, .member = one});
    }
  }
  for (const int one : {0, 1}) run.add({.departed = 9 * kSecond, .member = one});  // one of each waits all the time
  return run;
}

/// Of five whole windows four surely lie in the stretch: 40 units for each process, of which 1 % and two may be
/// missing.
TEST(Parts, are_used_without_redis) {
  EXPECT_THAT(divided(10).broken("parts"), IsEmpty());
  EXPECT_THAT(divided(5).broken("parts"), SizeIs(1));
  EXPECT_THAT(divided(5, cut_off, 0).broken("parts"), SizeIs(1));
  EXPECT_THAT(divided(5, cut_off, 1).broken("parts"), IsEmpty()) << "the other has Redis";
  HandMade held = divided(5);
  held.plan.when_down = WhenDown::wait;
  EXPECT_THAT(held.broken("parts"), IsEmpty());
}

/// A replica has taken over from a node that still stalls, so a process has Redis before the fault is over.
TEST(Parts, are_used_until_the_process_is_with_redis_again) {
  for (const auto& [member, back, broken] :
       {std::tuple{0, 4 * kSecond, 0u}, std::tuple{0, 9 * kSecond, 1u}, std::tuple{1, 4 * kSecond, 1u}}) {
    HandMade run = divided(5, node_outlived);
    for (const int one : {0, 1}) run.journal.standings.push_back({.at = 1, .member = one, .up = true});
    for (const int one : {0, 1}) run.journal.standings.push_back({.at = 2'050'000, .member = one});
    run.journal.standings.push_back({.at = back, .member = member, .up = true});
    EXPECT_THAT(run.broken("parts"), SizeIs(broken)) << member << " at " << back;
  }
}

/// Earlier bookings may still leave, for as long as a departure may be booked ahead and an answer may take.
TEST(Held, is_what_needs_redis_while_it_is_away) {
  for (const auto mode : {WhenDown::wait, WhenDown::refuse, WhenDown::share}) {
    for (const auto& [late, broken] : {std::pair<Time, unsigned>{99'999, 0}, std::pair<Time, unsigned>{100'000, 1}}) {
      HandMade run({window(20, kSecond)});
      run.plan.when_down = mode;
      run.journal.standings.push_back({.at = 2 * kSecond, .up = false, .degraded = true});
      Request& request = run.add({.departed = 2 * kSecond + late});
      request.without_redis = true;
      EXPECT_THAT(run.broken("degraded"), SizeIs(mode == WhenDown::share ? 0u : broken)) << late;
    }
  }
}

// ---- keys -----------------------------------------------------------------------------------------------------------

TEST(Keys, that_stay_for_ever_are_two_also_after_a_fault) {
  HandMade run({window(20, kSecond)});
  run.fail(redis_loses_memory, kSecond, kSecond);
  run.pass(kSecond, 1);
  run.journal.keys_left = {"p:born", "p:labels"};
  EXPECT_THAT(run.broken("keys"), IsEmpty());
  run.journal.keys_left.push_back("p:{api}:window");
  EXPECT_THAT(run.broken("keys"), SizeIs(1));
}

// ---- recovery -------------------------------------------------------------------------------------------------------

/// Each process is up one second and four trips after the return.
TEST(Recovery, has_each_process_up_within_a_second) {
  for (const auto& [up, broken] : {std::pair{3'000'800, 0u}, std::pair{3'000'900, 1u}}) {
    HandMade run({pacer(100)}, 2);
    run.fail(redis_stops, kSecond, kSecond);
    for (const int member : {0, 1})
      run.journal.standings.push_back({.at = kSecond, .member = member, .degraded = true});
    run.journal.standings.push_back({.at = 2'500'000, .member = 0, .up = true});
    run.journal.standings.push_back({.at = up, .member = 1, .up = true});
    run.pass(5 * kSecond, 1);
    EXPECT_THAT(run.broken("recovery"), SizeIs(broken));
  }
}

TEST(Recovery, expects_nobody_who_cannot_reach_redis) {
  HandMade run({pacer(100)}, 2);
  run.fail(redis_stops, kSecond, kSecond);
  run.fail(cut_off, 2 * kSecond, 10 * kSecond, 1);
  run.journal.standings.push_back({.at = kSecond, .member = 1, .degraded = true});
  run.pass(5 * kSecond, 1);
  EXPECT_THAT(run.broken("recovery"), IsEmpty());
}

TEST(Recovery, uses_the_limit_again_when_all_are_back) {
  for (const auto& [lost, broken] : {std::pair{5, 0u}, std::pair{9, 1u}}) {
    HandMade run({pacer(100)}, 3);
    run.fail(redis_stops, 100'000, 100'000);
    queue_of(run, 100, 4 * kSecond, [&](Time at) { return at > 2 * kSecond && at <= 2 * kSecond + lost * 10'000; });
    EXPECT_THAT(run.broken("recovery"), SizeIs(broken));
  }
}

void return_with(HandMade& run, int calls) {
  run.journal.standings.push_back({.at = 2'300'000, .member = 0, .up = true});
  for (int n = 0; n < calls; ++n) run.journal.calls.push_back({.at = 2'300'000 + n});
  run.pass(5 * kSecond, 1);
}

/// Plus 1.2 times what the rate needs in 50 ms, which is 5. By `share` a process first replays what it did alone.
TEST(Storm, is_more_than_two_calls_of_each_process_when_redis_returns_or_three_by_share) {
  using Case = std::tuple<WhenDown, int, unsigned>;
  for (const auto& [mode, calls, broken] : {Case{WhenDown::wait, 10, 0}, Case{WhenDown::wait, 11, 1},
                                            Case{WhenDown::share, 12, 0}, Case{WhenDown::share, 13, 1}}) {
    HandMade run({pacer(100)}, 2);
    run.plan.when_down = mode;
    run.fail(clients_killed, kSecond, kSecond);
    run.journal.calls.push_back({.at = 2'350'001});
    return_with(run, calls);
    EXPECT_THAT(run.broken("storm"), SizeIs(broken));
  }
}

/// The slot may have moved, or a replica has taken over: the former node is called in vain. The other faults of a
/// cluster move nothing. Of a server that is another, or has lost its memory, nothing comes until all have come to it:
/// each process looks twice more.
TEST(Storm, is_a_call_more_where_another_node_answers_and_two_more_where_processes_wait_for_each_other) {
  for (const auto& [kind, calls] : {std::pair{cluster_down, 12}, std::pair{slot_moves, 14}, std::pair{redis_stops, 16},
                                    std::pair{redis_flushed, 16}, std::pair{node_fails_over, 18}}) {
    for (const int more : {0, 1}) {
      HandMade run({pacer(100)}, 2);
      run.plan.masters = 3;
      run.fail(kind, kSecond, kSecond);
      return_with(run, calls + more);
      EXPECT_THAT(run.broken("storm"), SizeIs(more)) << name_of(kind);
    }
  }
}

/// What Redis has lost is told to it by any rule.
TEST(Storm, is_a_call_more_by_wait_where_memory_is_lost) {
  for (const auto& [kind, calls] : {std::pair{redis_stops, 14}, std::pair{redis_flushed, 16}}) {
    for (const int more : {0, 1}) {
      HandMade run({pacer(100)}, 2);
      run.plan.when_down = WhenDown::wait;
      run.fail(kind, kSecond, kSecond);
      return_with(run, calls + more);
      EXPECT_THAT(run.broken("storm"), SizeIs(more)) << name_of(kind);
    }
  }
}

/// The second fault is noticed to be over just when the first is.
TEST(Storm, of_two_faults_is_what_both_returns_do_not_take) {
  for (const auto& [at, calls] : {std::pair{1'900 * kMillisecond, 18}, std::pair{500 * kMillisecond, 12}}) {
    for (const int more : {0, 1}) {
      HandMade run({pacer(100)}, 2);
      run.fail(clients_killed, at, kMillisecond);
      run.fail(clients_killed, 2 * kSecond, 200 * kMillisecond);
      return_with(run, calls + more);
      EXPECT_EQ(run.broken("storm").empty(), more == 0) << at;
    }
  }
}

TEST(Storm, of_a_process_that_waits_for_no_other_is_more_than_three_calls) {
  for (const auto& [calls, broken] : {std::pair{9, 0u}, std::pair{10, 1u}}) {
    HandMade run({pacer(100)}, 1);
    run.fail(redis_flushed, kSecond, kSecond);
    return_with(run, calls);
    EXPECT_THAT(run.broken("storm"), SizeIs(broken)) << calls;
  }
}

/// Who waits for a counter's reset says so, and permits that came back are returned.
TEST(Storm, is_a_call_more_for_each_counter_and_each_semaphore_that_is_shared) {
  LimitConfig own = {.kind = CounterConfig{100, 1s}};
  own.shared = false;
  using Limits = std::vector<LimitConfig>;
  for (const auto& [limits, least] :
       {std::pair{Limits{pacer(100), {.kind = CounterConfig{100, 1s}}}, 14},
        std::pair{Limits{pacer(100), {.kind = CounterConfig{100, 1s}}, {.kind = CounterConfig{200, 1s}}}, 16},
        std::pair{Limits{pacer(100), own}, 12},
        std::pair{Limits{pacer(100), {.kind = SemaphoreConfig{.capacity = 9, .lease = 5s}}}, 18}}) {
    for (const int more : {0, 1}) {
      HandMade run(limits, 2);
      run.fail(clients_killed, kSecond, kSecond);
      return_with(run, least + more);
      EXPECT_THAT(run.broken("storm"), SizeIs(more)) << least;
    }
  }
}

TEST(Storm, is_not_a_call_of_each_group_that_waits) {
  for (const auto& [calls, broken] : {std::pair{12, 0u}, std::pair{13, 1u}}) {
    LimitConfig of_each{.kind = PacerConfig{1}};
    of_each.per = LimitConfig::Per::group;
    HandMade run({pacer(100), of_each}, 2);
    for (Member& member : run.plan.members) member.demand.groups = 3;
    run.fail(clients_killed, kSecond, kSecond);
    run.journal.standings.push_back({.at = 2'300'000, .member = 0, .up = true});
    for (int n = 0; n < calls; ++n) run.journal.calls.push_back({.at = 2'300'000 + n});
    run.pass(5 * kSecond, 1);
    EXPECT_THAT(run.broken("storm"), SizeIs(broken)) << calls;
  }
}

/// A period of a counter begins when Redis is back: 20 depart at once, with 1.2 calls each, and each process
/// says that it waits for the next.
TEST(Storm, is_not_what_a_burst_of_departures_needs) {
  for (const auto& [calls, broken] : {std::pair{32, 0u}, std::pair{33, 1u}}) {
    HandMade run({{.kind = CounterConfig{100, 1s}}}, 2);
    run.fail(clients_killed, kSecond, kSecond);
    run.journal.standings.push_back({.at = 2'300'000, .member = 0, .up = true});
    for (int n = 0; n < calls; ++n) run.journal.calls.push_back({.at = 2'300'000 + n});
    run.pass(2'350'000, 20);
    run.pass(2'350'001, 20);
    run.pass(5 * kSecond, 1);
    EXPECT_THAT(run.broken("storm"), SizeIs(broken));
  }
}

TEST(UseOfLimits, is_not_judged_while_a_fault_lasts_and_settles) {
  HandMade run({pacer(100)}, 2);
  run.fail(cut_off, 0, kSecond, 1);
  queue_of(run, 100, 3 * kSecond, [](Time at) { return at > kSecond / 2 && at < 2 * kSecond; });
  EXPECT_THAT(run.broken("use"), IsEmpty());
}

/// What left without limits by `open` is no debt. A silence afterwards is as wrong as any.
TEST(UseOfLimits, is_owed_nothing_by_what_left_without_limits) {
  for (const bool silent : {false, true}) {
    HandMade run({pacer(100)});
    run.plan.when_down = WhenDown::open;
    run.fail(redis_stops, 0, kSecond);
    for (int n = 1; n < 100; ++n) {
      for (int same = 0; same < 30; ++same) run.add({.departed = n * 10'000}).without_redis = true;
    }
    queue_of(run, 100, 9 * kSecond, [&](Time at) { return at < kSecond || silent; });
    EXPECT_EQ(run.broken("use").empty(), !silent);
  }
}

// ---- what is said meanwhile -----------------------------------------------------------------------------------------

TEST(Degraded, is_said_by_whoever_sends_without_redis) {
  for (const bool says : {true, false}) {
    HandMade run({pacer(100)});
    run.fail(redis_stops, kSecond, kSecond);
    run.journal.standings.push_back({.at = kSecond, .degraded = says});
    run.journal.standings.push_back({.at = 2 * kSecond, .up = true});
    run.add({.departed = 1'500'000}).without_redis = true;
    EXPECT_THAT(run.broken("degraded"), SizeIs(says ? 0 : 1));
  }
}

/// Booked departures leave within 50 ms, and redis.timeout is another 50 ms.
TEST(Degraded, is_said_by_nobody_who_sends_with_redis) {
  for (const auto& [at, broken] : {std::pair{1'099'999, 0u}, std::pair{1'100'001, 1u}}) {
    HandMade run({pacer(100)});
    run.journal.standings.push_back({.at = kSecond, .degraded = true});
    run.pass(at, 1);
    EXPECT_THAT(run.broken("degraded"), SizeIs(broken));
  }
}

/// The process that hears of the pause stops after a horizon, the others a trip and the clock error (0.2 ms each)
/// later.
TEST(Pauses, hold_everywhere_within_a_horizon) {
  for (const auto& [member, at, broken] :
       {std::tuple{0, 1'050'000, 0u}, std::tuple{0, 1'050'001, 1u}, std::tuple{1, 1'050'400, 0u},
        std::tuple{1, 1'050'401, 1u}, std::tuple{1, 2'999'799, 1u}, std::tuple{1, 2'999'800, 0u}}) {
    HandMade run({pacer(100)}, 2);
    run.journal.pauses.push_back({.at = kSecond, .member = 0, .until = 3 * kSecond});
    run.pass(at, 1, {.member = member});
    EXPECT_THAT(run.broken("pauses"), SizeIs(broken)) << member << " at " << at;
  }
}

TEST(Pauses, of_a_group_hold_that_group) {
  for (const int group : {1, 2}) {
    HandMade run({pacer(100)});
    run.journal.pauses.push_back({.at = kSecond, .member = 0, .group = 1, .until = 3 * kSecond});
    run.pass(2 * kSecond, 1, {.group = group});
    EXPECT_THAT(run.broken("pauses"), SizeIs(group == 1 ? 1 : 0));
  }
}

/// A lease of 30 s is renewed every 5 s, and permits last for half of it: an outage of 10 s is survived for sure.
TEST(Cuts, are_for_those_that_could_not_renew_for_half_a_lease) {
  for (const auto& [lasts, broken] : {std::pair{10 * kSecond, 1u}, std::pair{11 * kSecond, 0u}}) {
    HandMade run({semaphore(10)}, 2);
    run.fail(redis_stops, kSecond, lasts);
    run.add({.departed = 0, .flight = 10 * kSecond}).end = Request::End::cut;
    EXPECT_THAT(run.broken("cuts"), SizeIs(broken));
  }
  HandMade rates({pacer(10)});
  rates.fail(redis_stops, kSecond, kHour);
  rates.add({.departed = 0, .flight = kMinute}).end = Request::End::cut;
  EXPECT_THAT(rates.broken("cuts"), SizeIs(1));
}

}  // namespace
}  // namespace penstock::simulation
