// SPDX-License-Identifier: Apache-2.0
// Draws limits with parameters from their whole ranges.
#include <algorithm>
#include <cmath>

#include "simulation/any_plan.h"
#include "simulation/drawing.h"

namespace penstock::simulation {

namespace {

using std::chrono::microseconds;

int whole(double value) { return std::max(1, static_cast<int>(std::lround(value))); }

/// Units a second: from one an hour to 20,000 a second.
double any_rate(Random& random) {
  switch (random.below(5)) {
    case 0: return random.scaled(1.0 / 3600, 0.1);
    case 1: return random.scaled(1'000, 20'000);
    default: return random.scaled(0.1, 1'000);
  }
}

/// One, few, many, or a million.
int any_size(Random& random, int most) {
  switch (random.below(8)) {
    case 0: return 1;
    case 1:
    case 2: return static_cast<int>(random.between(2, 10));
    case 3: return std::min(most, 1'000'000);
    default: return std::min(most, whole(random.scaled(10, 3'000)));
  }
}

/// 100 ms to a day, rarely a year.
Duration any_interval(Random& random) {
  switch (random.below(16)) {
    case 0: return microseconds(366 * kDay);
    case 1: return microseconds(kDay);
    case 2:
    case 3: return microseconds(static_cast<Time>(random.scaled(60e6, 3600e6)));
    case 4:
    case 5:
    case 6:
    case 7: return microseconds(static_cast<Time>(random.scaled(100e3, 2e6)));
    case 8: return microseconds(100 * kMillisecond);
    default: return microseconds(static_cast<Time>(random.scaled(1, 60)) * kSecond);
  }
}

PacerConfig any_pacer(Random& random) {
  PacerConfig pacer{.qps = any_rate(random)};
  switch (random.below(4)) {
    case 0: break;
    case 1: pacer.max_burst = static_cast<int>(random.between(1, 10)); break;
    default: pacer.max_burst = std::min(5'000, whole(pacer.qps * random.scaled(0.05, 60)));
  }
  if (random.happens(0.2)) pacer.burst_allowance_factor = random.scaled(0.01, 1);
  return pacer;
}

TokenBucketConfig any_bucket(Random& random) {
  TokenBucketConfig bucket{.capacity = any_size(random, 1'000'000)};
  bucket.refill_amount = random.happens(0.3) ? 1 : whole(random.scaled(1, bucket.capacity));
  const double rate = any_rate(random), every = std::clamp(bucket.refill_amount / rate, 0.01, 86'400.0);
  bucket.refill_frequency = microseconds(static_cast<Time>(every * 1e6));
  return bucket;
}

SemaphoreConfig any_semaphore(Random& random) {
  SemaphoreConfig semaphore{.capacity = any_size(random, 1'000'000)};
  if (random.happens(0.5)) semaphore.lease = microseconds(static_cast<Time>(random.scaled(1, 3'600)) * kSecond);
  return semaphore;
}

}  // namespace

LimitConfig any_limit(Random& random, DrawnKind kind, bool for_group) {
  const int most_sliding = for_group ? 1'000 : 10'000;
  switch (kind) {
    case DrawnKind::pacer: return {.kind = any_pacer(random)};
    case DrawnKind::window: {
      const int reservoir = any_size(random, 1'000'000);
      return {.kind = WindowConfig{reservoir, any_interval(random), random.happens(0.2)}};
    }
    case DrawnKind::sliding_window: {
      const int max = any_size(random, most_sliding);
      return sliding_window(max, any_interval(random));
    }
    case DrawnKind::token_bucket: return {.kind = any_bucket(random)};
    case DrawnKind::semaphore: return {.kind = any_semaphore(random)};
    case DrawnKind::counter: break;
  }
  const int max = any_size(random, 1'000'000);
  return counter(max, any_interval(random));
}

}  // namespace penstock::simulation
