// SPDX-License-Identifier: Apache-2.0
// Work that takes a good part of a millisecond each time, such as a step of a TLS handshake. All of it together has a
// part of each turn of the loop, so that everybody else has the rest.
#pragma once

#include <cstdint>

#include "loop/loop.h"

namespace penstock::loop {

class DearWork {
 public:
  /// False: this turn has had its part. The work is to be asked for again in the next.
  static bool may_begin(const Loop& loop) { return loop.dear_time_ < kOfOneTurn; }

  /// Until it is destroyed.
  explicit DearWork(Loop& loop) : loop_(loop), began_(loop.now()) {}
  ~DearWork() { loop_.dear_time_ += loop_.now() - began_; }
  DearWork(const DearWork&) = delete;

 private:
  static constexpr std::int64_t kOfOneTurn = 5'000;  // microseconds

  Loop& loop_;
  const std::int64_t began_;
};

}  // namespace penstock::loop
