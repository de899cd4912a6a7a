// SPDX-License-Identifier: Apache-2.0
// Drives one limit at random, as lanes would: idle times and crowds, weights, departures booked ahead and given back,
// parameters that change. What left is held against the promise of its kind, over every stretch of time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "flow/limit.h"
#include "flow/limiter.h"

namespace penstock::flow {

inline constexpr Instant kOneMs = 1'000, kOneSecond = 1'000'000;

/// An instant of these years, at which a double is no better than 1/128 µs; on an edge of every window that divides an
/// hour.
inline constexpr Instant kThisYear = 14'000 * 3'600e6;

/// The same on every machine.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : engine_(seed) {}
  int from_to(int least, int most) {
    return least + static_cast<int>(engine_() % static_cast<std::uint64_t>(most - least + 1));
  }
  bool one_in(int n) { return from_to(1, n) == 1; }

 private:
  std::mt19937_64 engine_;
};

struct Left {
  Instant at;
  int weight;
  bool operator==(const Left&) const = default;
};

struct Drive {
  int steps = 200;
  int heaviest = 1;
  int idle = 20'000;                                        ///< µs, the longest between two asks of a crowd
  std::function<void()> change = [] {};                     ///< sets other parameters
  std::function<void(Instant now)> watch = [](Instant) {};  ///< at each step, when the limit has been refreshed
};

/// What left, each stretch of unchanged parameters for itself, ascending.
inline std::vector<std::vector<Left>> drive(Limit& limit, Chance& chance, const Drive& how) {
  std::vector<std::vector<Left>> stretches(1);
  Instant now = kThisYear + chance.from_to(0, 3'000'000);
  for (int step = 0; step < how.steps; ++step) {
    now += chance.one_in(30) ? chance.from_to(0, 3'000'000) : chance.one_in(2) ? 0 : chance.from_to(0, how.idle);
    if (chance.one_in(60)) how.change(), stretches.emplace_back();
    limit.refresh(now);
    how.watch(now);
    std::vector<Left>& left = stretches.back();
    if (!left.empty() && left.back().at > now && chance.one_in(8)) {
      limit.give_back(left.back().at, left.back().weight);
      left.pop_back();
    }
    const int weight = chance.from_to(1, how.heaviest);
    if (!limit.admits(weight)) continue;
    const Instant at = limit.after_guard(std::max(now, limit.frontier(weight)));
    if (at > now + static_cast<Instant>(kHorizon)) {  // told to wait: some ask again when they were told
      const Instant again = at == kNever ? limit.reset_at() : at - chance.from_to(0, static_cast<int>(kHorizon));
      if (chance.one_in(2)) now = std::max(now, std::ceil(again));
      continue;
    }
    limit.commit(at, weight);
    left.push_back({rounded_up(at), weight});
  }
  for (auto& left : stretches) std::ranges::stable_sort(left, {}, &Left::at);
  return stretches;
}

/// All stretches as one.
inline std::vector<Left> joined(const std::vector<std::vector<Left>>& stretches) {
  std::vector<Left> all;
  for (const auto& left : stretches) all.insert(all.end(), left.begin(), left.end());
  std::ranges::stable_sort(all, {}, &Left::at);
  return all;
}

/// At most `bound(Δ)` units in any closed stretch of time of that length.
template <typename Bound>
void expect_at_most(const std::vector<Left>& left, Bound bound) {
  for (std::size_t first = 0; first < left.size(); ++first) {
    std::int64_t units = 0;
    for (std::size_t last = first; last < left.size(); ++last) {
      units += left[last].weight;
      const Instant length = left[last].at - left[first].at;
      ASSERT_LE(static_cast<double>(units), bound(length))
          << "within " << length << " us from " << left[first].at - kThisYear << " on";
    }
  }
}

/// CertificateCache as soon as it may, from `now` on, however far that is. Time passes where only a reset helps.
inline Instant leave_as_soon_as_may_be(Limit& limit, Instant& now, int weight = 1) {
  limit.refresh(now);
  for (int resets = 0; limit.frontier(weight) == kNever && resets < 10; ++resets) limit.refresh(now = limit.reset_at());
  const Instant at = limit.after_guard(std::max(now, limit.frontier(weight)));
  limit.commit(at, weight);
  return at;
}

/// The estimates for a crowd, made before it comes, against what becomes of it; within `tolerance`.
inline void expect_estimates_come_true(Limit& limit, Instant now, int crowd, Instant tolerance) {
  std::vector<Instant> estimates;
  for (int units = 0; units < crowd; ++units) estimates.push_back(limit.ahead(now, units));
  for (int n = 0; n < crowd; ++n) {
    const Instant estimate = estimates[static_cast<std::size_t>(n)];
    EXPECT_NEAR(leave_as_soon_as_may_be(limit, now), estimate, tolerance) << "the unit with " << n << " before it";
  }
}

/// How many would leave at `now` and at once.
inline int leave_at_once(Limit& limit, Instant now, int weight = 1) {
  limit.refresh(now);
  int left = 0;
  for (; left < 100'000 && limit.frontier(weight) <= now; ++left) limit.commit(now, weight);
  return left;
}

}  // namespace penstock::flow
