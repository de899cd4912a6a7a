// SPDX-License-Identifier: Apache-2.0
// Processes with different parameters of one limit, as while a new configuration is being read by one after the other:
// no more leaves than the loosest allow, those are not held up by the strictest, and nobody starves.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "lua/crowd.h"
#include "support/scenario.h"

namespace penstock::lua {
namespace {

using namespace scenarios;

class Differing : public testing::Test {
 protected:
  /// Three processes with all that they can send for a minute; each of those has limits of its own instead of the
  /// first.
  const Crowd& run(const LimitConfig& limit, const std::map<std::size_t, LimitConfig>& others, int workers = 50) {
    crowd_ = std::make_unique<Crowd>(
        scripts_, Plan{.limits = {limit}, .round_trips = {200, 400, 1'000}, .workers = workers, .length = sec(60)});
    for (const auto& [process, other] : others) crowd_->change(process, {other});
    crowd_->run();
    return *crowd_;
  }
  int sent() const { return static_cast<int>(crowd_->departures().size()); }
  /// The most that was booked over what this pacer allows, in any stretch.
  double excess(const PacerConfig& pacer) const {
    double most = 0, units = 0, least = 0;
    std::vector<Time> times;
    for (const auto& departure : crowd_->departures()) times.push_back(departure.booked);
    std::ranges::sort(times);
    for (const Time at : times) {
      const double due = pacer.qps * static_cast<double>(at) / 1e6;
      least = std::min(least, units - due);
      most = std::max(most, ++units - due - least);
    }
    return most - pacer.max_burst - 1;
  }

  test::RedisServer server_;
  Scripts scripts_{server_};
  std::unique_ptr<Crowd> crowd_;
};

TEST_F(Differing, a_slow_pacer_does_not_hold_up_the_fast_ones_and_goes_on_at_its_rate) {
  const Crowd& crowd = run(pacer(100), {{2, pacer(1)}});
  const auto each = crowd.by_process();
  EXPECT_GE(sent(), 5'820) << "97 %";
  EXPECT_LE(excess({.qps = 100}), 0.1);
  EXPECT_GE(each[2], 54);
  EXPECT_LE(each[2], 62) << "no more than its own rate";
  EXPECT_NEAR(each[0], each[1], 300);
}

TEST_F(Differing, one_fast_pacer_among_slow_ones_has_what_these_leave) {
  const Crowd& crowd = run(pacer(2), {{0, pacer(100)}});
  const auto each = crowd.by_process();
  EXPECT_GE(sent(), 5'820);
  EXPECT_LE(excess({.qps = 100}), 0.1);
  EXPECT_GE(each[1] + each[2], 100) << "two a second for both";
  EXPECT_LE(each[1] + each[2], 250);
}

TEST_F(Differing, pacers_that_differ_little_share_about_equally) {
  const Crowd& crowd = run(pacer(100), {{2, pacer(90)}});
  const auto each = crowd.by_process();
  EXPECT_GE(sent(), 5'400) << "as the slower one allows";
  EXPECT_LE(excess({.qps = 100}), 0.1);
  for (const int one : each) EXPECT_NEAR(one, sent() / 3, sent() / 12);
}

TEST_F(Differing, a_burst_that_is_spent_is_not_given_back_by_one_that_has_none) {
  run(pacer(100, 100), {{2, pacer(100)}});
  EXPECT_LE(excess({.qps = 100, .max_burst = 100}), 0.1);
  EXPECT_GE(sent(), 5'820);
}

/// By its own limit the stricter one may send nothing once the others have sent more.
TEST_F(Differing, a_window_of_more_is_used_up_beside_one_of_less) {
  const Crowd& crowd = run(window(200, sec(1)), {{2, window(20, sec(1))}});
  std::map<Time, int> windows;
  for (const auto& departure : crowd.departures()) ++windows[departure.booked / sec(1)];
  for (const auto& [window, count] : windows) EXPECT_LE(count, 200);
  EXPECT_GE(sent(), 60 * 196);
}

}  // namespace
}  // namespace penstock::lua
