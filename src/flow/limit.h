// SPDX-License-Identifier: Apache-2.0
// The interface of all limits. A limit says from when on a departure is allowed (frontier()), and counts a departure
// that is booked (commit()). Pure; flow/ reads no clock.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

namespace penstock::flow {

/// Microseconds on the caller's clock, which never goes back.
using Time = std::int64_t;

/// Microseconds since 2025-01-01 00:00 UTC on the clock that a limit is kept by. With fractions: at 30 000/s,
/// departures are not a whole number of microseconds apart. Never goes back either.
using Instant = double;
inline constexpr Time kInstantZero = 1'735'689'600'000'000;  ///< Instant 0, in µs since 1970
/// The Instant at which the caller's clock shows 0, if it shows `now` at `wall` µs after 1970.
constexpr Instant instant_at_zero(Time wall, Time now) { return static_cast<Instant>(wall - kInstantZero - now); }
inline constexpr Instant kAlways = -std::numeric_limits<Instant>::infinity();  ///< a frontier that stops nothing
inline constexpr Instant kNever = std::numeric_limits<Instant>::infinity();    ///< a frontier that time does not reach

/// Rounds up to whole microseconds; a fraction below 0.001 counts as imprecision of the double and is dropped.
inline Instant rounded_up(Instant t) { return std::ceil(t - 0.001); }

/// Departures keep this distance (µs) from the edges at which a limit starts counting again, since processes send them
/// with different delays.
inline constexpr Instant kGuard = 1'000;

/// Other processes that wait for the same limits, each for about as many units as this one.
struct OtherProcesses {
  std::int64_t count = 0;
  std::int64_t had_less = 0;  ///< how many units fewer than this process they had in total; they get these first
  std::int64_t before(std::int64_t own) const { return std::max<std::int64_t>(0, count * own + had_less); }
};

/// How many units a limit had left when this process last heard of it. Of window, slidingWindow and counter: all that
/// may leave before `until`, when the next period begins. Of a tokenBucket: its tokens since its last refill, at
/// `until`. Of a pacer: what is left of its burst; its next free moment is `until`.
/// Of an adaptive limit: its rate in millionths of a unit a second; its next free moment is `until`.
struct Remaining {
  Instant until = kAlways;  ///< kAlways: nothing was heard
  std::int64_t units = 0;
};

/// What an upstream says in an answer that it has counted in its window that is open: units of all that use the same
/// account there, ours among them.
struct Counted {
  std::int64_t count = 0;
  Instant resets = 0;    ///< when that window ends
  Instant departed = 0;  ///< when the request left that was answered
};

/// What a request may take to the upstream (µs), which counts it when it arrives.
inline constexpr Instant kLongestWay = 1'000'000;

/// How much of a limit is used, for people: as LimitSnapshot, without what the configuration says.
struct LimitReading {
  double used = 0, of = 0;
  std::optional<double> rate = {};        ///< units a second
  std::optional<Instant> opens_in = {};   ///< µs, not negative
  std::optional<Instant> resets_in = {};  ///< likewise
  bool shared = false;                    ///< Redis keeps it now
  bool known = true;                      ///< false: what is above means nothing

  /// The part that is used; above 1 after a limit was lowered.
  double fullness() const { return of > 0 ? used / of : 0; }
};

/// What strangers have taken of the upstream's own window, as far as known. Until that ends, only the rest of it is for
/// us.
struct ByStrangers {
  std::int64_t units = 0;
  Instant from = kAlways, until = kAlways;
};

/// In a given state, a limit allows a weight from some moment on, and ever after: its frontier. So the earliest allowed
/// moment at or after t is max(t, frontier), and several limits compose by the latest of their frontiers.
class Limit {
 public:
  virtual ~Limit() = default;
  /// One that goes on from the same state by itself, with the same parameters, which must outlive it.
  virtual std::unique_ptr<Limit> copy() const = 0;
  /// Whether this weight can ever be allowed.
  virtual bool admits(int /*weight*/) const { return true; }
  /// The time is `now`, and the parameters may have changed. Call this before any other function.
  virtual void refresh(Instant /*now*/) {}
  /// The moment from which on a departure of this weight is allowed.
  virtual Instant frontier(int weight) const = 0;
  /// When a frontier of kNever will change by itself.
  virtual Instant reset_at() const { return kNever; }
  /// The first moment at or after `t` that is not too near to an edge (kGuard).
  virtual Instant after_guard(Instant t) const { return t; }
  /// True if no permit is free, whatever the time, until a request lands. `others` more permits count as taken.
  virtual bool full(std::int64_t /*others*/ = 0) const { return false; }
  /// A departure of this weight took place at `at`, which is no earlier than frontier(weight).
  virtual void commit(Instant at, int weight) = 0;
  /// Takes back a departure that was not used, if that can be done exactly; otherwise no effect.
  virtual void give_back(Instant at, int weight) = 0;
  /// A departure took place for which one unit had to be free, whatever it costs. What is not free is a debt: it counts
  /// in the next moments that are, and later departures wait for it.
  virtual void commit_cost(Instant at, int cost) { commit(at, cost); }
  /// A departure that was committed as commit_cost(at, taken) is known, `now`, to have cost something else. More is a
  /// cost of its own. Of less it has no more back than if that had been known when it left.
  virtual void settle(Instant at, Instant now, int taken, int cost) {
    cost > taken ? commit_cost(now, cost - taken) : give_back(at, taken - cost);
  }
  /// Whether it counts a departure that left late from then on: such a one is settled by when it left, and in other
  /// limits by when it was booked for.
  virtual bool moves() const { return false; }
  /// A departure committed for `from` left later, at `to`: it counts from `to` on.
  virtual void moved(Instant /*from*/, Instant /*to*/, int /*weight*/) {}
  /// The upstream refused a request that had left at `departed`. A limit that learns from that lowers its rate.
  virtual void refused(Instant /*now*/, Instant /*departed*/) {}
  /// Those kinds that keep a window learn how much of it strangers have taken. More of ours may be counted by `now`
  /// than had been in that answer, or not: so it says between how few and how many are the strangers', and what was
  /// learned before stays as far as it is in between. Requests that leave together may be counted in any order. So an
  /// answer to one that left before another whose answer is known says how few alone, and after kLongestWay nothing.
  /// The window's end clears it.
  virtual void learn(Instant /*now*/, const Counted& /*counted*/) {}
  /// A request that had departed has landed.
  virtual void landed() {}
  /// This many departures are in flight that were not committed.
  virtual void count_existing(std::int64_t /*departures*/) {}
  /// An estimate made at `now`: the frontier of one more unit, once `units` others have left as soon as they may.
  virtual Instant ahead(Instant now, std::int64_t units) const = 0;
  /// The same for a departure of this weight. With several weights it may be too early: units that do not fit into what
  /// is left of a period leave in the next, and what was left is nobody's.
  virtual Instant frontier_behind(Instant now, std::int64_t units, int weight) const {
    return std::max(frontier(weight), ahead(now, units + weight - 1));
  }
  /// The state of a limit kept in Redis, as the two numbers that book.lua reports. Only for ahead() and expected().
  virtual void heard(Instant /*since*/, std::int64_t /*much*/) {}
  /// The same as ahead() for a weight behind `units` units of this process, while `others` wait as well.
  virtual Instant expected(Instant now, std::int64_t units, int weight, const OtherProcesses& others) const {
    return ahead(now, units + others.before(units) + weight - 1);
  }
  /// How many of these units may leave at the same time as the unit behind them (in the same window or period).
  virtual std::int64_t in_its_step(Instant /*now*/, std::int64_t /*units*/) const { return 0; }
  /// The least time that this many units take one after the other, whenever they begin.
  virtual Instant takes(std::int64_t /*units*/) const { return 0; }
  // For a rehearsal of how processes share it (rehearsed_line.h); the twins are `passes` and `room` of each kind in
  // lua/.
  /// Units that leave in a microsecond, in the long run; kNever: any number.
  virtual double passes() const { return kNever; }
  /// Units that may still leave by `till`; kNever: any number.
  virtual double room(Instant /*now*/, Instant /*till*/) const { return kNever; }
  /// The clock was corrected: all that the limit remembers happened later by this much.
  virtual void shift(Instant /*by*/) {}
  /// From this moment on a new limit would behave the same: this one may be forgotten.
  virtual Instant forgettable_at() const = 0;
  /// How it stands at `now`; needs no refresh().
  virtual LimitReading read(Instant now) const = 0;
  /// Its state as Redis stores it; empty: there is none, or Redis stores none in this form.
  virtual std::string state() const { return {}; }
  /// Likewise, what its departures have taken since it became a part of another limit; empty: state() tells that.
  virtual std::string taken() const { return {}; }
};

}  // namespace penstock::flow
