// SPDX-License-Identifier: Apache-2.0
// A departure's place in a limit becomes free an interval after it, and is granted again up to kHorizon before that. So
// a departure that has not left need not be moved all the time, only before another one could take its place.
#include "flow/late_departures.h"

namespace penstock::flow {

namespace {
constexpr Time kAtLeast = 10'000, kAtMost = 1'000'000;  // how long the machine may stand still meanwhile
}  // namespace

LateDepartures::Leaving::Leaving(LateDepartures& late, LaneKey lane, Departure& departure)
    : late_(late),
      lane_(lane),
      departure_(departure),
      booked_(departure.at),
      patience_over_(departure.at + kOnTime + 1),
      before_(late.last_) {
  (before_ ? before_->behind_ : late_.first_) = this;
  late_.last_ = this;
}

LateDepartures::Leaving::~Leaving() {
  (before_ ? before_->behind_ : late_.first_) = behind_;
  (behind_ ? behind_->before_ : late_.last_) = before_;
}

Time LateDepartures::to_expect(Time now) const {
  if (!first_) return 0;
  Time most = -1;
  for (const Minute& minute : minutes_) {
    if (minute.number + 1 >= number(now)) most = std::max(most, minute.most);
  }
  return most < 0 ? kAssumed : most;
}

/// For how long after its departure a place cannot be taken: the limiter must learn in time that it moves.
Time LateDepartures::holds(Time interval, const Limiter& limiter) {
  const Time on_its_way = limiter.patience() > 0 ? limiter.lead() : 0;
  return interval - kHorizon - on_its_way - std::clamp(interval / 4, kAtLeast, kAtMost);
}

/// If the interval is so short that the place would not be safe until the next call, it counts from a later moment.
std::optional<Time> LateDepartures::count_anew(Time now, Time interval, Limiter& limiter) {
  const Time safe = holds(interval, limiter);
  const Time from = now + std::max<Time>(0, kHorizon - safe);
  std::optional<Time> next;
  for (Leaving* one = first_; one; one = one->behind_) {
    if (one->due(safe) <= now) {
      one->departure_ = limiter.report_late(one->lane_, one->departure_, from);
      one->patience_over_ = 0;
    }
    next = std::min(next.value_or(one->due(safe)), one->due(safe));
  }
  return next;
}

Time LateDepartures::due_for_newest(Time interval, const Limiter& limiter) const {
  return last_->due(holds(interval, limiter));
}

void LateDepartures::note(Time now, Time late) {
  Minute& minute = minutes_[static_cast<std::size_t>(number(now) % 2)];
  if (minute.number != number(now)) minute = {.number = number(now)};
  minute.most = std::max(minute.most, late);
}

}  // namespace penstock::flow
