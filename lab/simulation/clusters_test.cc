// SPDX-License-Identifier: Apache-2.0
// Fleets whose Redis is a cluster, or a master with a replica: slots move, nodes go, replicas take over.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "simulation/fleet.h"

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;
using enum Fault::Kind;

constexpr Time kInterval = 5 * kSecond;
constexpr int kReservoir = 600;
/// Departures of two processes may be off against each other at the edge of a window.
constexpr int kAtAnEdge = 3;

/// Three busy processes under a window that is spent within its first second.
Plan busy(int masters, std::vector<Fault> faults) {
  Member member{.jitter = 0, .settings = {.max_concurrent = 500, .max_pending = 10'000, .max_wait = kHour}};
  member.demand = {.clients = 300, .flight = kMillisecond};
  Plan plan{.seed = 3, .limits = {{.kind = WindowConfig{kReservoir, Duration{kInterval}}}}, .masters = masters};
  plan.members.assign(3, member);
  plan.when_down = WhenDown::wait;  // by `share` the unheard comes on top
  plan.faults = std::move(faults);
  plan.length = 40 * kSecond;
  return plan;
}

/// So long after the third window's beginning.
Time in_third_window(Time after) {
  Plan plan = busy(0, {});
  plan.length = 1;
  const Time begin = run(plan).wall_at_begin;
  return 3 * kInterval - begin % kInterval + after;
}

/// By windows, in order.
std::map<Time, int> by_window(const Journal& journal) {
  std::map<Time, int> all;
  for (const auto id : journal.departures) {
    ++all[(journal.wall_at_begin + journal.requests[id].departed) / kInterval];
  }
  return all;
}

int most_in_a_window(const Journal& journal) {
  int most = 0;
  for (const auto& [window, count] : by_window(journal)) most = std::max(most, count);
  return most;
}

bool any_without_redis(const Journal& journal) {
  return std::ranges::any_of(journal.departures, [&](auto id) { return journal.requests[id].without_redis; });
}

/// Whether all that may leave does, from that time on.
bool all_is_used(const Journal& journal, Time from) {
  const auto windows = by_window(journal);
  const Time first = (journal.wall_at_begin + from) / kInterval + 1, last = windows.rbegin()->first;
  for (Time window = first; window < last; ++window) {
    if (!windows.contains(window) || windows.at(window) < kReservoir) return false;
  }
  return last > first;
}

bool was_said(const Journal& journal, std::string_view text) {
  return std::ranges::any_of(journal.notices, [&](const auto& notice) { return notice.contains(text); });
}

TEST(Cluster, is_as_good_as_one_redis) {
  const Journal journal = run(busy(3, {}));
  EXPECT_LE(most_in_a_window(journal), kReservoir + kAtAnEdge);
  EXPECT_TRUE(all_is_used(journal, kInterval));
  EXPECT_FALSE(std::ranges::any_of(journal.departures, [&](auto id) {
    const Request& request = journal.requests[id];
    return request.without_redis && request.departed > kSecond;
  }));
}

TEST(Cluster, takes_along_what_was_granted_when_a_slot_moves) {
  for (const Time after : {2 * kMillisecond, 100 * kMillisecond, 900 * kMillisecond, 4 * kSecond}) {
    const Time at = in_third_window(after);
    const Journal journal = run(busy(3, {{.kind = slot_moves, .at = at, .lasts = 300 * kMillisecond}}));
    EXPECT_LE(most_in_a_window(journal), kReservoir + kAtAnEdge) << after;
    EXPECT_TRUE(all_is_used(journal, at + 2 * kSecond)) << after;
  }
}

TEST(Cluster, sends_away_whom_it_does_not_answer_while_a_slot_moves) {
  const Time at = in_third_window(100 * kMillisecond);
  Plan plan = busy(3, {{.kind = slot_moves, .at = at, .lasts = 2 * kSecond}});
  plan.limits = {{.kind = PacerConfig{.qps = 100}}};
  const Journal journal = run(plan);
  EXPECT_TRUE(was_said(journal, "TRYAGAIN") || was_said(journal, "non local key"));
}

TEST(Replica, that_lacks_the_last_writes_is_noticed) {
  const char* const kNoticed = "    if latest > found then return anew(found) end\n";
  for (const int masters : {0, 3}) {
    const Fault fault{.kind = node_fails_over,
                      .at = in_third_window(1'500 * kMillisecond),
                      .lasts = 200 * kMillisecond,
                      .back = 1'600 * kMillisecond};
    const Plan plan = busy(masters, {fault});
    EXPECT_LE(most_in_a_window(run(plan)), kReservoir + kAtAnEdge) << masters;
    EXPECT_GT(most_in_a_window(run(plan, {kNoticed, ""})), kReservoir + kReservoir / 4)
        << "or this test could not fail, " << masters;
  }
}

TEST(Replica, that_takes_over_from_a_master_that_lives_or_stalls_grants_nothing_twice) {
  for (const auto kind : {node_taken_over, node_outlived}) {
    for (const int masters : {0, 3}) {
      const Time at = in_third_window(700 * kMillisecond);
      const Fault fault{.kind = kind, .at = at, .lasts = 600 * kMillisecond, .back = 300 * kMillisecond};
      const Journal journal = run(busy(masters, {fault}));
      EXPECT_LE(most_in_a_window(journal), kReservoir + kAtAnEdge) << static_cast<int>(kind) << ", " << masters;
      EXPECT_TRUE(all_is_used(journal, at + 5 * kSecond)) << static_cast<int>(kind) << ", " << masters;
    }
  }
}

TEST(OtherNodes, are_no_matter_of_this_upstream) {
  for (const auto kind : {redis_stops, redis_stalls, node_fails_over, node_taken_over, node_outlived, slot_moves}) {
    Fault fault{.kind = kind, .at = in_third_window(300 * kMillisecond), .lasts = 2 * kSecond};
    fault.elsewhere = true;
    Plan plan = busy(3, {fault});
    plan.when_down = WhenDown::share;
    for (Member& member : plan.members) member.demand.from = 2 * kSecond;  // it has connected before
    EXPECT_FALSE(any_without_redis(run(plan))) << static_cast<int>(kind);
    plan.faults.front().elsewhere = false;
    plan.limits = {{.kind = PacerConfig{.qps = 100}}};
    EXPECT_TRUE(any_without_redis(run(plan))) << "at its own node, " << static_cast<int>(kind);
  }
}

}  // namespace
}  // namespace penstock::simulation
