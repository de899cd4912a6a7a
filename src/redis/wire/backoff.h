// SPDX-License-Identifier: Apache-2.0
// When to reconnect after a connection has ended: soon at first, then after doubling waits of up to 320 ms while none
// works, with jitter so that processes do not all try at the same moment. Recovery takes less than a second. Only for
// client/session.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <utility>

#include "loop/loop.h"
#include "loop/timer.h"

namespace penstock::redis {

class Backoff {
 public:
  Backoff(loop::Loop& loop, std::uint64_t seed, std::move_only_function<void()> dial)
      : loop_(loop), random_(seed), timer_(loop, std::move(dial)) {}

  void succeeded() { up_since_ = loop_.now(); }
  void later() {
    const auto now = loop_.now();
    if (std::exchange(up_since_, kNever) <= now - kStable) wait_ = kShortest;
    timer_.start(now + wait_ * std::uniform_int_distribution(75, 125)(random_) / 100);
    wait_ = std::min(2 * wait_, kLongest);
  }
  void stop() { timer_.stop(); }

 private:
  static constexpr std::int64_t kShortest = 20'000, kLongest = 320'000;
  static constexpr std::int64_t kStable = 100'000;  // a connection that ended sooner did not work: the wait grows
  static constexpr std::int64_t kNever = INT64_MAX;

  loop::Loop& loop_;
  std::minstd_rand random_;
  std::int64_t wait_ = kShortest;
  std::int64_t up_since_ = kNever;
  loop::Timer timer_;
};

}  // namespace penstock::redis
