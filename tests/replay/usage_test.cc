// SPDX-License-Identifier: Apache-2.0
// How much of a limit is used, what is beyond a quota, how many are there at once.
#include "replay/usage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "replay/log_lines.h"

namespace penstock::replay {
namespace {

using namespace std::chrono_literals;

std::optional<Usage> usage(const LimitConfig& limit, std::vector<Departed> departed, Time span) {
  return usage_of(limit, departed, span);
}
std::uint64_t refused(const Rate& rate, std::vector<Departed> departed) { return beyond(rate, departed); }

TEST(Usage, of_a_window_counts_from_whole_intervals) {
  const LimitConfig limit{.kind = WindowConfig{.reservoir = 4, .interval = 1min}};
  // Two at the end of a minute and three at the beginning of the next: never more than three in one window.
  const std::vector<Departed> departed{{kMorning + 59 * kSecond},
                                       {kMorning + 59 * kSecond},
                                       {kMorning + 60 * kSecond},
                                       {kMorning + 60 * kSecond},
                                       {kMorning + 61 * kSecond}};
  const auto used = usage(limit, departed, 120 * kSecond);
  ASSERT_TRUE(used);
  EXPECT_EQ(used->limit, "window");
  EXPECT_DOUBLE_EQ(used->most, 0.75);
  EXPECT_DOUBLE_EQ(used->mean, 5.0 / 8);
}

TEST(Usage, of_a_sliding_window_counts_from_anywhere) {
  const LimitConfig limit{.kind = SlidingWindowConfig{.max = 4, .interval = 1min}};
  const std::vector<Departed> departed{{kMorning + 59 * kSecond, 0, 2}, {kMorning + 60 * kSecond, 0, 3}};
  EXPECT_DOUBLE_EQ(usage(limit, departed, 60 * kSecond)->most, 1.25);
  const std::vector<Departed> apart{{kMorning, 0, 2}, {kMorning + 60 * kSecond, 0, 3}};
  EXPECT_DOUBLE_EQ(usage(limit, apart, 60 * kSecond)->most, 0.75);  // the interval is half open
}

TEST(Usage, of_groups_is_that_of_the_fullest) {
  const LimitConfig limit{.kind = SlidingWindowConfig{.max = 10, .interval = 1s}, .per = LimitConfig::Per::group};
  const std::vector<Departed> departed{{kMorning, 1, 1}, {kMorning, 2, 5}, {kMorning + 1, 1, 2}};
  const auto used = usage(limit, departed, kSecond);
  EXPECT_TRUE(used->per_group);
  EXPECT_DOUBLE_EQ(used->most, 0.5);
  EXPECT_DOUBLE_EQ(used->mean, 0.5);
}

TEST(Usage, of_a_pacer_is_that_of_its_rate) {
  const LimitConfig slow{.kind = PacerConfig{.qps = 0.25}};  // one every four seconds
  EXPECT_DOUBLE_EQ(usage(slow, {{kMorning}}, 8 * kSecond)->mean, 0.5);
  EXPECT_DOUBLE_EQ(usage(slow, {{kMorning}}, 8 * kSecond)->most, 1);
  const LimitConfig rate{.kind = pacer_of({900, 1min})};
  EXPECT_DOUBLE_EQ(usage(rate, {{kMorning, 0, 450}}, 60 * kSecond)->most, 0.5);
}

TEST(Usage, of_permits_is_not_counted_by_departures) {
  EXPECT_FALSE(usage({.kind = SemaphoreConfig{.capacity = 2}}, {{kMorning}}, kSecond));
}

TEST(Quota, does_not_count_what_it_refuses) {
  std::vector<Departed> departed;
  for (int i = 0; i < 8; ++i) departed.push_back({kMorning + i * 300 * kMillisecond});
  // Of 2 in any second: 0 and 0.3 pass, 0.6 and 0.9 do not, 1.2 and 1.5 pass (a second after the first has left), …
  EXPECT_EQ(refused({2, 1s}, departed), 4U);
  EXPECT_EQ(refused({10, 1s}, departed), 0U);
  EXPECT_EQ(refused({2, 1s}, {{kMorning, 0, 3}, {kMorning + 1, 0, 2}}), 1U);
  std::ranges::reverse(departed);
  EXPECT_EQ(refused({2, 1s}, departed), 4U) << "in whatever order they come";
}

TEST(MostAtOnce, does_not_count_one_that_ends_as_another_begins) {
  EXPECT_EQ(most_at_once({5, 0, 3}, {10, 5, 4}), 2U);  // 0 to 5, 3 to 4, 5 to 10
  EXPECT_EQ(most_at_once({}, {}), 0U);
}

}  // namespace
}  // namespace penstock::replay
