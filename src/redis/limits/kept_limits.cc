// SPDX-License-Identifier: Apache-2.0
// The shadow counts every departure, so it knows what these limits allow.
#include "redis/limits/kept_limits.h"

#include <algorithm>

namespace penstock::redis {

using flow::Booking;
using flow::LimitIndex;
using flow::Time;
using Scope = Booking::Scope;

KeptLimits::KeptLimits(const UpstreamCalls& calls, Shadow& shadow, const Quarantine& quarantine,
                       const std::vector<LimitConfig>& limits)
    : calls_(calls), shadow_(shadow), quarantine_(quarantine), limits_(limits) {
  change();
}

void KeptLimits::change() {
  own_.clear();
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    if (!limits_[i].shared) own_.push_back(static_cast<LimitIndex>(i));
  }
  some_of_routes_ = std::ranges::any_of(limits_, [](const LimitConfig& limit) { return !limit.route.empty(); });
  waited_for_.clear();
}

bool KeptLimits::has_own(flow::LaneKey lane) const {
  return std::ranges::any_of(own_, [&](LimitIndex limit) { return governs(config(limit), lane.route); });
}

/// What lanes have reserved whose answers are under way.
flow::DepartureSearch::Others KeptLimits::reserved_by_others(flow::LaneKey lane) const {
  flow::DepartureSearch::Others others{.all = reserved_};
  if (const auto known = of_routes_.find(lane.route); known != of_routes_.end()) others.of_route = known->second;
  if (const auto known = of_groups_.find(lane.group); known != of_groups_.end()) others.of_group = known->second;
  return others;
}

/// `times` is 1, or -1 when the reservation ends. It may have begun when no limit was of a route.
void KeptLimits::reserve(const Asking& asking, int times) {
  const flow::DepartureSearch::Taken one{
      .departures = times, .units = std::int64_t{times} * asking.weight, .cost = std::int64_t{times} * asking.cost};
  reserved_.add(one);
  if (!some_of_routes_ && of_groups_.empty()) return;
  const auto add = [&one](auto& map, const std::string& name) {
    flow::DepartureSearch::Taken& taken = map[name];
    taken.add(one);
    if (taken.departures <= 0) map.erase(name);
  };
  add(of_routes_, asking.route);
  add(of_groups_, asking.group);
}

bool KeptLimits::reserve(Time now, Asking& asking, Booking& booking) {
  asking.base = shadow_.remembered(now);
  asking.reserved = false;
  asking.without = quarantine_.of(asking.lane());
  const WhenDown rule = calls_.when_down();
  const bool departs = asking.weight > 0;  // weight 0 takes permits only, and no semaphore is ever quarantined
  if (departs && !asking.without.empty() && (rule == WhenDown::wait || rule == WhenDown::refuse)) {
    shadow_.answer(now, asking.ask(), rule, booking);
    booking.limited_by = asking.without.front();
    booking.scope = flow::scope_of(config(booking.limited_by));
    return false;
  }
  const bool some_by_part = departs && !asking.without.empty() && rule == WhenDown::share;
  if (!has_own(asking.lane()) && !some_by_part) return true;
  asking.count = 1;
  const auto counts = [&](LimitIndex limit) { return keeps(asking, limit); };
  shadow_.all().look(now, asking.ask(), booking, {.counts = counts, .others = reserved_by_others(asking.lane())});
  if (booking.departures.empty()) {
    note_wait(now, asking, booking);
    return false;
  }
  const flow::Departure first = booking.departures.front();
  booking.clear();
  asking.base = shadow_.remembered(first.at);
  if (first.at <= now + calls_.clock().round_trip()) {
    asking.reserved = true;
    reserve(asking, 1);
    return true;
  }
  booking.scope = first.limited_by >= 0 ? flow::scope_of(config(first.limited_by)) : Scope::group;
  booking.limited_by = first.limited_by;
  booking.not_before = first.at;
  booking.ask_again = first.at - calls_.clock().round_trip();
  return false;
}

/// A lane that waits only because of what is reserved would not hear of a landing. Tunnels wait in no line.
void KeptLimits::note_wait(Time now, const Asking& asking, Booking& booking) {
  if (booking.stop != Booking::Stop::permit || booking.scope == Scope::group || reserved_.departures == 0) return;
  if (asking.weight == 0) {
    booking.stop = Booking::Stop::turn;
    booking.ask_again = now + calls_.clock().round_trip();
    return;
  }
  const bool noted = std::ranges::find(waited_for_, booking.limited_by) != waited_for_.end();
  if (!noted) waited_for_.push_back(booking.limited_by);
}

/// Whether this process keeps a limit by itself, as far as that ask is concerned.
bool KeptLimits::keeps(const Asking& asking, LimitIndex limit) const {
  if (!calls_.args().shares(limit)) return true;
  const bool quarantined = std::ranges::find(asking.without, limit) != asking.without.end();
  return quarantined && asking.weight > 0 && calls_.when_down() == WhenDown::share;
}

bool KeptLimits::still_allow(const Asking& asking, Time& at) const {
  if (!asking.reserved) return true;
  const auto counts = [&](LimitIndex limit) { return keeps(asking, limit); };
  const auto from = shadow_.all().allowed_from(at, asking.lane(), asking.load(), asking.epoch, counts);
  if (!from || *from > std::max(at, calls_.now())) return false;
  at = *from;
  return true;
}

void KeptLimits::release(const Asking& asking) {
  if (!asking.reserved) return;
  reserve(asking, -1);
  released_ = true;
}

std::vector<LimitIndex> KeptLimits::freed() {
  return std::exchange(released_, false) ? waited_for_ : std::vector<LimitIndex>();
}

}  // namespace penstock::redis
