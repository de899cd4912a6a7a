// SPDX-License-Identifier: Apache-2.0
// Redis refuses one of the commands that scripts call: no more leaves than `whenDown` allows, /status says so, and all
// goes on as before when the command is allowed again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "redis/wire/self_test.h"
#include "simulation/fleet.h"

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::vector<std::string> commands_that_scripts_need() {
  std::vector<std::string> commands{"evalsha", "script", "keys"};
  for (const auto command : redis::kScriptCommands) {
    if (command != "publish" && command != "pubsub|numsub") commands.emplace_back(command);
  }
  return commands;
}

Plan three_at(LimitConfig::Kind kind, const std::string& command, Time at, Time lasts, WhenDown when_down) {
  Plan plan{.seed = 7, .limits = {LimitConfig{.kind = kind}}, .when_down = when_down, .length = 12 * kSecond};
  for (int i = 0; i < 3; ++i) {
    plan.members.push_back({.settings = {.max_concurrent = 100, .max_pending = 1'000, .max_wait = kMinute},
                            .demand = {.clients = 40, .flight = 2 * kMillisecond}});
  }
  plan.faults = {{.kind = Fault::Kind::denied, .at = at, .lasts = lasts, .command = command}};
  return plan;
}

std::ptrdiff_t left_in(const Journal& journal, Time from, Time to) {
  return std::ranges::count_if(journal.requests, [&](const Request& request) {
    return request.departed != kNotYet && request.departed >= from && request.departed < to;
  });
}

std::ptrdiff_t most_in(const Journal& journal, Time length) {
  std::ptrdiff_t most = 0;
  std::size_t first = 0;
  const auto at = [&](std::size_t n) { return journal.requests[journal.departures[n]].departed; };
  for (std::size_t last = 0; last < journal.departures.size(); ++last) {
    while (at(last) - at(first) >= length) ++first;
    most = std::max(most, static_cast<std::ptrdiff_t>(last - first + 1));
  }
  return most;
}

/// Whether each process said `degraded` last before that moment.
bool all_said(const Journal& journal, Time before, bool degraded) {
  std::vector<int> said(3, -1);
  for (const Standing& one : journal.standings) {
    if (one.at < before) said[static_cast<std::size_t>(one.member)] = one.degraded;
  }
  return std::ranges::count(said, degraded ? 1 : 0) == 3;
}

TEST(RefusedCommand, lets_nothing_leave_by_hold_from_the_begin_on) {
  for (const auto& command : commands_that_scripts_need()) {
    SCOPED_TRACE(command);
    const Journal journal = run(three_at(SlidingWindowConfig{100, 1s}, command, 0, 0, WhenDown::wait));
    EXPECT_TRUE(journal.departures.empty());
    EXPECT_TRUE(all_said(journal, 12 * kSecond, true));
    ASSERT_FALSE(journal.notices.empty());
    EXPECT_THAT(journal.notices[0], HasSubstr("its user default may not "));
    EXPECT_LE(journal.notices.size(), 3u) << "one of each process";
  }
}

TEST(RefusedCommand, while_it_runs_leaves_each_process_its_part) {
  for (const auto& command : commands_that_scripts_need()) {
    SCOPED_TRACE(command);
    const Journal journal = run(three_at(PacerConfig{.qps = 300}, command, 4 * kSecond, 3 * kSecond, WhenDown::share));
    EXPECT_LE(most_in(journal, kSecond), 322) << "what was booked for the next 60 ms leaves beside the parts";
    EXPECT_GE(left_in(journal, 4 * kSecond, 7 * kSecond), 850) << "by three parts";
    EXPECT_GE(left_in(journal, 9 * kSecond, 11 * kSecond), 594);
    EXPECT_TRUE(all_said(journal, 10 * kSecond, false));
    const bool each_call_needs_it = command == "evalsha" || command == "keys" || command == "time" || command == "get";
    const bool with_redis = std::ranges::any_of(journal.requests, [](const Request& request) {
      return request.departed >= 4'100 * kMillisecond && request.departed < 7 * kSecond && !request.without_redis;
    });
    EXPECT_FALSE(each_call_needs_it && with_redis);
  }
}

/// Permits, and processes that wait for a reset, depend on the messages of other processes.
TEST(RefusedMessages, take_semaphores_and_counters_off_redis) {
  for (const std::string what : {"channels", "publish", "subscribe"}) {
    for (const LimitConfig::Kind& kind :
         {LimitConfig::Kind(SemaphoreConfig{4, 5s}), LimitConfig::Kind(CounterConfig{100, 1s})}) {
      SCOPED_TRACE(what);
      const Journal journal = run(three_at(kind, what, 0, 6 * kSecond, WhenDown::wait));
      const Time known = what == "subscribe" ? 100 * kMillisecond : 0;  // noticed over another connection only
      EXPECT_EQ(left_in(journal, known, 6 * kSecond), 0);
      EXPECT_TRUE(all_said(journal, 6 * kSecond, true));
      EXPECT_GT(left_in(journal, 8 * kSecond, 12 * kSecond), 300);
      EXPECT_TRUE(all_said(journal, 12 * kSecond, false));
    }
  }
}

TEST(RefusedMessages, leave_other_limits_as_they_are) {
  for (const std::string what : {"channels", "publish", "subscribe"}) {
    SCOPED_TRACE(what);
    const Journal journal = run(three_at(PacerConfig{.qps = 300}, what, 0, 0, WhenDown::wait));
    EXPECT_LE(most_in(journal, kSecond), 302);
    EXPECT_GE(left_in(journal, kSecond, 11 * kSecond), 2'970);
    EXPECT_TRUE(all_said(journal, 12 * kSecond, false));
    ASSERT_FALSE(journal.notices.empty());
    EXPECT_THAT(journal.notices[0], HasSubstr("to grant it: ACL SETUSER default "));
  }
}

}  // namespace
}  // namespace penstock::simulation
