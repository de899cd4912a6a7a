// SPDX-License-Identifier: Apache-2.0
// Randomness that is the same on every machine: the standard library's distributions are not.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace penstock::simulation {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t draw() { return engine_(); }
  /// From 0 to n − 1; n > 0.
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most - least) + 1));
  }
  /// From 0 to below 1.
  double part() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  bool happens(double chance) { return part() < chance; }
  /// Each factor is equally likely; 0 < least <= most.
  double scaled(double least, double most) { return least * std::pow(most / least, part()); }
  double exponential(double mean) { return -mean * std::log1p(-part()); }
  /// One of several choices.
  template <typename Choices>
  const auto& any(const Choices& choices) {
    return *(std::begin(choices) + static_cast<std::ptrdiff_t>(below(std::size(choices))));
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace penstock::simulation
