// SPDX-License-Identifier: Apache-2.0
// For random sequences: the simple limits of an upstream and of its route, drawn by dice, and whether the departures
// that were taken kept to those in force when they were granted.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "flow/limits.h"

namespace penstock::flow {

/// Small, fast and the same everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  template <typename T, std::size_t N>
  T one_of(const std::array<T, N>& choices) {
    return choices[below(N)];
  }

 private:
  std::mt19937_64 engine_;
};

/// One set of limits after the other: those of each epoch.
class LimitsInForce {
 public:
  /// The limits of the next epoch. Without a reservoir they admit any weight.
  std::vector<std::unique_ptr<Limit>> draw(Dice& dice, bool limited, std::uint64_t reservoir) {
    InForce& now = all_.emplace_back();
    if (!limited) return {};
    now.gap = dice.one_of(std::array<Time, 5>{0, 300, 4'000, 40'000, 70'000});
    now.reservoir = static_cast<int>(reservoir);
    now.interval = dice.one_of(std::array<Time, 3>{1'000, 30'000, 200'000});
    std::vector<std::unique_ptr<Limit>> limits;
    if (now.gap > 0) limits.push_back(std::make_unique<Spacing>(now.gap));
    if (now.reservoir > 0) limits.push_back(std::make_unique<FixedWindow>(now.reservoir, now.interval));
    return limits;
  }
  /// The most units of one departure in the last epoch; 0: any.
  int reservoir() const { return all_.back().reservoir; }

  void take(const Departure& departure) { taken_.push_back(departure); }
  /// It is not used after all. The last like it.
  void take_back(const Departure& departure) {
    const auto same = [&](const Departure& one) {
      return one.at == departure.at && one.weight == departure.weight && one.epoch == departure.epoch;
    };
    const auto found = std::find_if(taken_.rbegin(), taken_.rend(), same);
    ASSERT_NE(found, taken_.rend()) << "taken back, but never taken";
    taken_.erase(std::next(found).base());
  }
  /// Of all departures that were taken.
  void check() {
    const auto earlier = [](const Departure& a, const Departure& b) { return a.at < b.at; };
    std::sort(taken_.begin(), taken_.end(), earlier);
    for (std::size_t epoch = 0; epoch < all_.size(); ++epoch) check(static_cast<ConfigEpoch>(epoch));
  }

 private:
  struct InForce {
    Time gap = 0;
    int reservoir = 0;
    Time interval = 1;
  };

  void check(ConfigEpoch epoch) const {
    const InForce& limits = all_[static_cast<std::size_t>(epoch)];
    std::vector<Departure> taken;
    std::ranges::copy_if(taken_, std::back_inserter(taken), [epoch](const auto& one) { return one.epoch == epoch; });
    for (std::size_t i = 1; limits.gap > 0 && i < taken.size(); ++i) {
      EXPECT_GE(taken[i].at - taken[i - 1].at, limits.gap);
    }
    std::map<Time, int> units;
    for (const Departure& departure : taken) units[departure.at / limits.interval] += departure.weight;
    for (const auto& [window, sum] : units) {
      EXPECT_TRUE(limits.reservoir == 0 || sum <= limits.reservoir) << "too many in a window";
    }
  }

  std::vector<InForce> all_;
  std::vector<Departure> taken_;
};

}  // namespace penstock::flow
