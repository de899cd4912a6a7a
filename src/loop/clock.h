// SPDX-License-Identifier: Apache-2.0
// Where a loop has its time from. A loop that is given none has the system's. One that is given a clock never waits:
// whoever moves that clock has the loop do what is due by Loop::step(), so a test or a simulation plays days in
// moments.
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
