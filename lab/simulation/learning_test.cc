// SPDX-License-Identifier: Apache-2.0
// A fleet that shares an adaptive limit, before an upstream that says nothing of its own: how much of that it uses, how
// much is refused, and how soon it follows a change.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "simulation/fleet.h"

namespace penstock::simulation {
namespace {

/// What came of the requests that reached the upstream in a stretch of time.
struct Share {
  double taken = 0, refused = 0;
};

struct Course {
  explicit Course(std::uint64_t seed, WhenDown when_down = WhenDown::share)
      : plan{.seed = seed, .limits = {{.kind = AdaptiveConfig{.min = 1, .max = 200}}}, .when_down = when_down} {}

  void add(int clients, Time flight) {
    plan.members.push_back({.settings = {.max_concurrent = 100, .max_pending = 1'000, .max_wait = kMinute},
                            .demand = {.clients = clients, .flight = flight, .flight_varies = true}});
  }
  Share between(const Journal& journal, Time from, Time to) const {
    Share share;
    for (const Request& request : journal.requests) {
      if (request.departed == kNotYet || request.departed < from || request.departed >= to) continue;
      (request.turned_away ? share.refused : share.taken) += 1;
    }
    return share;
  }

  Plan plan;
};

/// Whether a fleet of three follows an upstream of these limits, each for `each`.
void expect_followed(std::uint64_t seed, const std::vector<int>& levels, Time each, Time flight) {
  Course course(seed);
  for (int i = 0; i < 3; ++i) course.add(50, flight);
  for (std::size_t i = 0; i < levels.size(); ++i)
    course.plan.hidden.push_back({static_cast<Time>(i) * each, levels[i]});
  course.plan.length = static_cast<Time>(levels.size()) * each;
  const Journal journal = run(course.plan);
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const Time begin = static_cast<Time>(i) * each, end = begin + each, settled = begin + 20 * kSecond;
    const Share share = course.between(journal, settled, end);
    const double allowed = levels[i] * static_cast<double>(end - settled) / kSecond;
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(levels[i]) + " a second");
    EXPECT_GE(share.taken / allowed, 0.88);
    EXPECT_LE(share.refused / (share.taken + share.refused), 0.04);
    // The new level is reached: some five seconds within the first twenty use nine tenths of it.
    double best = 0;
    for (Time from = begin; from + 5 * kSecond <= settled; from += kSecond)
      best = std::max(best, course.between(journal, from, from + 5 * kSecond).taken / (5.0 * levels[i]));
    EXPECT_GE(best, 0.88) << "within 20 s";
    if (std::getenv("PENSTOCK_FIGURES"))
      std::printf("seed %d, %d/s, flight %d ms: %.1f %% used, %.2f %% refused\n", static_cast<int>(seed), levels[i],
                  static_cast<int>(flight / 1000), 100 * share.taken / allowed,
                  100 * share.refused / (share.taken + share.refused));
  }
}

TEST(Learning, follows_a_hidden_limit_that_changes) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    expect_followed(seed, {37, 11, 80}, seed % 2 ? kMinute : 2 * kMinute, (seed % 4 ? 80 : 20) * kMillisecond);
  }
}

}  // namespace
}  // namespace penstock::simulation
