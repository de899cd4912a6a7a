// SPDX-License-Identifier: Apache-2.0
// The last minute of an upstream against exact figures.
#include "proxy/exchange/last_minute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "proxy/allocations.h"

namespace penstock::proxy {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr std::int64_t kASecond = 1'000'000;

Event dispatched(std::int64_t at, std::int64_t wait) {
  return {.kind = EventKind::dispatch, .at = at, .wait = Duration{wait}};
}

Event completed(std::int64_t at, std::int64_t flight, int status = 200) {
  return {.kind = EventKind::complete,
          .outcome = Outcome::success,
          .at = at,
          .status = status,
          .wait = Duration{0},
          .flight = Duration{flight}};
}

/// The smallest value that so many percent of all do not exceed.
std::int64_t exact(const std::vector<std::int64_t>& sorted, std::size_t percent) {
  return sorted[(sorted.size() * percent + 99) / 100 - 1];
}

void expect_near(Duration shown, std::int64_t was) {
  EXPECT_NEAR(static_cast<double>(shown.count()), static_cast<double>(was), 0.04 * static_cast<double>(was));
}

void expect_right(const Percentiles& shown, std::vector<std::int64_t> all) {
  std::ranges::sort(all);
  EXPECT_EQ(shown.count, all.size());
  expect_near(shown.p50, exact(all, 50));
  expect_near(shown.p95, exact(all, 95));
  expect_near(shown.p99, exact(all, 99));
  EXPECT_EQ(shown.max.count(), all.back());
}

TEST(LastMinuteCounts, has_seen_nothing_at_first) {
  const LastMinute minute = LastMinuteCounts().at(5 * kASecond);
  EXPECT_EQ(minute.out, 0u);
  EXPECT_EQ(minute.wait.count, 0u);
  EXPECT_THAT(minute.statuses, IsEmpty());
}

TEST(LastMinuteCounts, tells_how_many_leave_each_second_lately) {
  LastMinuteCounts counts;
  for (int i = 0; i < 300; ++i) {  // 20 a second, for 15 s
    const std::int64_t now = i * kASecond / 20;
    if (i >= 200) {
      EXPECT_NEAR(counts.at(now).out_per_second, 20, 0.2) << now;
    }
    counts.record(dispatched(now, 0));
  }
  EXPECT_DOUBLE_EQ(counts.at(15 * kASecond - 1).out_per_second, 200 / 9.999999) << "of the last ten seconds alone";
  EXPECT_DOUBLE_EQ(counts.at(17 * kASecond).out_per_second, 100.0 / 7);
  EXPECT_EQ(counts.at(20 * kASecond).out_per_second, 0) << "nothing left since";
  EXPECT_EQ(counts.at(20 * kASecond).out, 300u);
}

TEST(LastMinuteCounts, a_single_duration_of_any_length_is_shown_within_4_percent_and_its_maximum_exactly) {
  for (double value = 1; value <= 3.6e9; value *= 1.013) {
    const auto duration = static_cast<std::int64_t>(value);
    LastMinuteCounts counts;
    counts.record(dispatched(0, duration));
    counts.record(dispatched(0, 3'600 * kASecond));  // so that the maximum does not stand in for it
    const Percentiles shown = counts.at(0).wait;
    expect_near(shown.p50, duration);
    EXPECT_EQ(shown.max, 3'600s);
  }
}

TEST(LastMinuteCounts, percentiles_are_right_within_4_percent_whatever_the_distribution) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const int kind = round % 4;
    const double scale = std::pow(10, std::uniform_real_distribution(0.0, 9.0)(random));
    const auto draw = [&]() -> double {
      switch (kind) {
        case 0: return std::uniform_real_distribution(1.0, 1 + scale)(random);
        case 1: return std::exponential_distribution(1 / scale)(random);
        case 2: return std::pow(10, std::uniform_real_distribution(0.0, 9.5)(random));
        default: return random() % 10 == 0 ? 3.6e9 : 1 + static_cast<double>(random() % 40);
      }
    };
    LastMinuteCounts counts;
    std::vector<std::int64_t> waits, flights;
    const int many = 1 + static_cast<int>(random() % 3'000);
    for (int i = 0; i < many; ++i) {
      const auto at = static_cast<std::int64_t>(random() % 60) * kASecond;
      waits.push_back(static_cast<std::int64_t>(std::min(draw(), 3.6e9)));
      flights.push_back(static_cast<std::int64_t>(std::min(draw(), 3.6e9)));
      counts.record(dispatched(at, waits.back()));
      counts.record(completed(at, flights.back()));
    }
    const LastMinute minute = counts.at(59 * kASecond);
    SCOPED_TRACE(testing::Message() << "kind " << kind << ", scale " << scale << ", " << many);
    expect_right(minute.wait, waits);
    expect_right(minute.flight, flights);
  }
}

TEST(LastMinuteCounts, forgets_what_was_a_minute_ago) {
  LastMinuteCounts counts;
  counts.record(dispatched(1'000 * kASecond, 7));
  counts.record(dispatched(1'030 * kASecond, 9));
  EXPECT_EQ(counts.at(1'055 * kASecond - 1).out, 2u);
  EXPECT_EQ(counts.at(1'060 * kASecond).out, 1u);
  EXPECT_EQ(counts.at(1'060 * kASecond).wait.max, 9us);
  EXPECT_EQ(counts.at(1'090 * kASecond).out, 0u);
  counts.record(dispatched(1'300 * kASecond, 1));  // in the slice of the first
  EXPECT_EQ(counts.at(1'300 * kASecond).out, 1u);
  EXPECT_EQ(counts.at(1'300 * kASecond).wait.max, 1us);
}

TEST(LastMinuteCounts, tells_what_clients_got_what_was_refused_and_what_the_upstream_refused) {
  LastMinuteCounts counts;
  counts.record(completed(0, 5));
  counts.record(completed(0, 5));
  counts.record(completed(0, 5, 404));
  const std::uint16_t refusals[] = {429, 503, 429};
  Event again = completed(0, 5);
  again.refusals = refusals;
  counts.record(again);
  counts.record({.kind = EventKind::refused, .status = 503, .wait = 0s, .refusal = "queue_full"});
  counts.record({.kind = EventKind::refused, .status = 503, .wait = 30s, .refusal = "wait_over"});
  counts.record({.kind = EventKind::gone, .wait = 2s});
  const LastMinute minute = counts.at(0);
  EXPECT_EQ(minute.out, 0u);
  EXPECT_EQ(minute.upstream_429, 2u);
  EXPECT_THAT(minute.statuses, ElementsAre(Pair(200, 3), Pair(404, 1), Pair(503, 2)));
  EXPECT_THAT(minute.refused, ElementsAre(Pair("queue_full", 1), Pair("wait_over", 1)));
  EXPECT_EQ(minute.wait.count, 2u) << "a refusal on arrival has not waited";
  EXPECT_EQ(minute.wait.max, 30s);
}

TEST(LastMinuteCounts, does_not_time_tunnels) {
  LastMinuteCounts counts;
  Event tunnel = completed(0, 3'600 * kASecond), upgrade = tunnel;
  tunnel.tunnel = true;
  upgrade.upgrade = "websocket";
  counts.record(tunnel);
  counts.record(upgrade);
  EXPECT_EQ(counts.at(0).flight.count, 0u);
}

TEST(LastMinuteCounts, allocates_nothing_for_what_it_has_recorded_a_minute_before) {
  LastMinuteCounts counts;
  const auto minute = [&](std::int64_t from) {
    std::mt19937 random(3);
    for (int i = 0; i < 5'000; ++i) {
      const std::int64_t at = from + i * 12'000;
      counts.record(dispatched(at, static_cast<std::int64_t>(random() % 2'000'000)));
      counts.record(completed(at, static_cast<std::int64_t>(random() % 300'000), i % 50 == 0 ? 404 : 200));
      if (i % 70 == 0) counts.record({.kind = EventKind::refused, .at = at, .status = 503, .refusal = "queue_full"});
    }
  };
  minute(0);
  const auto before = allocations_so_far();
  minute(60 * kASecond);
  EXPECT_EQ(allocations_so_far() - before, 0u);
  EXPECT_EQ(counts.at(120 * kASecond - 1).out, 5'000u);
}

}  // namespace
}  // namespace penstock::proxy
