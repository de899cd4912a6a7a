// SPDX-License-Identifier: Apache-2.0
// Composes the limits of an upstream: takes the latest frontier of all.
#include "flow/departure_search.h"

#include <algorithm>

namespace penstock::flow {

namespace {
constexpr Instant kImprecision = 0.001;
}  // namespace

/// The latest frontiers of the limits for one departure that is no earlier than the last.
struct DepartureSearch::Frontiers {
  Frontier all;     ///< of all limits and the last departure; of equal ones the first in the configuration
  Frontier wide;    ///< of the limits of the whole upstream and the last departure
  Frontier narrow;  ///< of the limits of the group and of the route
  Frontier refusing;
  Frontier delaying;
  LimitIndex full = kNoLimit;  ///< the first without a permit
};

bool DepartureSearch::find_next(const LimitSet::Group* group, Booking& booking) {
  const Frontiers found = frontiers(group);
  if (found.refusing.at > clock_.instant(now_) && found.refusing.at > found.delaying.at) {
    booking.stop = Booking::Stop::refused;
    booking.scope = limits_.rule(found.refusing.by).scope();
    booking.limited_by = found.refusing.by;
    booking.ask_again = booking.not_before = clock_.time(estimate(group, found.refusing));
    return false;
  }
  if (limits_.has_wide() && found.narrow.at > found.wide.at + static_cast<Instant>(kNarrowReach) + kImprecision) {
    booking.scope = stopped_by(found.narrow);
    tell_wait(group, found.narrow, kNarrowReach, booking);
    return false;
  }
  const Frontier next = load_.weight > 0 ? after_guard(found.all, group) : found.all;
  if (rounded_up(next.at) > clock_.instant(now_ + kHorizon)) {
    const bool by_narrow = !limits_.has_wide() && (next.by >= 0 || found.narrow.at > found.wide.at);
    booking.scope = by_narrow ? stopped_by(next) : Booking::Scope::upstream;
    tell_wait(group, next, kHorizon, booking);
    return false;
  }
  if (found.full != kNoLimit) {
    booking.stop = limits_.rule(found.full).refuses() ? Booking::Stop::refused : Booking::Stop::permit;
    booking.scope = limits_.rule(found.full).scope();
    booking.limited_by = found.full;
    booking.not_before = clock_.time(next.at);
    return false;
  }
  last_ = next;
  return true;
}

DepartureSearch::Frontiers DepartureSearch::frontiers(const LimitSet::Group* group) const {
  Frontiers found{.all = last_, .wide = last_};
  limits_.each(group, route_, [&](const Limit& limit, const LimitSet::Rule& rule, LimitIndex index) {
    if (!rule.looked_at || !rule.sees(load_.weight)) return;
    const Taken taken = taken_of(rule);
    const std::int64_t units = rule.counts_cost() ? taken.cost : taken.units;
    const int own = rule.needs(load_);
    const Instant frontier = units > 0 ? limit.frontier_behind(last_.at, units, own) : limit.frontier(own);
    found.all.raise(frontier, index);
    (rule.narrow() ? found.narrow : found.wide).raise(frontier, index);
    (rule.refuses() ? found.refusing : found.delaying).raise(frontier, index);
    if (found.full == kNoLimit && limit.full(taken.departures)) found.full = index;
  });
  for (const PauseLimit* pause : {&limits_.pause(), group ? &group->pause : nullptr}) {
    if (!pause || load_.weight == 0) continue;
    const Instant until = pause->frontier(load_.weight);
    found.all.raise(until, kPause);
    (pause == &limits_.pause() ? found.wide : found.narrow).raise(until, kPause);
    found.delaying.raise(until, kPause);
  }
  return found;
}

// A moment far enough from the edge of one window may be too near to another window's edge: hence several rounds.
Frontier DepartureSearch::after_guard(Frontier found, const LimitSet::Group* group) const {
  if (found.at == kNever) return found;
  Instant before = kAlways;
  for (int rounds = 8; rounds > 0 && found.at > before; --rounds) {
    before = found.at;
    limits_.each(group, route_, [&](const Limit& limit, const LimitSet::Rule& rule, LimitIndex index) {
      if (rule.looked_at) found.raise(limit.after_guard(found.at), index);
    });
  }
  return found;
}

void DepartureSearch::tell_wait(const LimitSet::Group* group, Frontier found, Time reach, Booking& booking) const {
  booking.limited_by = found.by;
  booking.not_before = clock_.time(estimate(group, found));
  booking.ask_again = booking.not_before - reach;
  if (found.at != kNever) return;
  limits_.each(group, route_, [&](const Limit& limit, const LimitSet::Rule& rule, LimitIndex) {
    if (rule.looked_at && limit.frontier(rule.needs(load_)) == kNever)
      booking.ask_again = std::max(booking.ask_again, clock_.time(limit.reset_at()));
  });
}

/// The frontier; or, if it is kNever because only a reset will tell, an estimate.
Instant DepartureSearch::estimate(const LimitSet::Group* group, Frontier found) const {
  if (found.at != kNever) return found.at;
  const Instant now = clock_.instant(now_);
  Instant latest = now;
  limits_.each(group, route_, [&](const Limit& limit, const LimitSet::Rule& rule, LimitIndex) {
    if (!rule.looked_at) return;
    const int own = rule.needs(load_);
    const Instant frontier = limit.frontier(own);
    latest = std::max(latest, frontier == kNever ? limit.ahead(now, own - 1) : frontier);
  });
  return latest;
}

}  // namespace penstock::flow
