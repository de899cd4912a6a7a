// SPDX-License-Identifier: Apache-2.0
// Finds the departures of one ask, one after the other: each at the latest of the limits' frontiers. Where there is
// none, it says which limit stops it and when to ask again. Commits nothing. Internal to flow/.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "flow/limit.h"
#include "flow/limit_set.h"
#include "flow/limiter.h"
#include "flow/load.h"

namespace penstock::flow {

/// A departure is granted only if the frontier of the limits of its group and route is at most this long (µs) after the
/// upstream's: so the limits of the upstream never commit further ahead than this because of a group or a route.
inline constexpr Time kNarrowReach = 5'000;

/// The clock that limits are kept by, against the caller's.
struct LimitClock {
  Instant at_zero;  ///< the Instant at which the caller's clock shows 0, whole microseconds
  Instant instant(Time t) const { return at_zero + static_cast<Instant>(t); }
  Time time(Instant t) const { return static_cast<Time>(rounded_up(t - at_zero)); }
};

/// The latest of some frontiers, and whose it is.
struct Frontier {
  Instant at = kAlways;
  LimitIndex by = kNoLimit;
  /// Of equal ones the first stays.
  void raise(Instant other, LimitIndex other_by) {
    if (other > at) at = other, by = other_by;
  }
};

class DepartureSearch {
 public:
  /// What other lanes are about to take.
  struct Taken {
    std::int64_t departures = 0, units = 0;
    std::int64_t cost = 0;  ///< their units in limits that count the cost
    void add(const Taken& more) { departures += more.departures, units += more.units, cost += more.cost; }
  };
  struct Others {
    Taken all = {};
    Taken of_route = {}, of_group = {};  ///< those of the same route, and of the same group
  };
  /// For a lane of that route, which must outlive this.
  DepartureSearch(const LimitSet& limits, const LimitClock& clock, Time now, std::string_view route, const Load& load,
                  const Others& others)
      : limits_(limits),
        clock_(clock),
        now_(now),
        route_(route),
        load_(load),
        others_(others),
        last_{clock.instant(now)} {}
  DepartureSearch(const LimitSet& limits, const LimitClock& clock, Time now, std::string_view route, const Load& load)
      : DepartureSearch(limits, clock, now, route, load, {}) {}

  /// Before the first is looked for: none is earlier, whatever the limits allow.
  void leave_no_earlier(Instant at) { last_.raise(at, kNoLimit); }
  /// Moves on to the next departure, no earlier than the last, which is committed by now; or returns false and says in
  /// `booking` why there is none. Null: of an unknown group.
  bool find_next(const LimitSet::Group* group, Booking& booking);
  /// The departure that was found.
  Instant at() const { return last_.at; }
  Departure departure(ConfigEpoch epoch) const {
    const Time at = clock_.time(last_.at);
    return {.at = at,
            .weight = load_.weight,
            .limited_by = at > now_ ? last_.by : kNoLimit,
            .epoch = epoch,
            .cost = load_.cost};
  }

 private:
  struct Frontiers;

  Taken taken_of(const LimitSet::Rule& rule) const {
    if (!rule.narrow()) return others_.all;
    if (!rule.of_group()) return others_.of_route;
    return rule.config.route.empty() ? others_.of_group : Taken();
  }
  /// What it stops: a narrow frontier that is no limit's is that of a pause of the group.
  Booking::Scope stopped_by(const Frontier& narrow) const {
    return narrow.by >= 0 ? limits_.rule(narrow.by).scope() : Booking::Scope::group;
  }
  Frontiers frontiers(const LimitSet::Group* group) const;
  Frontier after_guard(Frontier found, const LimitSet::Group* group) const;
  Instant estimate(const LimitSet::Group* group, Frontier found) const;
  void tell_wait(const LimitSet::Group* group, Frontier found, Time reach, Booking& booking) const;

  const LimitSet& limits_;
  const LimitClock& clock_;
  const Time now_;
  const std::string_view route_;
  const Load load_;
  const Others others_;
  Frontier last_;
};

}  // namespace penstock::flow
