// SPDX-License-Identifier: Apache-2.0
// A fleet before an upstream with a quota that others use, too: what they take is learned from its answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "simulation/fleet.h"

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;

/// What came of all whole windows of a run.
struct Windows {
  int ours = 0, left = 0, refused = 0, most_refused = 0, windows = 0;
  int seen = 0;  // refusals by clients
  double used() const { return static_cast<double>(ours) / left; }
};

constexpr int kUnits = 50;

class QuotaRun {
 public:
  QuotaRun(std::uint64_t seed, int processes, std::vector<LimitConfig> limits) {
    plan_.seed = seed;
    plan_.limits = std::move(limits);
    plan_.quota = {.units = kUnits, .interval = 10 * kSecond, .strangers = kUnits / 2};
    plan_.length = 5 * kMinute;
    for (int i = 0; i < processes; ++i) {
      plan_.members.push_back({.settings = {.max_concurrent = 20, .max_pending = 1'000, .max_wait = kHour},
                               .demand = {.clients = 60 / processes, .flight = 50 * kMillisecond}});
    }
  }
  Plan& plan() { return plan_; }

  /// The first window and the last are not whole.
  Windows play() {
    const Journal journal = run(plan_);
    Windows sum;
    for (std::size_t i = 1; i + 1 < journal.windows.size(); ++i) {
      const QuotaWindow& window = journal.windows[i];
      sum.ours += window.ours, sum.left += kUnits - window.strangers, sum.refused += window.refused, ++sum.windows;
      sum.most_refused = std::max(sum.most_refused, window.refused);
    }
    for (const Request& request : journal.requests) sum.seen += request.end == Request::End::refused;
    if (std::getenv("PENSTOCK_FIGURES")) {
      std::printf("seed %d, %d processes: %.1f %% used, %d refused in %d windows, at most %d in one\n",
                  static_cast<int>(plan_.seed), static_cast<int>(plan_.members.size()), 100 * sum.used(), sum.refused,
                  sum.windows, sum.most_refused);
    }
    return sum;
  }

 private:
  Plan plan_;
};

void expect_shared_well(QuotaRun run) {
  SCOPED_TRACE("seed " + std::to_string(run.plan().seed));
  const Windows sum = run.play();
  EXPECT_GE(sum.windows, 28);
  EXPECT_GE(sum.used(), 0.95);
  EXPECT_LE(sum.most_refused, 1);
  EXPECT_EQ(sum.seen, 0) << "no client sees a refusal";
}

std::vector<LimitConfig> spread_window() {
  return {{.kind = WindowConfig{.reservoir = kUnits, .interval = 10s, .spread = true}}};
}

TEST(Quota, that_strangers_take_half_of_is_used_up_by_a_window) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    for (const int processes : {1, 3}) expect_shared_well({seed, processes, spread_window()});
  }
}

/// Where the upstream's windows begin at any time.
TEST(Quota, that_strangers_take_half_of_is_used_up_by_a_rate) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    for (const int processes : {1, 3}) {
      QuotaRun run(seed, processes, limits_of(Rate{kUnits, 10s}));
      run.plan().quota.offset = 3'700 * kMillisecond;
      expect_shared_well(run);
    }
  }
}

/// Requests come a dozen at a time, and strangers have taken their part before. What is learned from the first dozen
/// holds the third back, of which the upstream would refuse nearly all.
TEST(Quota, is_hardly_exceeded_by_requests_that_come_together) {
  for (const int processes : {1, 3}) {
    int refused[2] = {};
    double used[2] = {};
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      for (const bool learned : {false, true}) {
        QuotaRun run(seed, processes, {{.kind = SlidingWindowConfig{.max = kUnits, .interval = 10s}}});
        run.plan().quota.learned = learned, run.plan().quota.within = 500 * kMillisecond;
        for (Member& member : run.plan().members) {
          member.settings.max_wait = kSecond;
          member.demand = {.spike = 12 / processes, .spike_every = 2 * kSecond, .flight = 50 * kMillisecond};
        }
        const Windows sum = run.play();
        refused[learned] += sum.refused;
        used[learned] += sum.used() / 4;
      }
    }
    EXPECT_GT(refused[false], 4 * 28 * 5) << "many in each window";
    EXPECT_LT(10 * refused[true], refused[false]);
    EXPECT_GE(used[true], 0.95);
  }
}

}  // namespace
}  // namespace penstock::simulation
