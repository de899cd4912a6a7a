// SPDX-License-Identifier: Apache-2.0
// One division for each kind of limit.
#include "redis/limits/divide_limits.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

namespace penstock::redis {

namespace {

/// Divides `count` per `time`.
void divide(int& count, Duration& time, int processes) {
  if (count >= processes) {
    count /= processes;
    return;
  }
  time *= (processes + count - 1) / count;
  count = 1;
}

void divide(PacerConfig& pacer, int processes) {
  pacer.qps /= processes;
  pacer.max_burst /= processes;
}

void divide(WindowConfig& window, int processes) { divide(window.reservoir, window.interval, processes); }
/// Beside a pacer, a count rounded down would let less pass than the pacer's part: it stays, and takes longer.
void divide(SlidingWindowConfig& window, int processes) {
  if (window.beside_pacer)
    window.interval *= processes;
  else
    divide(window.max, window.interval, processes);
}
void divide(CounterConfig& counter, int processes) { divide(counter.max, counter.period, processes); }
void divide(AdaptiveConfig& adaptive, int processes) {
  adaptive.min /= processes;
  adaptive.max /= processes;
}
/// Permits are bounded by how many are held instead: see at_hand_alone().
void divide(SemaphoreConfig& semaphore, int) { semaphore.capacity = std::numeric_limits<int>::max(); }

/// Fewer tokens come at once, at an interval that is shorter or longer so that the rate is the same.
void divide(TokenBucketConfig& bucket, int processes) {
  const int amount = std::max(1, bucket.refill_amount / processes);
  const double times = static_cast<double>(amount) * processes / bucket.refill_amount;
  bucket.refill_frequency =
      Duration{std::llround(std::ceil(static_cast<double>(bucket.refill_frequency.count()) * times))};
  bucket.refill_amount = amount;
  bucket.capacity = std::max(1, bucket.capacity / processes);
}

}  // namespace

int sharers(const Sharers& known) {
  int seen = known.at_upstream > 0 ? known.at_upstream : known.of_prefix;
  if (seen == 0 && known.configured == 0) seen = known.remembered;
  return std::max({1, seen, known.configured});
}

std::vector<LimitConfig> shares_of(std::vector<LimitConfig> limits, int processes) {
  for (auto& limit : limits) {
    if (limit.shared && processes > 1) std::visit([=](auto& kind) { divide(kind, processes); }, limit.kind);
  }
  return limits;
}

std::int64_t permits_alone(const SemaphoreConfig& semaphore, WhenDown rule, int processes) {
  switch (rule) {
    case WhenDown::share: return semaphore.capacity / std::max(1, processes);
    case WhenDown::open: return std::numeric_limits<std::int64_t>::max();
    case WhenDown::wait:
    case WhenDown::refuse: break;
  }
  return 0;
}

}  // namespace penstock::redis
