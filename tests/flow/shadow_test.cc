// SPDX-License-Identifier: Apache-2.0
// A local limiter as the shadow of what was granted elsewhere: it is told of departures, looks without granting, and
// says what it remembers in the words of Redis.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "flow/local_limiter.h"

namespace penstock::flow {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Instant kStart = 50'400'000'000'000;  // a whole hour

std::vector<std::string> states_of(const LocalLimiter& limiter) {
  std::vector<std::string> states;
  limiter.states([&](LimitIndex limit, std::string_view group, const std::string& state) {
    states.push_back(std::to_string(limit) + " " + std::string(group) + " " + state);
  });
  return states;
}

TEST(Shadow, says_what_it_remembers_as_redis_stores_it) {
  LocalLimiter limiter(
      {{.kind = PacerConfig{.qps = 3, .max_burst = 2}, .name = "p"},
       {.kind = WindowConfig{.reservoir = 10, .interval = 1s}, .name = "w"},
       {.kind = SlidingWindowConfig{.max = 5, .interval = 1s}, .name = "s"},
       {.kind = TokenBucketConfig{.capacity = 9, .refill_amount = 1, .refill_frequency = 1s}, .name = "t"},
       {.kind = CounterConfig{.max = 5, .period = 1s}, .name = "c"},
       {.kind = SemaphoreConfig{.capacity = 5}, .name = "x"}},
      kStart);
  EXPECT_THAT(states_of(limiter), IsEmpty());
  limiter.book(1'200'000, "", 3);
  EXPECT_THAT(states_of(limiter),
              ElementsAre("0  2p 50400001200000.0000 1 2 3", "1  1w 50400001000000 3 1000000",
                          "2  1s 50400001200000 50400001200000 50400001200000", "3  1b 50400001200000.0000 3",
                          "4  1c 50400001199000.0000 3 50400001200000.0000 0 - 0"));
}

TEST(Shadow, says_of_each_group_what_it_remembers_of_it) {
  LocalLimiter limiter(
      {{.kind = WindowConfig{.reservoir = 10, .interval = 1s}, .name = "all"},
       {.kind = WindowConfig{.reservoir = 5, .interval = 1s}, .name = "each", .per = LimitConfig::Per::group}},
      kStart);
  limiter.book(1, "a", 1);
  limiter.book(2, "b", 2);
  EXPECT_THAT(states_of(limiter),
              testing::UnorderedElementsAre("0  1w 50400000000000 3 1000000", "1 a 1w 50400000000000 1 1000000",
                                            "1 b 1w 50400000000000 2 1000000"));
  EXPECT_EQ(limiter.limits().limit(0, "").state(), "1w 50400000000000 3 1000000");
  EXPECT_EQ(limiter.limits().limit(1, "b").state(), "1w 50400000000000 2 1000000");
  EXPECT_EQ(limiter.limits().limit(1, "c").state(), "");
}

TEST(Shadow, looks_without_granting) {
  LocalLimiter limiter({{.kind = PacerConfig{.qps = 100}, .name = "p"}});
  for (int i = 0; i < 3; ++i) {
    Booking booking;
    limiter.look(7, {.count = 5}, booking, {});
    EXPECT_THAT(booking.departures, ElementsAre(Departure{.at = 7}));
  }
  limiter.book(7, "", 1);
  Booking booking;
  limiter.look(8, {.count = 5}, booking, {});
  EXPECT_THAT(booking.departures, ElementsAre(Departure{.at = 10'007, .limited_by = 0}));
}

/// Six units of others are about to leave: six more fit only behind the reset of a counter, or behind a refill. A pacer
/// lets any weight leave behind them.
TEST(Shadow, looks_for_the_whole_weight_behind_what_others_take) {
  const auto first = [](const LimitConfig::Kind& kind) {
    LocalLimiter limiter({{.kind = kind, .name = "l"}});
    Booking booking;
    limiter.look(7, {.weight = 6}, booking, {.others = {.all = {.units = 6}}});
    return booking.departures.empty() ? booking.not_before : booking.departures.front().at;
  };
  EXPECT_EQ(first(CounterConfig{.max = 12, .period = 20ms}), 7);
  EXPECT_EQ(first(CounterConfig{.max = 11, .period = 20ms}), 20'007);
  EXPECT_EQ(first(TokenBucketConfig{.capacity = 11, .refill_amount = 1, .refill_frequency = 20ms}), 20'007);
  EXPECT_EQ(first(SlidingWindowConfig{.max = 11, .interval = 20ms}), 22'007);
  EXPECT_EQ(first(PacerConfig{.qps = 1'000}), 6'007);
}

TEST(Shadow, looks_at_permits_too) {
  LocalLimiter limiter({{.kind = SemaphoreConfig{.capacity = 1}, .name = "s"}});
  limiter.book(0, "", 1);
  Booking booking;
  limiter.look(1, {}, booking, {});
  EXPECT_THAT(booking.departures, IsEmpty());
  EXPECT_EQ(booking.stop, Booking::Stop::permit);
}

TEST(Shadow, keeps_the_edges_of_windows_where_the_other_clock_has_them) {
  LocalLimiter limiter({{.kind = WindowConfig{.reservoir = 1, .interval = 1s}, .name = "w"}}, kStart);
  limiter.set_clock(kStart + 980'000);  // now an edge comes at 20 ms
  limiter.book(5'000, "", 1);
  Booking booking;
  limiter.look(6'000, {}, booking, {});
  EXPECT_THAT(booking.departures, ElementsAre(Departure{.at = 21'000, .limited_by = 0}));
}

}  // namespace
}  // namespace penstock::flow
