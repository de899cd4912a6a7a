// SPDX-License-Identifier: Apache-2.0
// A copy of limits that answers as Redis would, and lets other processes have their part.
#include "flow/rehearsed_limiter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "flow/local_limiter.h"

namespace penstock::flow {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr Time kBegin = 1'000'000'000, kTrip = 2'000;

/// Ten a second, asked for over a round trip of 2 ms.
class AsRedis : public testing::Test {
 protected:
  AsRedis() { copy_->answer_as_redis(kTrip, 5'000); }
  Booking ask(Time now, std::size_t count) {
    Booking booking;
    copy_->ask(now, {.count = count}, booking);
    return booking;
  }
  void hold(Time until, Booking::Scope scope) {
    copy_->hold_by([=](LaneKey) { return RehearsedLimiter::Told{until, kNoLimit, scope}; });
  }
  std::optional<Booking> held(Time now) {
    Booking booking;
    return copy_->holds(now, {}, booking) ? std::optional(booking) : std::nullopt;
  }

  LocalLimiter limiter_{{{.kind = PacerConfig{.qps = 10}}}};
  std::unique_ptr<RehearsedLimiter> copy_ = limiter_.rehearsal(kBegin, {});
};

TEST_F(AsRedis, an_ask_is_answered_half_a_round_trip_later) {
  const Booking booking = ask(kBegin, 1);
  ASSERT_EQ(booking.departures.size(), 1u);
  EXPECT_EQ(booking.departures.front().at, kBegin + kTrip / 2);
  EXPECT_EQ(copy_->answers_after(), kTrip);
}

TEST_F(AsRedis, a_lane_that_is_granted_some_asks_when_the_last_is_near) {
  const Booking booking = ask(kBegin, 2);
  ASSERT_EQ(booking.departures.size(), 1u);
  EXPECT_EQ(booking.not_before, kBegin + kTrip / 2 + 100'000);
  EXPECT_EQ(booking.ask_again, 0);
}

TEST_F(AsRedis, a_lane_that_is_granted_none_asks_half_a_horizon_ahead) {
  ask(kBegin, 1);
  const Booking booking = ask(kBegin, 1);
  EXPECT_TRUE(booking.departures.empty());
  EXPECT_EQ(booking.ask_again, booking.not_before - kHorizon / 2);
}

TEST_F(AsRedis, what_was_told_of_all_lanes_holds_until_it_is_time_to_ask) {
  const Time until = kBegin + 300'000;
  hold(until, Booking::Scope::upstream);
  const auto booking = held(kBegin);
  ASSERT_TRUE(booking);
  EXPECT_EQ(booking->scope, Booking::Scope::upstream);
  EXPECT_EQ(booking->not_before, until);
  EXPECT_EQ(booking->ask_again, until - kHorizon / 2);
  EXPECT_FALSE(held(booking->ask_again));
  EXPECT_EQ(ask(booking->ask_again, 1).departures.front().at, until) << "no earlier, though the limit allows it";
}

TEST_F(AsRedis, an_earlier_ask_does_not_look_back) {
  ask(kBegin + 200'000, 1);
  EXPECT_GE(ask(kBegin + 150'000, 1).not_before, kBegin + 300'000);
}

TEST(AsRedisTold, an_adaptive_limit_goes_on_at_the_rate_of_all_processes) {
  const std::vector<LimitConfig> limits{{.kind = AdaptiveConfig{.min = 1, .max = 100}}};
  LocalLimiter limiter{limits}, told{limits};
  told.heard(0, static_cast<Instant>(kBegin + 100'000), 20'000'000);
  const auto copy = limiter.rehearsal(kBegin, {});
  copy->add(told.limits(), true);
  Booking booking;
  copy->ask(kBegin + 100'000, {.count = 2}, booking);
  ASSERT_EQ(booking.departures.size(), 2u);
  EXPECT_EQ(booking.departures.front().at, kBegin + 100'000);
  EXPECT_NEAR(static_cast<double>(booking.departures.back().at - kBegin), 150'000, 2'000)
      << "20 a second, and a little more";
}

// ---- other processes ------------------------------------------------------------------------------------------------
// That each step is that of the scripts is tested in tests/lua/rehearsed_line_test.cc.

/// When the next so many requests leave beside these others, ten units a second in all: milliseconds from now.
std::vector<Time> departures_beside(std::vector<InLine> line, std::size_t count) {
  LocalLimiter limiter{{{.kind = PacerConfig{.qps = 10}}}};
  const auto copy = limiter.rehearsal(kBegin, {});
  for (InLine& one : line) one.at += static_cast<Instant>(kBegin);
  copy->share_with(line, kBegin);
  std::vector<Time> all;
  Time now = kBegin;
  for (int asks = 0; asks < 1'000 && all.size() < count; ++asks) {
    Booking booking;
    copy->ask(now, {.count = count - all.size()}, booking);
    for (const Departure& departure : booking.departures) all.push_back((departure.at - kBegin) / 1'000);
    now = std::max(now + 1, booking.departures.empty() ? booking.ask_again : booking.departures.back().at - kHorizon);
  }
  return all;
}

/// The others ask now, and so before this process.
TEST(BesideOthers, each_has_its_turn_as_long_as_anything_waits_there) {
  EXPECT_THAT(departures_beside({{.wants = 2, .units = 2}}, 4), ElementsAre(100, 300, 400, 500));
  EXPECT_THAT(departures_beside({{.wants = 2, .units = 2}, {.wants = 1, .units = 1}}, 3), ElementsAre(200, 400, 500));
}

TEST(BesideOthers, those_that_had_less_go_first) {
  const InLine own{.is_own = true, .had = 3, .wants = 1};
  EXPECT_GE(departures_beside({{.wants = 9, .units = 9}, own}, 1).front(), 200) << "one ahead of the other, at most";
  // It is told 300, since the other was known to want more than it had, and asks half a horizon before.
  EXPECT_THAT(departures_beside({{.wants = 9, .units = 2}, own}, 2), ElementsAre(275, 375));
}

TEST(BesideOthers, to_which_more_comes_go_on) {
  const auto with = departures_beside({{.wants = 1, .units = 1, .per_second = 5}}, 9),
             without = departures_beside({{.wants = 1, .units = 1}}, 9);
  EXPECT_EQ(without.back(), 900);
  EXPECT_GE(with.back(), 1'600) << "half is theirs";
}

TEST(BesideOthers, whose_number_alone_is_known_are_taken_to_have_as_many) {
  LocalLimiter limiter{{{.kind = WindowConfig{.reservoir = 9, .interval = 1s}}}};
  const auto copy = limiter.rehearsal(kBegin, {});
  copy->share_with(OtherProcesses{.count = 2}, kBegin);
  Booking booking;
  copy->ask(kBegin, {.count = 9}, booking);
  EXPECT_EQ(booking.departures.size(), 3u);
}

}  // namespace
}  // namespace penstock::flow
