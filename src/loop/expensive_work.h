// SPDX-License-Identifier: Apache-2.0
// Work that takes a good part of a millisecond each time, such as a step of a TLS handshake. All of it together has a
// part of each turn of the loop, so that everybody else has the rest.
#pragma once

#include <cstdint>

#include "loop/loop.h"

namespace penstock::loop {

class ExpensiveWork {
 public:
  /// False: this turn has had its part. The work is to be asked for again in the next.
  static bool may_begin(const Loop& loop) { return loop.expensive_time_ < kPerIteration; }

  /// Until it is destroyed.
  explicit ExpensiveWork(Loop& loop) : loop_(loop), began_(loop.now()) {}
  ~ExpensiveWork() { loop_.expensive_time_ += loop_.now() - began_; }
  ExpensiveWork(const ExpensiveWork&) = delete;

 private:
  static constexpr std::int64_t kPerIteration = 5'000;  // microseconds

  Loop& loop_;
  const std::int64_t began_;
};

}  // namespace penstock::loop
