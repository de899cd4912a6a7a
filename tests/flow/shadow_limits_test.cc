// SPDX-License-Identifier: Apache-2.0
// For how long limits that only count would have held each request.
#include "flow/shadow_limits.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "flow/local_limiter.h"

namespace penstock::flow {
namespace {

using namespace std::chrono_literals;

constexpr Time kMostWait = 60'000'000, kOneSecond = 1'000'000;

TEST(ShadowLimits, say_how_long_a_pacer_would_have_held_each_of_a_crowd) {
  ShadowLimits shadow({{.kind = PacerConfig{.qps = 10}}}, 0);
  for (Time n = 0; n < 20; ++n) {
    const auto held = shadow.took_off(kOneSecond, {}, 1, kMostWait);
    EXPECT_EQ(held.wait, n * 100'000);
    EXPECT_EQ(held.by, n == 0 ? kNoLimit : 0);
  }
  EXPECT_EQ(shadow.took_off(2 * kOneSecond, {}, 1, kMostWait).wait, kOneSecond) << "behind those that would wait still";
  EXPECT_EQ(shadow.took_off(9 * kOneSecond, {}, 1, kMostWait).wait, 0);
}

TEST(ShadowLimits, say_when_a_window_that_is_spent_would_have_opened) {
  ShadowLimits shadow({{.kind = WindowConfig{.reservoir = 2, .interval = 10s}}}, 0);
  EXPECT_EQ(shadow.took_off(3 * kOneSecond, {}, 1, kMostWait).wait, 0);
  EXPECT_EQ(shadow.took_off(3 * kOneSecond, {}, 1, kMostWait).wait, 0);
  EXPECT_EQ(shadow.took_off(3 * kOneSecond, {}, 1, kMostWait).wait, 7 * kOneSecond + static_cast<Time>(kGuard));
  EXPECT_EQ(shadow.took_off(4 * kOneSecond, {}, 1, kMostWait).wait, 6 * kOneSecond + static_cast<Time>(kGuard));
  EXPECT_EQ(shadow.took_off(4 * kOneSecond, {}, 1, kMostWait).wait, 16 * kOneSecond + static_cast<Time>(kGuard));
}

TEST(ShadowLimits, say_when_a_counter_would_have_been_reset) {
  ShadowLimits shadow({{.kind = CounterConfig{.max = 1, .period = 5s}}}, 0);
  EXPECT_EQ(shadow.took_off(kOneSecond, {}, 1, kMostWait).wait, 0);
  EXPECT_EQ(shadow.took_off(kOneSecond, {}, 1, kMostWait).wait, 5 * kOneSecond);
  EXPECT_EQ(shadow.took_off(kOneSecond, {}, 1, kMostWait).wait, 10 * kOneSecond);
}

// The latest counts, and is named.
TEST(ShadowLimits, hold_a_request_together_and_each_group_by_itself) {
  ShadowLimits shadow({{.kind = PacerConfig{.qps = 100}},
                       {.kind = TokenBucketConfig{.capacity = 1, .refill_amount = 1, .refill_frequency = 2s},
                        .per = LimitConfig::Per::group}},
                      0);
  EXPECT_EQ(shadow.took_off(kOneSecond, "a", 1, kMostWait).wait, 0);
  const auto second = shadow.took_off(kOneSecond, "a", 1, kMostWait);
  EXPECT_EQ(second.wait, 2 * kOneSecond);
  EXPECT_EQ(second.by, 1);
  const auto of_another = shadow.took_off(3 * kOneSecond + 5'000, "b", 1, kMostWait);
  EXPECT_EQ(of_another.wait, 5'000);
  EXPECT_EQ(of_another.by, 0);
}

/// A queue that cannot be emptied would have refused what waits for too long: waits do not grow for ever.
TEST(ShadowLimits, of_what_would_have_been_refused_nothing_counts) {
  ShadowLimits shadow({{.kind = PacerConfig{.qps = 1}}}, 0);
  std::vector<Time> waits;
  for (int n = 0; n < 8; ++n) waits.push_back(shadow.took_off(0, {}, 1, 3 * kOneSecond).wait);
  EXPECT_EQ(waits, (std::vector<Time>{0, kOneSecond, 2 * kOneSecond, 3 * kOneSecond, 3 * kOneSecond, 3 * kOneSecond,
                                      3 * kOneSecond, 3 * kOneSecond}));
  EXPECT_EQ(shadow.took_off(2 * kOneSecond, {}, 1, 3 * kOneSecond).wait, 2 * kOneSecond);
  ShadowLimits window({{.kind = WindowConfig{.reservoir = 5, .interval = 1s}}}, 0);
  EXPECT_EQ(window.took_off(0, {}, 6, kMostWait).wait, kMostWait) << "it would never leave";
}

/// What they say is what the limiter does, if it holds them.
TEST(ShadowLimits, would_have_held_as_long_as_the_limiter_holds) {
  const std::vector<LimitConfig> limits{{.kind = PacerConfig{.qps = 50, .max_burst = 3}},
                                        {.kind = SlidingWindowConfig{.max = 20, .interval = 1s}}};
  ShadowLimits shadow(limits, 0);
  LocalLimiter limiter(limits);
  Time free = kOneSecond;
  for (int n = 0; n < 100; ++n) {
    const Time now = kOneSecond + n * 7'000;
    Booking booking;
    for (Time asked = std::max(now, free); booking.departures.empty(); asked = std::max(asked + 1, booking.ask_again)) {
      booking.clear();
      limiter.ask(asked, {}, booking);
    }
    free = booking.departures[0].at;
    EXPECT_EQ(now + shadow.took_off(now, {}, 1, kMostWait).wait, free) << n;
  }
}

TEST(ShadowLimits, go_on_when_they_are_changed) {
  ShadowLimits shadow({{.kind = PacerConfig{.qps = 1}}}, 0);
  shadow.took_off(0, {}, 1, kMostWait);
  shadow.change(0, {{.kind = CounterConfig{.max = 9, .period = 1s}}, {.kind = PacerConfig{.qps = 2}}});
  const auto held = shadow.took_off(0, {}, 1, kMostWait);
  EXPECT_EQ(held.wait, 500'000);
  EXPECT_EQ(held.by, 1);
  EXPECT_FALSE(shadow.forgettable(0));
  EXPECT_TRUE(shadow.forgettable(9 * kOneSecond));
}

}  // namespace
}  // namespace penstock::flow
