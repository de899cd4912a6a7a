// SPDX-License-Identifier: Apache-2.0
// The algebra in the heart: a limit is two functions of its state and a time. Pure; no clock is read in this room.
#pragma once

#include <cstdint>

namespace penstock::flow {

/// Microseconds on the caller's clock; it never goes back.
using Time = std::int64_t;

/// With its state given, a limit allows a weight from some moment on for good: its frontier. So the earliest moment at
/// or after t is max(t, frontier), and several limits compose by the latest of their frontiers.
class Limit {
 public:
  virtual ~Limit() = default;
  /// The first moment from which on a departure of this weight is allowed.
  virtual Time frontier(int weight) const = 0;
  /// A departure of this weight took place at `at`, which is no earlier than frontier(weight).
  virtual void commit(Time at, int weight) = 0;
  /// Takes back a departure that was not used, where that is exact; otherwise nothing happens.
  virtual void give_back(Time at, int weight) = 0;
};

}  // namespace penstock::flow
