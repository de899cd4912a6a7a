// SPDX-License-Identifier: Apache-2.0
// Expensive work: each piece, such as a step of a TLS handshake, takes a good part of a millisecond. All of it together
// gets a time budget in each iteration of the loop, so that other work is not held up longer.
#pragma once

#include <cstdint>

#include "loop/loop.h"

namespace penstock::loop {

class ExpensiveWork {
 public:
  /// False: this iteration's budget is used up; try again in the next iteration.
  static bool may_begin(const Loop& loop) { return loop.expensive_time_ < kPerIteration; }

  /// Measures the work from here until the object is destroyed.
  explicit ExpensiveWork(Loop& loop) : loop_(loop), began_(loop.now()) {}
  ~ExpensiveWork() { loop_.expensive_time_ += loop_.now() - began_; }
  ExpensiveWork(const ExpensiveWork&) = delete;

 private:
  static constexpr std::int64_t kPerIteration = 5'000;  // microseconds

  Loop& loop_;
  const std::int64_t began_;
};

}  // namespace penstock::loop
