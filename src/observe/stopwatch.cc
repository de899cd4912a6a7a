// SPDX-License-Identifier: Apache-2.0
// See stopwatch.h. A ring of one-second buckets, each stamped with its second, so that a stale bucket is recognized.
#include "observe/stopwatch.h"

#include <algorithm>
#include <utility>

namespace penstock::observe {

void Stopwatch::took_off(std::int64_t at) {
  advance(at);
  ++in_flight_;
}

void Stopwatch::landed(std::int64_t at) {
  advance(at);
  if (in_flight_ > 0) --in_flight_;
}

void Stopwatch::succeeded(std::int64_t at, Duration flight) {
  Bucket& now = bucket(at / kSecond);
  ++now.successes;
  now.flight += flight.count();
}

Duration Stopwatch::busy(std::int64_t at) {
  advance(at);
  return Duration{busy_};
}

Stopwatch::Minute Stopwatch::last_minute(std::int64_t at) {
  advance(at);
  Bucket sum;
  for (const Bucket& one : buckets_) {
    if (one.second <= at / kSecond - kSeconds) continue;
    sum.busy += one.busy;
    sum.flight += one.flight;
    sum.successes += one.successes;
  }
  if (sum.successes == 0 || sum.busy == 0) return {};
  const auto successes = static_cast<double>(sum.successes);
  return {.rps = successes * kSecond / static_cast<double>(sum.busy),
          .mean_latency = static_cast<double>(sum.flight) / successes / kSecond};
}

void Stopwatch::advance(std::int64_t at) {
  const std::int64_t from = std::exchange(reckoned_to_, std::max(at, reckoned_to_));
  if (in_flight_ == 0 || at <= from) return;
  busy_ += at - from;
  std::int64_t start = std::max(from, (at / kSecond - kSeconds + 1) * kSecond);
  while (start < at) {
    const std::int64_t end = std::min(at, (start / kSecond + 1) * kSecond);
    bucket(start / kSecond).busy += end - start;
    start = end;
  }
}

Stopwatch::Bucket& Stopwatch::bucket(std::int64_t second) {
  Bucket& found = buckets_[static_cast<std::size_t>(second % kSeconds)];
  if (found.second != second) found = Bucket{.second = second};
  return found;
}

}  // namespace penstock::observe
