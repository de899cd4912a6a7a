// SPDX-License-Identifier: Apache-2.0
// What an adaptive limit keeps, how it grows and falls, and when it forgets.
#include "flow/adaptive.h"

#include <gtest/gtest.h>

#include <cmath>

#include "flow/keeps.h"

namespace penstock::flow {
namespace {

/// Departures that always wait, for that long from the first; the last one's time.
Instant work(Adaptive& limit, Instant from, Instant length) {
  Instant now = from;
  while (now < from + length) leave_as_soon_as_may_be(limit, now), now = std::max(now, limit.frontier(1));
  return now;
}

TEST(Adaptive, whatever_happens_stays_between_its_bounds) {
  for (int seed = 0; seed < 400; ++seed) {
    Chance chance(seed);
    AdaptiveConfig config;
    const auto change = [&] {
      config.min = chance.from_to(1, 200) / 10.0;
      config.max = config.min * chance.from_to(1, 500);
    };
    change();
    Adaptive limit(config);
    std::vector<AdaptiveConfig> in_force{config};
    const Drive how{.heaviest = chance.from_to(1, 3),
                    .change = [&] { change(), in_force.push_back(config); },
                    .watch =
                        [&](Instant now) {
                          if (chance.one_in(20)) limit.refused(now, now - chance.from_to(0, 200'000));
                          ASSERT_GE(limit.rate(), config.min);
                          ASSERT_LE(limit.rate(), config.max);
                        }};
    const auto stretches = drive(limit, chance, how);
    for (std::size_t i = 0; i < stretches.size(); ++i) {
      expect_at_most(stretches[i],
                     [&](Instant length) { return in_force[i].max * (length + 2) / kOneSecond + how.heaviest; });
      ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
    }
  }
}

TEST(Adaptive, doubles_about_each_second_until_the_first_refusal) {
  const AdaptiveConfig config{.min = 10, .max = 1'000};
  Adaptive limit(config);
  const Instant then = work(limit, kThisYear, 3 * kOneSecond);
  EXPECT_NEAR(limit.rate(), 80, 8);
  work(limit, then, 60 * kOneSecond);
  EXPECT_EQ(limit.rate(), 1'000) << "its max";
}

TEST(Adaptive, falls_to_seven_tenths_and_grows_back_along_the_curve) {
  const AdaptiveConfig config{.min = 1, .max = 1'000};
  Adaptive limit(config);
  Instant now = work(limit, kThisYear, 6 * kOneSecond);
  const double before = limit.rate();
  limit.refused(now, now - 1);
  EXPECT_DOUBLE_EQ(limit.rate(), 0.7 * before);
  // RFC 9438, section 4.2: W(t) = C (t - K)^3 + W_max, here with W_max at 0.93 of the rate that was refused. W(0) is
  // 0.7 of that, so K is the cube root of 0.23 of it by C.
  const double k = std::cbrt(0.23 * before / 0.4);
  const Instant fell = now;
  for (const double t : {0.5 * k, k, 1.5 * k}) {
    while (now < fell + t * kOneSecond) now = std::max(leave_as_soon_as_may_be(limit, now), limit.frontier(1));
    EXPECT_NEAR(limit.rate(), 0.93 * before + 0.4 * std::pow(t - k, 3), 0.02 * before) << t;
  }
}

TEST(Adaptive, falls_once_for_all_refusals_of_what_had_left_before) {
  const AdaptiveConfig config{.min = 1, .max = 100};
  Adaptive limit(config);
  const Instant now = work(limit, kThisYear, 6 * kOneSecond);
  const double before = limit.rate();
  limit.refused(now, now - 80'000);
  for (int n = 0; n < 10; ++n) limit.refused(now + n * 1'000, now - 70'000 + n * 1'000);
  EXPECT_DOUBLE_EQ(limit.rate(), 0.7 * before);
  limit.refused(now + 190'000, now + 2);
  EXPECT_DOUBLE_EQ(limit.rate(), 0.7 * 0.7 * before) << "one that left by the new rate";
}

TEST(Adaptive, does_not_grow_while_nothing_waits_for_it) {
  const AdaptiveConfig config{.min = 10, .max = 100};
  for (const bool was_refused : {false, true}) {
    Adaptive limit(config);
    Instant now = work(limit, kThisYear, 2 * kOneSecond);
    if (was_refused) limit.refused(now, now - 1);
    const double before = limit.rate();
    for (int n = 0; n < 1'000; ++n) {
      now = std::max(now, limit.frontier(1)) + 2 * kGuard;
      limit.commit(now, 1);
    }
    EXPECT_EQ(limit.rate(), before);
  }
}

TEST(Adaptive, departures_that_are_given_back_do_not_make_it_grow) {
  const AdaptiveConfig config{.min = 10, .max = 100};
  Adaptive limit(config);
  Instant now = std::ceil(work(limit, kThisYear, kOneSecond));
  limit.commit(now, 1);
  const double before = limit.rate();
  for (int n = 0; n < 100; ++n) {
    limit.give_back(now, 1);
    EXPECT_EQ(limit.frontier(1), now);
    limit.commit(now, 1);
  }
  EXPECT_EQ(limit.rate(), before);
}

TEST(Adaptive, keeps_what_it_learned_for_ten_minutes_of_disuse) {
  const AdaptiveConfig config{.min = 1, .max = 100};
  for (const bool is_over : {false, true}) {
    Adaptive limit(config);
    Instant now = work(limit, kThisYear, 5 * kOneSecond);
    limit.refused(now, now - 1);
    const double before = limit.rate();
    ASSERT_GT(before, 10);
    EXPECT_EQ(limit.forgettable_at(), limit.frontier(1) + 600 * kOneSecond);
    limit.commit(limit.forgettable_at() - (is_over ? 0 : 1), 1);
    EXPECT_EQ(limit.rate(), is_over ? 1 : before);
  }
}

TEST(Adaptive, a_changed_bound_holds_at_once) {
  AdaptiveConfig config{.min = 1, .max = 100};
  Adaptive limit(config);
  const Instant now = work(limit, kThisYear, 60 * kOneSecond);
  config.max = 5;
  limit.commit(now, 1);
  EXPECT_EQ(limit.frontier(1), now + 0.2 * kOneSecond);
}

/// What Redis tells of all processes: the rate, and the next free moment.
TEST(Adaptive, goes_on_at_the_rate_of_all_processes) {
  const AdaptiveConfig config{.min = 1, .max = 100};
  Adaptive mine(config), all(config);
  mine.commit(kThisYear, 1);
  mine.go_on_from(all);
  EXPECT_EQ(mine.rate(), 1) << "nothing was told";
  const Instant free = kThisYear + 10 * kOneSecond;
  all.heard(free, 20'000'000);
  mine.go_on_from(all);
  EXPECT_EQ(mine.rate(), 20);
  EXPECT_EQ(mine.frontier(1), free);
  mine.commit(free, 1);
  EXPECT_NEAR(mine.rate(), 20 + std::log(2) * 20 / 20, 1e-3) << "it has waited since another process' departure";
}

}  // namespace
}  // namespace penstock::flow
