// SPDX-License-Identifier: Apache-2.0
// The algebra in the heart: a limit is two functions of its state and a time. Pure; no clock is read in this room.
#pragma once

#include <cstdint>
#include <limits>

namespace penstock::flow {

/// Microseconds on the caller's clock; it never goes back.
using Time = std::int64_t;

/// Microseconds since 2025-01-01 00:00 UTC on the clock that a limit is kept by, with fractions: a rate of 30 000/s is
/// not a whole number of microseconds apart. Never goes back either.
using Instant = double;
inline constexpr Time kInstantZero = 1'735'689'600'000'000;                        ///< its zero, in µs since 1970
inline constexpr Instant kAlways = -std::numeric_limits<Instant>::infinity();  ///< a frontier that holds nobody
inline constexpr Instant kNever = std::numeric_limits<Instant>::infinity();    ///< one that time alone will not move

/// With its state given, a limit allows a weight from some moment on for good: its frontier. So the earliest moment at
/// or after t is max(t, frontier), and several limits compose by the latest of their frontiers.
class Limit {
 public:
  virtual ~Limit() = default;
  /// The first moment from which on a departure of this weight is allowed.
  virtual Instant frontier(int weight) const = 0;
  /// A departure of this weight took place at `at`, which is no earlier than frontier(weight).
  virtual void commit(Instant at, int weight) = 0;
  /// Takes back a departure that was not used, where that is exact; otherwise nothing happens.
  virtual void give_back(Instant at, int weight) = 0;
  /// An estimate made at `now`: the frontier of one more unit, once `units` others have left as soon as they may.
  virtual Instant ahead(Instant now, std::int64_t units) const = 0;
  /// From this moment on a new limit would be as good: this one may be forgotten.
  virtual Instant forgettable_at() const = 0;
};

}  // namespace penstock::flow
