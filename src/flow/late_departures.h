// SPDX-License-Identifier: Apache-2.0
// Those of one upstream that have departed and not left, because their connections are slow to be made. As long as they
// have not, a limit that looks back counts them as if they left now, and the moments that it names may move by so much.
// Pure.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "flow/limiter.h"

namespace penstock::flow {

class LateDepartures {
 public:
  /// What is assumed where nobody has left in the last minute.
  static constexpr Time kAssumed = 1'000'000;

  /// One that has a departure and has not left. Whoever is dropped without left() never leaves.
  class Leaving {
   public:
    /// A request of `group` takes `departure`. Both outlive it; the departure is moved when it is counted anew.
    Leaving(LateDepartures& late, std::string_view group, Departure& departure);
    ~Leaving();
    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;

    void left(Time now) { late_.note(now, now > booked_ + kOnTime ? now - booked_ : 0); }

   private:
    friend class LateDepartures;
    Time due(Time holds) const { return std::max(departure_.at + holds, patience_over_); }

    LateDepartures& late_;
    const std::string_view group_;
    Departure& departure_;
    const Time booked_;
    Time patience_over_;  // until it has been counted anew: before this moment it is not late
    Leaving *before_, *behind_ = nullptr;
  };

  /// The most that anybody was late in the last minute, or up to two; nothing where all have left.
  Time to_expect(Time now) const;

  /// Whose places, under a limit that looks back so far, are about to become free though they have not left: they count
  /// from now on, and their departures are those that the booker knows of. The moment to come again; nothing: all have
  /// left.
  std::optional<Time> count_anew(Time now, Time interval, Limiter& limiter);
  /// When count_anew() is due for whoever departed last, who has not left.
  Time due_for_newest(Time interval, const Limiter& limiter) const;

 private:
  struct Minute {
    Time number = -2;  // counted from the clock's zero
    Time most = -1;
  };
  static Time number(Time now) { return now / 60'000'000; }
  static Time holds(Time interval, const Limiter& limiter);
  void note(Time now, Time late);

  std::array<Minute, 2> minutes_;
  Leaving *first_ = nullptr, *last_ = nullptr;
};

}  // namespace penstock::flow
