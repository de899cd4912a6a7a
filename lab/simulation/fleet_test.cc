// SPDX-License-Identifier: Apache-2.0
// The simulation's own machinery: runs repeat exactly, time passes as planned, and each fault does what its name says.
#include "simulation/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "loop/timer.h"
#include "simulation/machine.h"
#include "simulation/network.h"

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// Processes whose clients always want more than a pacer allows.
Plan plan_of(int members, double qps = 100) {
  Plan plan{.seed = 7, .length = 10 * kSecond};
  plan.limits = {LimitConfig{.kind = PacerConfig{.qps = qps}}};
  for (int i = 0; i < members; ++i) {
    Member member{.settings = {.max_concurrent = 100, .max_pending = 1'000, .max_wait = kMinute}};
    member.demand = {.clients = 50, .flight = 2 * kMillisecond, .flight_varies = true};
    plan.members.push_back(member);
  }
  return plan;
}

Plan with(Plan plan, Fault fault) {
  plan.faults.push_back(std::move(fault));
  return plan;
}

std::size_t departures_between(const Journal& journal, Time from, Time to, int member = -1) {
  return static_cast<std::size_t>(std::ranges::count_if(journal.departures, [&](std::uint64_t id) {
    const Request& request = journal.requests[id];
    return request.departed >= from && request.departed < to && (member < 0 || request.member == member);
  }));
}

TEST(Fleet, repeats_itself_to_the_microsecond) {
  Plan plan = plan_of(3);
  plan.members[1].drift_ppm = 200;
  plan.members[2].demand = {.rate = 50, .groups = 5, .zipf = 1, .leaves = 0.2};
  plan.limits.push_back({.kind = WindowConfig{50, 1s}});
  plan = with(plan, {.kind = Fault::Kind::clients_killed, .at = 3 * kSecond});
  const Journal one = run(plan), other = run(plan);
  ASSERT_GT(one.departures.size(), 100u);
  EXPECT_EQ(one.departures, other.departures);
  EXPECT_EQ(one.events, other.events);
  EXPECT_TRUE(std::ranges::equal(one.requests, other.requests, {}, &Request::departed, &Request::departed));
  plan.seed = 8;
  EXPECT_NE(run(plan).events, one.events);
}

TEST(Fleet, of_one_process_has_the_whole_limit) {
  const Journal journal = run(plan_of(1));
  EXPECT_GE(departures_between(journal, kSecond, 9 * kSecond), 799u);
  EXPECT_LE(departures_between(journal, kSecond, 9 * kSecond), 801u);
}

/// Where asks cannot say it, SharedPermits.are_divided_while_something_else_stands_under_their_key fails without it.
TEST(Fleet, says_along_with_asks_that_its_processes_are_there) {
  EXPECT_EQ(run(plan_of(3)).presences.size(), 3u) << "only as they begin";
}

TEST(Fleet, leaves_no_request_without_an_end_but_those_under_way) {
  Plan plan = plan_of(2);
  for (auto& member : plan.members) member.demand.until = 5 * kSecond;
  const Journal journal = run(plan);
  for (const Request& request : journal.requests) EXPECT_NE(request.end, Request::End::none);
}

TEST(Faults, of_a_redis_that_stops_are_seen_and_over_when_it_is_back) {
  const Journal journal =
      run(with(plan_of(2), {.kind = Fault::Kind::redis_stops, .at = 3 * kSecond, .lasts = 2 * kSecond}));
  for (const int member : {0, 1}) {
    std::vector<std::pair<bool, Time>> ups;
    for (const Standing& standing : journal.standings) {
      if (standing.member == member && (ups.empty() || ups.back().first != standing.up))
        ups.emplace_back(standing.up, standing.at);
    }
    ASSERT_EQ(ups.size(), 4u) << "coming up, gone, and up again";
    EXPECT_GE(ups[2].second, 3 * kSecond);
    EXPECT_LE(ups[2].second, 3 * kSecond + 100 * kMillisecond);
    EXPECT_GE(ups[3].second, 5 * kSecond);
    EXPECT_LE(ups[3].second, 6 * kSecond) << "within a second";
  }
}

TEST(Faults, freeze_one_process_alone) {
  const Journal journal =
      run(with(plan_of(2), {.kind = Fault::Kind::frozen, .at = 3 * kSecond, .lasts = 2 * kSecond, .member = 0}));
  EXPECT_EQ(departures_between(journal, 3 * kSecond + 1, 5 * kSecond, 0), 0u);
  EXPECT_GT(departures_between(journal, 3 * kSecond, 5 * kSecond, 1), 100u);
  EXPECT_GT(departures_between(journal, 6 * kSecond, 8 * kSecond, 0), 50u);
}

TEST(Faults, kill_one_process_with_all_that_it_had) {
  const Journal journal = run(with(plan_of(2), {.kind = Fault::Kind::killed, .at = 3 * kSecond, .member = 1}));
  EXPECT_EQ(departures_between(journal, 3 * kSecond + 1, 10 * kSecond, 1), 0u);
  for (const Request& request : journal.requests) {
    EXPECT_TRUE(request.member == 0 || request.end != Request::End::none);
  }
}

TEST(Fleet, lets_a_process_end_that_is_told_to_and_its_permits_are_free_at_once) {
  Plan plan = plan_of(2);
  plan.limits = {LimitConfig{.kind = SemaphoreConfig{4, 30s}}};
  plan.length = 30 * kSecond;
  for (auto& member : plan.members) member.demand.flight = 50 * kMillisecond;
  plan.members[1].ends = 20 * kSecond;
  const Journal journal = run(plan);
  EXPECT_GT(departures_between(journal, 17 * kSecond, 20 * kSecond, 1), 30u);
  EXPECT_EQ(departures_between(journal, 22 * kSecond, 30 * kSecond, 1), 0u);
  EXPECT_GE(departures_between(journal, 23 * kSecond, 24 * kSecond, 0), 60u) << "80 by all four permits";
}

TEST(Faults, lose_a_connection_in_the_middle_of_what_it_carries) {
  bool executed = false, not_executed = false;
  for (std::uint64_t seed = 1; seed <= 20 && !(executed && not_executed); ++seed) {
    World world(seed);
    RedisServer server([&] { return world.now(); }, "id");
    Hosts hosts{.all = {Host{server}}};
    Machine machine(world, 0, 0, 0);
    Network network(world, machine, hosts, {.round_trip = 10 * kMillisecond}, [](bool) {});
    struct Events final : loop::StreamEvents {
      void on_connected() override { up = true; }
      void on_read(std::string_view bytes) override { heard += bytes; }
      void on_gone() override { gone = true; }
      void on_drained() override {}
      bool up = false, gone = false;
      std::string heard;
    } events;
    const auto stream = static_cast<redis::Network&>(network).dial(
        machine.loop(), {"127.0.0.1", RedisSlots::kFirstPort}, "127.0.0.1", events);
    world.run_until(kSecond);
    ASSERT_TRUE(events.up);
    stream->send("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n");
    world.run_until(kSecond + kMillisecond);
    network.lose(Network::Which::all);
    world.run_until(2 * kSecond);
    EXPECT_TRUE(events.gone);
    EXPECT_EQ(stream->error(), ECONNRESET);
    EXPECT_EQ(server.connections(), 0u);
    (server.keys("k").empty() ? not_executed : executed) = true;
  }
  EXPECT_TRUE(executed);
  EXPECT_TRUE(not_executed);
}

/// A connection that worked is dialed again at once, however often it is lost.
TEST(Faults, lose_connections_each_second_and_hold_loses_next_to_nothing) {
  Plan plan = plan_of(1, 300);
  plan.when_down = WhenDown::wait;
  plan.length = 20 * kSecond;
  for (Time at = kSecond; at < plan.length; at += kSecond) {
    plan.faults.push_back({.kind = Fault::Kind::clients_killed, .at = at});
  }
  const Journal journal = run(plan);
  const std::size_t all = 300 * 18;
  EXPECT_GE(departures_between(journal, 2 * kSecond, 20 * kSecond), all * 95 / 100);
  EXPECT_LE(departures_between(journal, 2 * kSecond, 20 * kSecond), all + 15);
}

TEST(Faults, cut_one_process_off_and_its_calls_time_out) {
  const Journal journal =
      run(with(plan_of(2), {.kind = Fault::Kind::cut_off, .at = 3 * kSecond, .lasts = 2 * kSecond, .member = 0}));
  const auto down = std::ranges::find_if(
      journal.standings, [](const Standing& standing) { return standing.at > 3 * kSecond && !standing.up; });
  ASSERT_NE(down, journal.standings.end());
  EXPECT_EQ(down->member, 0);
  EXPECT_LE(down->at, 3 * kSecond + 150 * kMillisecond) << "its time-out, from the next call on";
  const bool told =
      std::ranges::any_of(journal.notices, [](const auto& text) { return text.contains("no answer in time"); });
  EXPECT_TRUE(told);
}

TEST(Faults, pause_the_upstream_for_everybody) {
  const Journal journal =
      run(with(plan_of(3), {.kind = Fault::Kind::paused, .at = 3 * kSecond, .lasts = 2 * kSecond, .member = 0}));
  EXPECT_EQ(departures_between(journal, 3'100 * kMillisecond, 5 * kSecond), 0u);
  EXPECT_GT(departures_between(journal, 5 * kSecond, 6 * kSecond), 50u);
}

TEST(Machine, shows_a_clock_that_drifts_and_wakes_its_loop_by_it) {
  World world(1);
  Machine machine(world, 0, 1'000, 10'000);  // fast by one hundredth
  std::vector<Time> fired;
  loop::Timer timer(machine.loop(), [&] { fired.push_back(world.now()); });
  machine.happen([&] { timer.start(machine.now() + 1'010'000); });
  world.run_until(2 * kSecond);
  EXPECT_THAT(fired, testing::ElementsAre(kSecond));
  EXPECT_EQ(machine.now(), 1'000 + 2'020'000);
  EXPECT_EQ(machine.in_world(machine.now()), 2 * kSecond);
}

/// What a frozen process does when it runs on, in a world with this seed.
std::vector<int> thawed(std::uint64_t seed) {
  World world(seed);
  Machine machine(world, 0, 0, 0);
  std::vector<int> done;
  const auto note = [&](int what) {
    EXPECT_EQ(world.now(), 1'000);
    done.push_back(what);
  };
  loop::Timer timer(machine.loop(), [&] { note(0); });
  machine.happen([&] { timer.start(100); });
  machine.freeze_until(1'000);
  for (const int what : {1, 2}) {
    world.at(100 * what, [&, what] { machine.happen([&, what] { note(what); }); });
  }
  world.run_until(2'000);
  return done;
}

TEST(Machine, does_what_came_while_it_was_frozen_when_it_runs_on) {
  std::set<std::vector<int>> seen;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) seen.insert(thawed(seed));
  EXPECT_THAT(seen, testing::UnorderedElementsAre(std::vector{0, 1, 2}, std::vector{1, 2, 0}))
      << "timers or messages first, as it may be with a real one";
}

}  // namespace
}  // namespace penstock::simulation
