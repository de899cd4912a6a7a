// SPDX-License-Identifier: Apache-2.0
// The counter's elected resetter, and pauses that one daemon learns and all keep.
#include <gmock/gmock.h>

#include "system/redis_stage.h"

namespace penstock::trial {
namespace {

using testing::Each;
using testing::Le;
using testing::PrintToString;

/// What Redis keeps of the counter.
struct State {
  std::string version, leader;
  double reset = 0;  ///< when it was reset last, on Redis' clock
  double count = 0, last = 0, number = 0;
};

State state(SharedStage& stage) {
  State state;
  std::istringstream words(stage.value("counter"));
  words >> state.version >> state.reset >> state.count >> state.last >> state.number >> state.leader;
  return state;
}

std::string leader(SharedStage& stage) { return state(stage).leader; }

constexpr int kMax = 20;
constexpr double kPeriod = 2e6;
constexpr auto kLull = 1s;  // parts what leaves after one reset from what leaves after the next

/// The first daemon is alone until it leads; then the other comes, and both work without end.
struct LedByTheFirst : SharedStage {
  LedByTheFirst() : SharedStage({.limits = "counter: { max: 20, period: 2s }", .timeout = "8s", .is_killed = true}) {
    Daemon& first = add();
    load.emplace_back(std::vector{first.port()}, origin.url(), 12);
    EXPECT_TRUE(eventually([&] { return leader(*this).size() > 1; })) << value("counter");
    led_by = leader(*this);
    load.emplace_back(std::vector{add().port()}, origin.url(), 12);
    EXPECT_TRUE(arrivals.await(2 * kMax + 1));
    EXPECT_EQ(leader(*this), led_by);
  }
  std::vector<std::size_t> periods() const { return bursts(arrivals.times(), kLull); }

  /// Sooner or later two periods behind the first `before` carry all that they may; the last one may be going on. A
  /// machine that leaves a daemon waiting in the middle of a period cuts that period in two.
  bool come_to_use_all(std::size_t before) const {
    return eventually([&] {
      const auto counts = periods();
      const auto end = counts.size() - 1;
      for (auto i = before + 1; i + 1 < end; ++i) {
        if (counts[i] == 20u && counts[i + 1] == 20u) return true;
      }
      return false;
    });
  }

  std::string led_by;
  std::deque<Load> load;
};

TEST(Resetter, that_is_killed_is_replaced_within_a_period) {
  LedByTheFirst stage;
  const auto before = stage.periods().size();
  stage.daemons[0].signal(SIGKILL);
  const double last_of_the_killed = state(stage).reset;
  ASSERT_TRUE(eventually([&] { return leader(stage) != stage.led_by; }));
  EXPECT_LT(state(stage).reset - last_of_the_killed, 2 * kPeriod) << "it is late by less than one period";
  // In the first period without it, what had been booked for the killed one may still be missing.
  EXPECT_TRUE(stage.come_to_use_all(before)) << PrintToString(stage.periods());
  stage.load.clear();
  const auto counts = stage.periods();
  // What a daemon that was held up had booked leaves when it goes on, with what leaves in that period.
  EXPECT_LE(std::ranges::count_if(counts, [](auto count) { return count > 20; }), 1) << PrintToString(counts);
  EXPECT_THAT(counts, Each(Le(30u))) << "its half: two resets at once would be 40";
}

TEST(Resetter, that_was_deposed_does_no_harm) {
  LedByTheFirst stage;
  stage.daemons[0].signal(SIGSTOP);
  ASSERT_TRUE(eventually([&] { return leader(stage) != stage.led_by; }));
  const auto before = stage.periods().size();
  stage.daemons[0].signal(SIGCONT);
  EXPECT_TRUE(stage.come_to_use_all(before)) << PrintToString(stage.periods());
  stage.load.clear();
  const auto counts = stage.periods();
  // What the first had booked before it froze left when it woke up, with what left in that period.
  EXPECT_LE(std::ranges::count_if(counts, [](auto count) { return count > 20; }), 1);
}

TEST(LearnedPause, of_one_daemon_delays_the_other) {
  SharedStage stage({.timeout = "8s"});
  const Daemon &told = stage.add(), &other = stage.add();
  stage.origin.on("/busy", scripts::answers(429, "later", "Retry-After: 1\r\n"));
  EXPECT_EQ(stage.fetch(other).status, 200);
  const auto since = Clock::now();
  const Reply busy = stage.fetch(told, "/busy", "Authorization: Bearer of-mine\r\n");
  EXPECT_EQ(busy.status, 429);
  EXPECT_EQ(busy.field("retry-after"), "1") << "passed on untouched";
  ASSERT_TRUE(eventually([&] { return !stage.value("hold").empty(); }));
  EXPECT_EQ(stage.fetch(other).status, 200);
  EXPECT_GE(Clock::now() - since, 1s);
  EXPECT_TRUE(within(1s + kLate, since));
  const auto dispatched = other.await_events(2, "dispatch");
  ASSERT_EQ(dispatched.size(), 2u);
  EXPECT_EQ(dispatched[1].at("limitedBy"), "hold");
}

TEST(LearnedPause, of_a_group_delays_that_group_alone) {
  SharedStage stage({.timeout = "8s", .upstream = "group: \"path:/{team}\""});
  const Daemon &told = stage.add(), &other = stage.add();
  stage.origin.on("/reds/busy", scripts::answers(503, "later", "Retry-After: 2\r\n"));
  const auto since = Clock::now();
  EXPECT_EQ(stage.fetch(told, "/reds/busy", "Authorization: Bearer of-mine\r\n").status, 503);
  ASSERT_TRUE(eventually([&] { return stage.redis.run({"KEYS", stage.key("hold:*")}).items.size() == 1; }));
  EXPECT_EQ(stage.fetch(other, "/blues").status, 200);
  EXPECT_LT(Clock::now() - since, 2s) << "another group need not wait";
  EXPECT_EQ(stage.fetch(other, "/reds").status, 200);
  EXPECT_GE(Clock::now() - since, 2s);
}

TEST(LearnedPause, that_a_request_without_credentials_drew_holds_such_requests_alone_everywhere) {
  SharedStage stage({.timeout = "8s"});
  const Daemon &told = stage.add(), &other = stage.add();
  stage.origin.on("/busy", scripts::answers(429, "later", "Retry-After: 3\r\n"));
  EXPECT_EQ(stage.fetch(other).status, 200);
  const auto since = Clock::now();
  EXPECT_EQ(stage.fetch(told, "/busy").status, 429);
  const auto held = [&] { return stage.fetch(other, "/", "Penstock-Max-Wait: 0s\r\n").status == 503; };
  ASSERT_TRUE(eventually(held)) << "the other process has heard of it";
  EXPECT_EQ(stage.fetch(other, "/", "Authorization: Bearer of-mine\r\n").status, 200);
  EXPECT_TRUE(within(3s, since)) << "the pause is not over yet";
  EXPECT_EQ(stage.fetch(other).status, 200);
  EXPECT_GE(Clock::now() - since, 3s);
}

}  // namespace
}  // namespace penstock::trial
