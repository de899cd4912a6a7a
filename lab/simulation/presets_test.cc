// SPDX-License-Identifier: Apache-2.0
// Each preset against a counter that plays what its vendor publishes: clients ask as fast as they are served, each
// request takes up to 20 ms to arrive, and none may be too many.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "config/presets.h"
#include "simulation/arrivals.h"
#include "simulation/fleet.h"
#include "simulation/vendor_rules.h"

namespace penstock::simulation {
namespace {

constexpr int kCold = 3;  // so many requests of each process leave late, as on new connections

/// Three groups where the preset has some.
Plan plan_of(const UpstreamConfig& upstream, int processes, Time length) {
  Plan plan{.seed = 1, .length = length};
  plan.limits = upstream.settings.limits;
  Member member{
      .settings = {.max_concurrent = upstream.settings.max_concurrent, .max_pending = 1'000, .max_wait = kDay}};
  const bool grouped = upstream.settings.group.has_value();  // with clients for each of its groups at any time
  member.demand = {.clients = grouped ? 60 : 10, .groups = grouped ? 3 : 0, .flight = kMillisecond, .cold = kCold};
  plan.members.assign(static_cast<std::size_t>(processes), member);
  return plan;
}

/// When the requests of that group, or of all (-1), left; ascending.
std::vector<Time> departures_of(const Journal& journal, int group) {
  std::vector<Time> times;
  for (const auto id : journal.departures) {
    const Request& request = journal.requests[id];
    if (group < 0 || request.group == group) times.push_back(request.departed);
  }
  std::ranges::sort(times);
  return times;
}

void expect_kept(const Rule& rule, const Journal& journal, int groups) {
  for (int group = rule.each_group ? 0 : -1; group < (rule.each_group ? groups : 0); ++group) {
    const auto left = departures_of(journal, group);
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      EXPECT_LE(most_of(rule, arrivals(left, seed)), rule.most) << "in " << rule.unit << " us, group " << group;
    }
  }
}

/// Of the first rule, over two and a half units, once all connections are warm for a unit.
double used(const Rule& rule, const Journal& journal, int processes) {
  const Time warm = departures_of(journal, -1).at(static_cast<std::size_t>(kCold * processes)) + rule.unit;
  const auto left = departures_of(journal, rule.each_group ? 0 : -1);
  const auto from = std::ranges::lower_bound(left, warm);
  const auto until = std::ranges::upper_bound(left, *from + 5 * rule.unit / 2);
  const Time took = *std::prev(until) - *from;
  return took == 0 ? 0 : static_cast<double>(until - from - 1) / took * rule.unit / rule.most;
}

/// Until what is used can be seen, and a second unit begins where the first request begins one.
Time length_for(const std::vector<Rule>& rules) {
  Time length = 20 * kSecond;
  for (const Rule& rule : rules)
    length = std::max(length, rule.counted == Counted::in_any_stretch ? (5 + 9 * kCold / rule.most) * rule.unit
                                                                      : 11 * rule.unit / 10);
  return length;
}

/// An hour of thousands is played once.
std::vector<int> processes_for(const std::vector<Rule>& rules) {
  return rules.back().unit < kHour ? std::vector{1, 3} : std::vector{3};
}

TEST(PresetAgainstItsVendor, is_never_too_fast_and_wastes_nothing) {
  for (const auto& [name, rules] : kPublished) {
    SCOPED_TRACE(name.first + ", " + name.second);
    const auto config =
        read_config("version: 1\nupstreams: { a: { preset: " + name.first + ", plan: " + name.second + " } }\n", "f");
    ASSERT_TRUE(config) << to_string(config.error()[0]);
    const auto& upstream = config->upstreams.at(0);
    for (const int processes : processes_for(rules)) {
      const Journal journal = run(plan_of(upstream, processes, length_for(rules)));
      for (const Rule& rule : rules) expect_kept(rule, journal, 3);
      if (rules[0].counted == Counted::in_any_stretch) {
        EXPECT_GE(used(rules[0], journal, processes), 0.97) << processes << " processes";
      }
    }
  }
}

TEST(PresetAgainstItsVendor, is_tried_with_each_plan) {
  for (const auto& preset : config::presets()) {
    for (const auto& plan : preset.plans) {
      EXPECT_TRUE(kPublished.contains({preset.name, plan.name})) << preset.name << ", " << plan.name;
    }
  }
}

}  // namespace
}  // namespace penstock::simulation
