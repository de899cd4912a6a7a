// SPDX-License-Identifier: Apache-2.0
// Semaphores that several processes share, in virtual time: how many permits are in use, which processes have them,
// what that costs in calls, and that no fault lets more requests fly than the capacity.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "simulation/fleet.h"
#include "simulation/in_flight.h"

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;

constexpr Time kLease = 30 * kSecond;
constexpr Time kOpen = kLease / 2 + 2 * kSecond;  // the first use of a new semaphore has to wait for half a lease

struct Shape {
  int capacity = 10;
  int members = 3;
  int clients = 15;  // of each process
  Time flight = 50 * kMillisecond;
  std::vector<Time> round_trips = {200};  // of the processes in turn
  Time measured = 8 * kSecond;
};

Plan plan_for(const Shape& shape) {
  Plan plan{.seed = 5, .length = kOpen + shape.measured};
  plan.limits = {{.kind = SemaphoreConfig{.capacity = shape.capacity, .lease = Duration{kLease}}}};
  for (int i = 0; i < shape.members; ++i) {
    Member member{.settings = {.max_concurrent = 100, .max_pending = 1'000, .max_wait = kHour}};
    member.round_trip = shape.round_trips[static_cast<std::size_t>(i) % shape.round_trips.size()];
    member.demand = {.clients = shape.clients, .flight = shape.flight};
    plan.members.push_back(member);
  }
  return plan;
}

Plan meets(Plan plan, Fault fault) {
  plan.faults.push_back(std::move(fault));
  return plan;
}

/// The fraction of the permits' time that was used between `from` and `to`, by one process or by all.
double used(const Journal& journal, Time from, Time to, int capacity, int member = -1) {
  Time sum = 0;
  for (const std::uint64_t id : journal.departures) {
    const Request& request = journal.requests[id];
    if (member >= 0 && request.member != member) continue;
    sum += std::max<Time>(0, std::min(end_of(journal, request), to) - std::max(request.departed, from));
  }
  return static_cast<double>(sum) / static_cast<double>(capacity * (to - from));
}

std::size_t ended_so(const Journal& journal, Request::End end) {
  return static_cast<std::size_t>(std::ranges::count(journal.requests, end, &Request::end));
}

std::size_t started(const Journal& journal, Time from, Time to, int member = -1) {
  return static_cast<std::size_t>(std::ranges::count_if(journal.departures, [&](std::uint64_t id) {
    const Request& request = journal.requests[id];
    return request.departed >= from && request.departed < to && (member < 0 || request.member == member);
  }));
}

/// Without the calls by which processes say once a second that they are there.
double calls_a_request(const Journal& journal, Time from, Time to, int members) {
  const auto calls =
      std::ranges::count_if(journal.calls, [&](const Call& call) { return call.at >= from && call.at < to; });
  const double alive = static_cast<double>(members * (to - from)) / kSecond;
  return (static_cast<double>(calls) - alive) / static_cast<double>(started(journal, from, to));
}

/// The least and the most that one process had, as fractions of an equal share.
std::pair<double, double> shares(const Journal& journal, const Shape& shape, Time from, Time to) {
  double least = 1e9, most = 0;
  for (int member = 0; member < shape.members; ++member) {
    const double share = used(journal, from, to, shape.capacity, member) * shape.members;
    least = std::min(least, share), most = std::max(most, share);
  }
  return {least, most};
}

// ---- in quiet times -------------------------------------------------------------------------------------------------

/// All processes always want more than there is.
void expect_used(const Shape& shape, double least_used, double most_calls, double widest_share = 0.1) {
  const Journal journal = run(plan_for(shape));
  const Time to = kOpen + shape.measured;
  EXPECT_GE(used(journal, kOpen, to, shape.capacity), least_used);
  EXPECT_LE(calls_a_request(journal, kOpen, to, shape.members), most_calls);
  const auto [least, most] = shares(journal, shape, kOpen, to);
  const double mean = used(journal, kOpen, to, shape.capacity);
  EXPECT_GE(least, mean * (1 - widest_share));
  EXPECT_LE(most, mean * (1 + widest_share));
  EXPECT_LE(most_in_flight(journal), shape.capacity);
  EXPECT_EQ(ended_so(journal, Request::End::cut), 0u);
}

TEST(SharedPermits, are_in_use_nearly_always_where_redis_is_near) { expect_used({}, 0.99, 0.3, 0.02); }
TEST(SharedPermits, are_in_use_nearly_always_where_redis_is_far) {
  expect_used({.round_trips = {5 * kMillisecond}}, 0.97, 0.3, 0.02);
}
TEST(SharedPermits, are_as_many_for_a_process_that_is_far_away) {
  expect_used({.round_trips = {200, 5 * kMillisecond, 40 * kMillisecond}}, 0.95, 0.3, 0.02);
}
TEST(SharedPermits, of_twenty_are_in_use_with_three_processes) { expect_used({.capacity = 20}, 0.99, 0.3, 0.02); }
TEST(SharedPermits, of_twenty_are_in_use_with_eight_processes) {
  expect_used({.capacity = 20, .members = 8}, 0.99, 0.5, 0.02);
}
TEST(SharedPermits, fewer_than_processes_go_round) {
  expect_used({.capacity = 5, .members = 8, .measured = 20 * kSecond}, 0.98, 2.01, 0.02);
}
TEST(SharedPermits, a_single_one_goes_round) {
  expect_used({.capacity = 1, .clients = 3, .measured = 20 * kSecond}, 0.98, 2.01, 0.02);
}
TEST(SharedPermits, of_short_flights_are_in_use_most_of_the_time) {
  expect_used({.flight = 2 * kMillisecond, .measured = 4 * kSecond}, 0.98, 0.05, 0.02);
}

/// The lane of each group asks by itself.
TEST(SharedPermits, cost_no_more_than_three_calls_where_every_request_has_a_lane_of_its_own) {
  Plan plan = plan_for({.capacity = 2, .clients = 4, .measured = 20 * kSecond});
  for (auto& member : plan.members) member.demand.groups = 1'000;
  const Journal journal = run(plan);
  EXPECT_GE(used(journal, kOpen, plan.length, 2), 0.97);
  EXPECT_LE(calls_a_request(journal, kOpen, plan.length, 3), 3.01);
  EXPECT_LE(most_in_flight(journal), 2);
}

TEST(SharedPermits, that_one_process_has_alone_go_over_to_another_that_comes) {
  Plan plan = plan_for({});
  plan.members[1].demand.from = plan.members[2].demand.from = kOpen + kSecond;
  const Journal journal = run(plan);
  EXPECT_GE(used(journal, kOpen, kOpen + kSecond, 10, 0), 0.99) << "no other process wants any";
  EXPECT_LE(used(journal, kOpen + kSecond + 200 * kMillisecond, plan.length, 10, 0), 0.38);
  EXPECT_LE(most_in_flight(journal), 10);
}

TEST(SharedPermits, that_a_process_does_not_want_are_for_the_others) {
  Plan plan = plan_for({});
  plan.members[0].demand.clients = 1;
  const Journal journal = run(plan);
  EXPECT_GE(used(journal, kOpen, plan.length, 10, 0), 0.085)
      << "one of ten, that it wants, but for the wait until a request of a process that has more lands";
  EXPECT_GE(used(journal, kOpen, plan.length, 10), 0.97);
  const double first = used(journal, kOpen, plan.length, 10, 1), second = used(journal, kOpen, plan.length, 10, 2);
  EXPECT_NEAR(first, second, 0.045);
}

TEST(SharedPermits, that_land_start_nobody_during_a_pause_that_another_process_was_asked_for) {
  const Time from = kOpen + kSecond;
  for (const int member : {0, 1, 2}) {
    const Journal journal =
        run(meets(plan_for({}), {.kind = Fault::Kind::paused, .at = from, .lasts = 2 * kSecond, .member = member}));
    EXPECT_EQ(started(journal, from + 50 * kMillisecond, from + 2 * kSecond), 0u) << "asked of process " << member;
    EXPECT_GE(used(journal, from + 2'500 * kMillisecond, kOpen + 8 * kSecond, 10), 0.98);
  }
}

TEST(SharedPermits, start_nobody_in_a_pause_of_which_a_process_could_not_hear) {
  using Kind = Fault::Kind;
  const Time from = kOpen + 5 * kSecond, lasts = 500 * kMillisecond;
  for (const Kind kind :
       {Kind::redis_loses_memory, Kind::redis_stops, Kind::clients_killed, Kind::mailbox_lost, Kind::connection_lost}) {
    for (const Time later : {Time{-100}, Time{100}, 20 * kMillisecond, 300 * kMillisecond}) {
      for (const WhenDown rule : {WhenDown::share, WhenDown::wait}) {
        Plan plan = plan_for({});
        plan.when_down = rule;
        plan.faults = {{.kind = kind, .at = from, .lasts = kind <= Kind::redis_loses_memory ? lasts : 0, .member = 1},
                       {.kind = Kind::paused, .at = from + later, .lasts = 5 * kSecond, .member = 0}};
        EXPECT_EQ(started(run(plan), from + kSecond, from + later + 5 * kSecond), 0u)
            << static_cast<int>(kind) << ", " << later << " us before the pause, " << static_cast<int>(rule);
      }
    }
  }
}

TEST(SharedPermits, beside_a_pacer_cost_no_more_than_two_calls) {
  Plan plan = plan_for({});
  plan.limits.push_back({.kind = PacerConfig{.qps = 1'000}});
  const Journal journal = run(plan);
  EXPECT_GE(used(journal, kOpen, plan.length, 10), 0.97);
  EXPECT_LE(calls_a_request(journal, kOpen, plan.length, 3), 2);
  EXPECT_LE(most_in_flight(journal), 10);
}

/// Bookings that are not used are given back; this does not concern a semaphore.
TEST(SharedPermits, beside_a_pacer_stay_shared_when_clients_give_up) {
  Plan plan = plan_for({.clients = 2});
  plan.limits.push_back({.kind = PacerConfig{.qps = 30}});
  for (auto& member : plan.members) member.demand.leaves = 1, member.demand.leaves_after = 20 * kMillisecond;
  const Journal journal = run(plan);
  EXPECT_GE(ended_so(journal, Request::End::left), 100u);
  for (const Standing& standing : journal.standings) EXPECT_TRUE(!standing.degraded || standing.at < kSecond);
}

// ---- a process that does not come -----------------------------------------------------------------------------------

TEST(SharedPermits, are_for_the_others_while_one_process_is_frozen_but_for_its_part) {
  for (const Time round_trip : {Time{200}, 5 * kMillisecond}) {
    Plan plan = plan_for({.round_trips = {round_trip}});
    const Time from = kOpen + kSecond;
    const Journal journal =
        run(meets(plan, {.kind = Fault::Kind::frozen, .at = from, .lasts = 7 * kSecond, .member = 0}));
    const double others =
        used(journal, from + kSecond, plan.length, 10, 1) + used(journal, from + kSecond, plan.length, 10, 2);
    EXPECT_GE(others, round_trip == 200 ? 0.6 : 0.57) << "with " << round_trip << " us to Redis";
    EXPECT_LE(most_in_flight(journal), 10);
  }
}

TEST(SharedPermits, a_single_one_is_not_kept_for_a_process_that_is_frozen) {
  Plan plan = plan_for({.capacity = 1, .clients = 3});
  // The process is most probably frozen while it waits. It may have the permit; then only its request could fly.
  plan.members[0].demand.clients = 0;
  plan.members[0].demand.spike = 2;
  plan.members[0].demand.spike_at = kOpen + kSecond;
  plan.faults.push_back(
      {.kind = Fault::Kind::frozen, .at = kOpen + kSecond + 1'000, .lasts = 5 * kSecond, .member = 0});
  const Journal journal = run(plan);
  EXPECT_EQ(started(journal, kOpen + kSecond, kOpen + 6 * kSecond, 0), 0u);
  EXPECT_GE(used(journal, kOpen + kSecond, kOpen + 6 * kSecond, 1), 0.95) << "50 ms are lost once";
}

TEST(SharedPermits, are_for_the_others_while_one_process_is_cut_off) {
  Plan plan = plan_for({});
  const Time from = kOpen + kSecond;
  const Journal journal =
      run(meets(plan, {.kind = Fault::Kind::cut_off, .at = from, .lasts = 7 * kSecond, .member = 0}));
  // The tenth permit goes round. If the cut-off process has it, and returns it before it notices that Redis no longer
  // hears, it has the permit no more, and Redis does not know.
  EXPECT_GE(used(journal, from + kSecond, plan.length, 9), 0.97) << "it uses its own part meanwhile";
  EXPECT_LE(most_in_flight(journal), 10);
  EXPECT_EQ(ended_so(journal, Request::End::cut), 0u);
}

TEST(SharedPermits, of_one_that_is_killed_are_back_within_a_lease_and_the_others_have_theirs) {
  Plan plan = plan_for({.measured = 40 * kSecond});
  const Time from = kOpen + kSecond;
  const Journal journal = run(meets(plan, {.kind = Fault::Kind::killed, .at = from, .member = 0}));
  EXPECT_GE(used(journal, from + kSecond, from + kLease / 2, 10), 0.6);
  EXPECT_GE(used(journal, from + kLease + kSecond, plan.length, 10), 0.97);
}

/// No other process called when its lease ended.
TEST(SharedPermits, of_one_that_is_killed_are_free_for_whoever_comes_after_its_lease) {
  const Time joins = kOpen + kLease + kMinute;
  Plan plan = plan_for({.members = 2, .measured = kLease + 2 * kMinute});
  plan.members[1].joins = joins;
  const Journal journal = run(meets(plan, {.kind = Fault::Kind::killed, .at = kOpen, .member = 0}));
  EXPECT_GE(used(journal, joins + 200 * kMillisecond, joins + 3 * kSecond, 10), 0.97);
}

// ---- Redis goes -----------------------------------------------------------------------------------------------------

/// One process holds all permits. The others want one at times, and many when Redis goes.
Journal with_one_that_holds_all(Fault fault, Time measured = 8 * kSecond) {
  Plan plan = plan_for({.flight = 300 * kMillisecond, .measured = measured});
  for (const std::size_t other : {1u, 2u}) {
    Demand& demand = plan.members[other].demand;
    demand.clients = 0, demand.rate = 1;
    demand.spike = 15, demand.spike_at = fault.at + 10 * kMillisecond;
  }
  return run(meets(plan, fault));
}

TEST(SharedPermits, are_never_more_than_the_capacity_while_redis_is_gone) {
  const Time from = kOpen + kSecond;
  for (const Time lasts : {20 * kMillisecond, 3 * kSecond}) {
    const Fault fault{.kind = Fault::Kind::redis_stops, .at = from, .lasts = lasts};
    for (const Journal& journal :
         {run(meets(plan_for({.flight = 300 * kMillisecond}), fault)), with_one_that_holds_all(fault)}) {
      EXPECT_LE(most_in_flight(journal), 10);
      EXPECT_EQ(ended_so(journal, Request::End::cut), 0u) << "a process that keeps to what it holds flies on";
      EXPECT_GE(used(journal, from, from + lasts, 10), 0.9) << "what was held goes on";
      EXPECT_GE(used(journal, from + lasts + kSecond, kOpen + 8 * kSecond, 10), 0.97);
    }
  }
}

TEST(SharedPermits, lose_nobody_who_flies_when_connections_are_lost) {
  Plan plan = plan_for({.flight = 300 * kMillisecond});
  for (int i = 1; i <= 5; ++i) {
    plan.faults.push_back({.kind = Fault::Kind::clients_killed, .at = kOpen + i * kSecond});
    plan.faults.push_back(
        {.kind = Fault::Kind::connection_lost, .at = kOpen + i * kSecond + 500 * kMillisecond, .member = i % 3});
  }
  const Journal journal = run(plan);
  EXPECT_EQ(ended_so(journal, Request::End::cut), 0u);
  EXPECT_LE(most_in_flight(journal), 10);
  EXPECT_GE(used(journal, kOpen, plan.length, 10), 0.9);
}

TEST(SharedPermits, are_down_to_the_part_of_each_half_a_lease_after_redis_went) {
  const Time from = kOpen + kSecond;
  const Fault fault{.kind = Fault::Kind::redis_stops, .at = from, .lasts = 50 * kSecond};
  for (const Journal& journal : {run(meets(plan_for({.flight = 300 * kMillisecond, .measured = 70 * kSecond}), fault)),
                                 with_one_that_holds_all(fault, 70 * kSecond)}) {
    EXPECT_LE(most_in_flight(journal), 10) << "whatever Redis forgot of leases in so long a time";
    for (int member = 0; member < 3; ++member) {
      EXPECT_LE(used(journal, from + kLease / 2 + 3 * kSecond, from + 50 * kSecond, 10, member), 0.3 + 1e-9);
    }
    EXPECT_GE(used(journal, from + 52 * kSecond, kOpen + 70 * kSecond, 10), 0.97);
  }
}

TEST(SharedPermits, beyond_the_capacity_are_at_most_the_part_of_one_that_is_cut_off_for_longer_than_a_lease) {
  const Time from = kOpen + kSecond;
  Plan plan = plan_for({.flight = 300 * kMillisecond, .measured = 60 * kSecond});
  const Journal journal =
      run(meets(plan, {.kind = Fault::Kind::cut_off, .at = from, .lasts = 45 * kSecond, .member = 0}));
  EXPECT_LE(most_in_flight(journal), 13);
  EXPECT_LE(most_in_flight(journal, from + 47 * kSecond), 10) << "two seconds after its return";
  const auto cuts = std::ranges::count_if(journal.requests, [&](const Request& request) {
    return request.end == Request::End::cut && request.ended > from + 40 * kSecond;
  });
  EXPECT_EQ(cuts, 0) << "what was left to it flies on at its return";
}

TEST(SharedPermits, hold_when_redis_stands_still_for_longer_than_a_lease) {
  const Time from = kOpen + kSecond;
  Plan plan = plan_for({.flight = kSecond, .measured = 60 * kSecond});
  const Journal journal = run(meets(plan, {.kind = Fault::Kind::redis_stalls, .at = from, .lasts = 40 * kSecond}));
  EXPECT_LE(most_in_flight(journal), 10);
}

TEST(SharedPermits, hold_when_redis_forgets_everything) {
  const Time from = kOpen + kSecond;
  for (const auto kind : {Fault::Kind::redis_loses_memory, Fault::Kind::redis_flushed}) {
    Plan plan = plan_for({.flight = 300 * kMillisecond, .measured = 30 * kSecond});
    const Journal journal = run(meets(plan, {.kind = kind, .at = from, .lasts = kSecond}));
    EXPECT_LE(most_in_flight(journal), 10);
    EXPECT_EQ(ended_so(journal, Request::End::cut), 0u);
    EXPECT_GE(used(journal, from + 3 * kSecond, from + 10 * kSecond, 10), 0.9)
        << "a process that holds some uses them again";
    EXPECT_GE(used(journal, from + kLease / 2 + 3 * kSecond, plan.length, 10), 0.97);
  }
}

/// Permits that were granted before the foreign value end within half a lease; then each process has its part until
/// that value is gone.
TEST(SharedPermits, are_divided_while_something_else_stands_under_their_key) {
  const Time from = kOpen + kSecond, lasts = 60 * kSecond;
  for (const Time joins : {Time{0}, from + kSecond}) {
    Plan plan = plan_for({.flight = 300 * kMillisecond, .measured = 80 * kSecond});
    plan.members[2].joins = joins;
    const Journal journal =
        run(meets(plan, {.kind = Fault::Kind::key_foreign, .at = from, .lasts = lasts, .key = ":semaphore"}));
    EXPECT_LE(most_in_flight(journal, 0, from + lasts), 10);
    const Time divided = from + kLease / 2 + 3 * kSecond;
    EXPECT_LE(calls_a_request(journal, divided, from + lasts, 3), 3.2) << "when one lands, and when the next asks";
    for (int member = 0; member < 3; ++member) {
      EXPECT_GE(used(journal, divided, from + lasts, 10, member), 0.2) << "process " << member;
      EXPECT_LE(used(journal, divided, from + lasts, 10, member), 0.3 + 1e-9) << "process " << member;
    }
    EXPECT_GE(used(journal, from + lasts + 2 * kSecond, plan.length, 10), 0.97);
  }
}

// ---- messages -------------------------------------------------------------------------------------------------------

TEST(SharedPermits, are_asked_for_anew_when_messages_come_again) {
  Plan plan = plan_for({.capacity = 1, .clients = 2, .measured = 20 * kSecond});
  for (int i = 0; i < 40; ++i) {
    plan.faults.push_back({.kind = Fault::Kind::mailbox_lost, .at = kOpen + i * 500 * kMillisecond, .member = i % 3});
  }
  const Journal journal = run(plan);
  EXPECT_GE(used(journal, kOpen, plan.length, 1), 0.85);
  const auto [least, most] = shares(journal, {.capacity = 1}, kOpen, plan.length);
  EXPECT_GE(least, 0.7);
}

/// Long flights: at the moment of a call there is hardly ever a free permit, and a renewal is ten minutes away.
TEST(SharedPermits, are_found_by_a_process_that_missed_all_messages) {
  const Time lost = 20 * kSecond, heard = 30 * kSecond;
  Plan plan = plan_for({.capacity = 1, .members = 2, .clients = 2, .flight = 2 * kSecond, .measured = 60 * kSecond});
  plan.limits = {{.kind = SemaphoreConfig{.capacity = 1, .lease = 1h}}};
  const Journal journal = run(meets(plan, {.kind = Fault::Kind::publishes_lost, .at = lost, .lasts = heard - lost}));
  for (const int member : {0, 1}) {
    EXPECT_GE(started(journal, heard, heard + 6 * kSecond, member), 1u);
    EXPECT_GE(used(journal, heard, plan.length, 1, member), 0.4);
  }
}

TEST(SharedPermits, cost_no_departure_of_another_limit_when_messages_are_refused) {
  Plan plan = plan_for({.capacity = 4, .clients = 5, .flight = 20 * kMillisecond});
  plan.limits.push_back({.kind = PacerConfig{.qps = 100}});
  plan.when_down = WhenDown::wait;
  const Journal journal = run(meets(plan, {.kind = Fault::Kind::denied, .at = kOpen, .command = "publish"}));
  const Time from = kOpen + kSecond;
  EXPECT_LE(started(journal, from, plan.length), 701u);
  for (const Standing& standing : journal.standings) EXPECT_TRUE(standing.up || standing.at < kOpen);
}

}  // namespace
}  // namespace penstock::simulation
