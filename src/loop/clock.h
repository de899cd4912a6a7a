// SPDX-License-Identifier: Apache-2.0
// The clock of a loop. A loop without one uses the system's clocks. A loop with one never waits: the code that moves
// the clock calls Loop::step() to run what is due, so a test or a simulation plays days in moments.
#pragma once

#include <cstdint>

namespace penstock::loop {

class Clock {
 public:
  /// Microseconds, monotonic.
  virtual std::int64_t now() const = 0;
  /// Microseconds since 1970, UTC. May be set.
  virtual std::int64_t wall() const = 0;

 protected:
  ~Clock() = default;
};

/// The system's clocks.
std::int64_t system_now();
std::int64_t system_wall();

}  // namespace penstock::loop
