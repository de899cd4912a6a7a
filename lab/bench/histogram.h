// SPDX-License-Identifier: Apache-2.0
// Latencies of one measurement, counted in steps of a fifth of a microsecond. For the loads only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock::bench {

class Histogram {
 public:
  void add(std::int64_t nanoseconds) {
    ++counts_[std::min(static_cast<std::size_t>(nanoseconds) / kStep, counts_.size() - 1)];
    ++total_;
  }

  /// The latency that `share` of all are at or below, in microseconds; 0 when there are none.
  double quantile_us(double share) const {
    std::size_t left = static_cast<std::size_t>(share * static_cast<double>(total_));
    std::size_t at = 0;
    while (at + 1 < counts_.size() && left >= counts_[at]) left -= counts_[at++];
    return total_ == 0 ? 0 : (static_cast<double>(at) + 0.5) * kStep / 1000;
  }

  std::size_t total() const { return total_; }

 private:
  static constexpr std::size_t kStep = 200;             // nanoseconds
  static constexpr std::size_t kSteps = 5'000 * 1'000;  // up to one second; what took longer counts as that

  std::vector<std::uint32_t> counts_ = std::vector<std::uint32_t>(kSteps);
  std::size_t total_ = 0;
};

}  // namespace penstock::bench
