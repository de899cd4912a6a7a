// SPDX-License-Identifier: Apache-2.0
// The algebra in the heart: a limit is two functions of its state and a time. Pure; no clock is read in this room.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace penstock::flow {

/// Microseconds on the caller's clock; it never goes back.
using Time = std::int64_t;

/// Microseconds since 2025-01-01 00:00 UTC on the clock that a limit is kept by, with fractions: a rate of 30 000/s is
/// not a whole number of microseconds apart. Never goes back either.
using Instant = double;
inline constexpr Time kInstantZero = 1'735'689'600'000'000;  ///< its zero, in µs since 1970
/// The Instant at which a clock shows 0 that shows `now` while it is `wall` µs after 1970.
constexpr Instant instant_at_zero(Time wall, Time now) { return static_cast<Instant>(wall - kInstantZero - now); }
inline constexpr Instant kAlways = -std::numeric_limits<Instant>::infinity();  ///< a frontier that holds nobody
inline constexpr Instant kNever = std::numeric_limits<Instant>::infinity();    ///< one that time alone will not move

/// What leaves the algebra is whole microseconds: the next, unless only the imprecision of doubles is in between.
inline Instant rounded_up(Instant t) { return std::ceil(t - 0.001); }

/// How far departures are kept from the moments at which a limit starts counting anew, since the processes that send
/// them are late by different times.
inline constexpr Instant kGuard = 1'000;

/// Processes that wait for the same limits, each with about as much as this one.
struct OtherProcesses {
  std::int64_t count = 0;
  std::int64_t had_less = 0;  ///< units, all together, than this one: these they get first
  std::int64_t before(std::int64_t own) const { return std::max<std::int64_t>(0, count * own + had_less); }
};

/// How many units a limit would have let leave when that was heard. Of a count they are all until `until`, when the
/// next period begins; a tokenBucket has them since `until`, its last refill; a pacer's next is free from then on, and
/// so many of its burst are left.
struct Remaining {
  Instant until = kAlways;  ///< kAlways: nothing was heard
  std::int64_t units = 0;
};

/// With its state given, a limit allows a weight from some moment on for good: its frontier. So the earliest moment at
/// or after t is max(t, frontier), and several limits compose by the latest of their frontiers.
class Limit {
 public:
  virtual ~Limit() = default;
  /// Whether such a weight can ever be allowed.
  virtual bool admits(int /*weight*/) const { return true; }
  /// It is `now`, and the parameters may have changed. To be called before the rest.
  virtual void refresh(Instant /*now*/) {}
  /// The first moment from which on a departure of this weight is allowed.
  virtual Instant frontier(int weight) const = 0;
  /// Of a frontier that is kNever: when it will change by itself.
  virtual Instant reset_at() const { return kNever; }
  /// The first moment at or after `t` that is not too near to an edge.
  virtual Instant after_guard(Instant t) const { return t; }
  /// No permit is free, whatever the time; one will be when something lands.
  virtual bool full(std::int64_t /*others*/ = 0) const { return false; }
  /// A departure of this weight took place at `at`, which is no earlier than frontier(weight).
  virtual void commit(Instant at, int weight) = 0;
  /// Takes back a departure that was not used, where that is exact; otherwise nothing happens.
  virtual void give_back(Instant at, int weight) = 0;
  /// A departure committed for `from` left at `to`, later than that: it counts from then on.
  virtual void moved(Instant /*from*/, Instant /*to*/, int /*weight*/) {}
  /// What left has landed.
  virtual void landed() {}
  /// So many are in flight that were not committed.
  virtual void count_existing(std::int64_t /*departures*/) {}
  /// An estimate made at `now`: the frontier of one more unit, once `units` others have left as soon as they may.
  virtual Instant ahead(Instant now, std::int64_t units) const = 0;
  /// Of one that is kept elsewhere: how it stands there, in the two numbers of book.lua. For ahead() alone.
  virtual void heard(Instant /*since*/, std::int64_t /*much*/) {}
  /// The same for a weight behind so many units of this process, where others wait as well.
  virtual Instant expected(Instant now, std::int64_t units, int weight, const OtherProcesses& others) const {
    return ahead(now, units + others.before(units) + weight - 1);
  }
  /// Of these units, how many leave in the same step as the one behind them: all of them may at once.
  virtual std::int64_t in_its_step(Instant /*now*/, std::int64_t /*units*/) const { return 0; }
  /// How long so many take at least, one after the other, whenever they begin.
  virtual Instant takes(std::int64_t /*units*/) const { return 0; }
  /// The clock is set: whatever it remembers was by so much later than it took it to be.
  virtual void shift(Instant /*by*/) {}
  /// From this moment on a new limit would be as good: this one may be forgotten.
  virtual Instant forgettable_at() const = 0;
  /// What it remembers, as Redis stores it; empty: nothing, or nothing that Redis would keep in this way.
  virtual std::string state() const { return {}; }
  /// Likewise what its departures have taken since it is the part of another; empty: what it remembers tells that.
  virtual std::string taken() const { return {}; }
};

}  // namespace penstock::flow
