// SPDX-License-Identifier: Apache-2.0
// How many units left lately: never fewer than did, and not many more.
#include "redis/limits/recent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace penstock::redis {
namespace {

using flow::Time;
constexpr Time kSecond = 1'000'000, kDay = 86'400 * kSecond;

TEST(Recent, knows_of_nothing_that_has_not_left) {
  EXPECT_EQ(Recent().since(0), 0);
  Recent recent;
  recent.add(5 * kSecond, 3);
  EXPECT_EQ(recent.since(0), 3);
  EXPECT_EQ(recent.since(5 * kSecond), 3);
}

/// A departure that is booked a little ahead may come before one of a moment ago.
TEST(Recent, takes_departures_out_of_order) {
  Recent recent;
  recent.add(10 * kSecond, 1);
  recent.add(12 * kSecond, 2);
  recent.add(12 * kSecond - 40'000, 4);
  EXPECT_EQ(recent.since(12 * kSecond), 6);
}

TEST(Recent, is_a_third_of_the_time_off_at_most) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    Recent recent;
    std::vector<Time> times;
    const Time mean = 1 + static_cast<Time>(random() % 1'000) * static_cast<Time>(random() % 1'000);  // milliseconds
    for (Time at = 0; at < 400 * kDay && times.size() < 50'000;) {
      at += 1'000 * static_cast<Time>(random() % static_cast<unsigned>(2 * mean));
      times.push_back(at);
      recent.add(at, 1);
    }
    const Time now = times.back();
    const auto left = [&](Time since) {
      return static_cast<std::int64_t>(times.end() - std::ranges::lower_bound(times, since));
    };
    for (Time age = 0; age < now; age = age * 3 / 2 + kSecond) {
      EXPECT_GE(recent.since(now - age), left(now - age)) << "seed " << seed << ", " << age << " us ago";
      EXPECT_LE(recent.since(now - age), left(now - age - age / 3 - 50'000) + 1)
          << "seed " << seed << ", " << age << " us ago";
    }
  }
}

TEST(Recent, counts_what_was_granted_without_redis_from_when_redis_has_heard_of_it) {
  Recent recent;
  recent.granted_alone(3);
  EXPECT_EQ(recent.since(0), 0);
  EXPECT_EQ(recent.tell(), 3);
  recent.granted_alone(2);
  EXPECT_EQ(recent.tell(), 5) << "the first telling was not heard";
  recent.heard(10 * kSecond);
  EXPECT_EQ(recent.tell(), 0);
  EXPECT_EQ(recent.since(10 * kSecond), 5);
}

}  // namespace
}  // namespace penstock::redis
