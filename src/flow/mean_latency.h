// SPDX-License-Identifier: Apache-2.0
// The mean time in flight of the requests of the last minute, from twelve sums of five seconds each. It serves the
// estimate in `Retry-After`; metrics count separately. Internal to flow/.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "flow/limit.h"

namespace penstock::flow {

class MeanLatency {
 public:
  /// The mean assumed if nothing has landed for a minute and nothing is in flight; the least if something is in flight.
  static constexpr Time kAssumed = 1'000'000;

  void landed(Time now, Time flight) {
    const std::int64_t number = now / kSlice;
    Slice& slice = slices_[static_cast<std::size_t>(number) % slices_.size()];
    if (slice.number != number) slice = {.number = number};
    slice.sum += flight;
    ++slice.count;
  }

  /// Whether any has landed in the last minute.
  bool known(Time now) const {
    const std::int64_t oldest = oldest_at(now);
    return std::ranges::any_of(slices_, [=](const Slice& one) { return one.number >= oldest && one.count > 0; });
  }

  /// `flying` requests are still in flight, for `flown` in total. Their time counts too, or a few short flights would
  /// speak for slots that long ones hold; on average, none counts for more than a minute.
  Time mean(Time now, std::int64_t flying = 0, Time flown = 0) const {
    const std::int64_t oldest = oldest_at(now);
    Time sum = 0;
    std::int64_t count = 0;
    for (const Slice& slice : slices_) {
      if (slice.number < oldest) continue;
      sum += slice.sum;
      count += slice.count;
    }
    if (count == 0) return flying == 0 ? kAssumed : std::max(kAssumed, flown / flying);
    return (sum + std::min(flown, flying * kMinute)) / count;
  }

 private:
  static constexpr Time kSlice = 5'000'000;
  static constexpr Time kMinute = 12 * kSlice;
  static constexpr std::int64_t oldest_at(Time now) { return now / kSlice - 11; }
  struct Slice {
    std::int64_t number = 0;  // slices since the clock's zero
    Time sum = 0;
    std::int64_t count = 0;
  };
  std::array<Slice, 12> slices_{};
};

}  // namespace penstock::flow
