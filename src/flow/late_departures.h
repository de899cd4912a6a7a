// SPDX-License-Identifier: Apache-2.0
// The requests of one upstream that have taken off but not left, because their connections are slow to be made. Until
// they leave, a limit that looks back (slidingWindow) counts them as if they left now, so the times that it names may
// move by as much. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "flow/limiter.h"

namespace penstock::flow {

class LateDepartures {
 public:
  /// The lateness assumed if no request has left in the last minute.
  static constexpr Time kAssumed = 1'000'000;

  /// A request that took its departure and has not left. Destroyed without left(), it never leaves.
  class Leaving {
   public:
    /// A request of `lane` takes `departure`. Both must outlive this; count_anew() moves the departure.
    Leaving(LateDepartures& late, LaneKey lane, Departure& departure);
    ~Leaving();
    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;

    void left(Time now) { late_.note(now, now > booked_ + kOnTime ? now - booked_ : 0); }

   private:
    friend class LateDepartures;
    Time due(Time holds) const { return std::max(departure_.at + holds, patience_over_); }

    LateDepartures& late_;
    const LaneKey lane_;
    Departure& departure_;
    const Time booked_;
    Time patience_over_;  // until it is first counted again: before this time it is not late; then 0
    Leaving *before_, *behind_ = nullptr;
  };

  /// The greatest lateness of the last one to two minutes; 0 if all have left.
  Time to_expect(Time now) const;

  /// Requests that have not left although their places, under a limit that looks back by `interval`, are about to
  /// become free: they count as if they left `now`, and their departures become those that the limiter knows. Returns
  /// when to call again; nullopt: all have left.
  std::optional<Time> count_anew(Time now, Time interval, Limiter& limiter);
  /// When count_anew() is due for the request that took off last, which must not have left.
  Time due_for_newest(Time interval, const Limiter& limiter) const;

 private:
  struct Minute {
    Time number = -2;  // minutes since the clock's zero
    Time most = -1;    // the greatest lateness in it
  };
  static Time number(Time now) { return now / 60'000'000; }
  static Time holds(Time interval, const Limiter& limiter);
  void note(Time now, Time late);

  std::array<Minute, 2> minutes_;
  Leaving *first_ = nullptr, *last_ = nullptr;
};

}  // namespace penstock::flow
