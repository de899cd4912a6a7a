// SPDX-License-Identifier: Apache-2.0
// Limits and slots are two counters one behind the other: what the first lets pass at once, the second may let pass one
// by one.
#include "flow/forecast.h"

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <utility>

namespace penstock::flow {

namespace {
constexpr std::size_t kMostLanes = 8;  // whose last request may be the last of all
constexpr Time kRoughly = 10;          // an estimate may be off by one part of so many

/// The highest value of a function of 0 to `last` that falls slowly, and jumps up at times. Between looks, it is taken
/// to jump once at most.
template <typename Function>
Time latest_of(std::int64_t last, const Function& at) {
  constexpr std::int64_t kLooks = 16;
  std::int64_t high = 0, before_high = 0, before = 0;
  Time highest = 0;
  for (std::int64_t look = 0; look <= kLooks; ++look) {
    const std::int64_t place = last * look / kLooks;
    const Time value = at(place);
    if (value > highest) highest = value, high = place, before_high = before;
    before = place;
  }
  while (before_high < high) {
    const std::int64_t middle = before_high + (high - before_high) / 2;
    at(middle) >= highest ? high = middle : before_high = middle + 1;
  }
  return std::max(highest, at(high));
}
}  // namespace

/// A request in its lane.
struct Forecast::Spot {
  const Lane* lane = nullptr;  // null: the request waits outside
  std::uint32_t index = 0;
  std::size_t before = 0;  // requests of the lane
  std::int64_t units = 0;  // theirs, without those for which departures are booked

  bool booked() const { return before < lane->departures.size(); }
};

/// How much of other lanes leaves before a request: lanes are served in turn, so each has had as much as its own lane,
/// or all that it has.
class Forecast::Rivals {
 public:
  explicit Rivals(const Lanes& lanes) : lanes_(lanes) {
    lanes.each([&](const Lane& lane) {
      if (lane.wants() == 0) return;
      requests_.add(count_of(lane)), units_.add(lane.unbooked_units());
      if (lane.route) of_routes_[lane.route].add(lane.unbooked_units());
    });
    requests_.close(), units_.close();
    for (auto& [route, units] : of_routes_) units.close();
  }
  std::int64_t requests_before(const Lane& lane, std::int64_t own) const {
    return requests_.without(count_of(lane), own);
  }
  OtherUnits units_before(const Lane& lane, std::int64_t own) const {
    OtherUnits units(units_.without(lane.unbooked_units(), own));
    if (const auto its = of_routes_.find(lane.route); its != of_routes_.end()) {
      units.of_route = its->second.without(lane.unbooked_units(), own);
    }
    if (!of_routes_.empty()) {
      lanes_.each_of_group(lane.group(), [&](const Lane& other) {
        if (&other != &lane) units.of_group += std::min(other.unbooked_units(), own);
      });
    }
    return units;
  }

 private:
  static std::int64_t count_of(const Lane& lane) { return static_cast<std::int64_t>(lane.wants()); }

  /// Sums of values that are cut off at a bound.
  class Cut {
   public:
    void add(std::int64_t value) { values_.push_back(value); }
    void close() {
      std::ranges::sort(values_);
      sums_.push_back(0);
      for (const std::int64_t value : values_) sums_.push_back(sums_.back() + value);
    }
    std::int64_t without(std::int64_t one, std::int64_t bound) const {
      const auto below = static_cast<std::size_t>(std::ranges::upper_bound(values_, bound) - values_.begin());
      const auto above = static_cast<std::int64_t>(values_.size() - below);
      const std::int64_t sum = sums_[below] + (above > 0 ? above * bound : 0);
      return std::max<std::int64_t>(0, sum - std::min(one, bound));
    }

   private:
    std::vector<std::int64_t> values_, sums_;
  };
  const Lanes& lanes_;
  Cut requests_, units_;
  std::map<const RouteLanes*, Cut> of_routes_;
};

// ---- which requests -------------------------------------------------------------------------------------------------

Time Forecast::oldest_wait(Time now) const {
  Time oldest = now;
  const auto look = [&](const RequestList& list) {
    if (!list.empty()) oldest = std::min(oldest, requests_[list.front()].arrived);
  };
  lanes_.each([&](const Lane& lane) { look(lane.queue.waiting()); });
  look(queue_.outside());
  return now - oldest;
}

void Forecast::add_first(const Lane& lane, std::size_t most, std::vector<Spot>& into) const {
  const LaneQueue& queue = lane.queue;
  std::int64_t units = -lane.departures.units();
  std::uint32_t index = queue.sent_before().front();
  for (std::size_t left = queue.returned(); left > 0; --left, index = requests_[index].next) {
    units += requests_[index].weight;
  }
  index = queue.waiting().front();
  for (std::size_t n = 0; n < std::min(most, queue.waiting().size()); ++n, index = requests_[index].next) {
    into.push_back({&lane, index, queue.returned() + n, std::max<std::int64_t>(0, units)});
    units += requests_[index].weight;
  }
}

std::vector<Forecast::Waiting> Forecast::longest(Time now, std::size_t most) const {
  std::vector<Spot> spots;
  lanes_.each([&](const Lane& lane) { add_first(lane, most, spots); });
  std::uint32_t index = queue_.outside().front();
  for (std::size_t left = std::min(most, queue_.outside().size()); left > 0; --left, index = requests_[index].next) {
    spots.push_back({nullptr, index});
  }
  most = std::min(most, spots.size());
  std::ranges::partial_sort(
      spots, spots.begin() + static_cast<std::ptrdiff_t>(most),
      [&](const Spot& one, const Spot& other) { return arrived_before(requests_[one.index], requests_[other.index]); });
  const Rivals rivals(lanes_);
  std::vector<Waiting> all;
  for (const Spot& spot : std::span(spots).first(most)) {
    const Request& request = requests_[spot.index];
    all.push_back({request.id, request.arrived, reasons_.of(now, request), leaves(now, spot, rivals)});
  }
  return all;
}

Forecast::Spot Forecast::last_of(const Lane& lane) const {
  const std::uint32_t index = lane.queue.waiting().back();
  const std::int64_t units = lane.queue.units() - requests_[index].weight - lane.departures.units();
  return {&lane, index, lane.queue.size() - 1, std::max<std::int64_t>(0, units)};
}

/// The last of a lane with limits of its own may be the last of all, however short the lane is: so the last of each
/// lane is looked at, unless there are many. Then that of each route is, in the longest of its lanes.
std::optional<Time> Forecast::last_leaves(Time now) const {
  if (!queue_.outside().empty()) return std::nullopt;
  std::vector<Spot> spots;
  lanes_.each([&](const Lane& lane) {
    if (!lane.queue.waiting().empty()) spots.push_back(last_of(lane));
  });
  if (spots.size() > kMostLanes) {
    const auto key = [&](const Spot& spot) { return std::pair(gates_.until(spot.lane->group()), spot.units); };
    std::map<const RouteLanes*, Spot> of_routes;
    for (const Spot& spot : spots) {
      if (!spot.lane->route) continue;
      const auto [last, is_first] = of_routes.try_emplace(spot.lane->route, spot);
      if (!is_first && key(spot) > key(last->second)) last->second = spot;
    }
    std::ranges::nth_element(spots, spots.begin() + kMostLanes, std::greater<>(), key);
    spots.resize(kMostLanes);
    for (const auto& [route, spot] : of_routes) spots.push_back(spot);
  }
  const Rivals rivals(lanes_);
  std::optional<Time> last;
  for (const Spot& spot : spots) {
    const std::optional<Time> at = leaves(now, spot, rivals);
    if (!at) return std::nullopt;
    last = std::max(last.value_or(*at), *at);
  }
  return last;
}

// ---- when it leaves -------------------------------------------------------------------------------------------------

/// It waits for what no time brings about.
bool Forecast::nobody_knows(Time now, const Spot& spot) const {
  const Lane& lane = *spot.lane;
  if (lane.ask.awaits() || lanes_.any_awaits_permit(lane.route)) return true;
  const bool redis_stops_all = stop_.holds(now) && stop_.limited().by == kRedis;
  const bool redis_stops_lane = lane.ask.told_to_wait() && lane.ask.limited().by == kRedis;
  return redis_stops_all || redis_stops_lane ||
         asker_.limiter().forbids(load_of(requests_[spot.index]), lane.key().route) != kNoLimit;
}

std::optional<Time> Forecast::leaves(Time now, const Spot& spot, const Rivals& rivals) const {
  if (!spot.lane) return std::nullopt;
  if (spot.booked()) return std::max(now, spot.lane->departures[spot.before].at);
  if (nobody_knows(now, spot)) return std::nullopt;
  const auto at = by_slots_and_limits(now, spot, rivals);
  return at && *at <= requests_[spot.index].deadline ? at : std::nullopt;
}

std::optional<Time> Forecast::by_slots_and_limits(Time now, const Spot& spot, const Rivals& rivals) const {
  const Lane& lane = *spot.lane;
  const Request& request = requests_[spot.index];
  const auto own = static_cast<std::int64_t>(spot.before - lane.departures.size());
  const OtherUnits others = rivals.units_before(lane, spot.units + request.weight - 1);
  const std::int64_t ahead = own + rivals.requests_before(lane, own);
  const Time opens = std::max(now, gates_.until(lane.group()));

  // When the limits let the request pass that has so many of `ahead` before it.
  const auto allowed = [&](std::int64_t before) {
    const auto part = [&](std::int64_t units) { return ahead == 0 ? units : units * before / ahead; };
    const OtherUnits some(part(others.all), part(others.of_route), part(others.of_group));
    return asker_.limiter().expected(opens, lane.key(), load_of(request), part(spot.units), some);
  };
  // How long so many others keep it waiting for a slot, if so many are free at first.
  const Time mean = slots_.mean_flight(now);
  const auto slots = static_cast<std::int64_t>(slots_.total());
  const auto for_slot = [&](std::int64_t before, std::int64_t free) {
    return before < free ? 0 : (before - free + 1) * mean / slots;
  };
  const auto behind = [&](std::int64_t before) { return allowed(before) + for_slot(ahead - before, slots); };
  const Time by_limits = std::max(allowed(ahead), asker_.nobody_leaves_before(now, lane).value_or(now));
  const auto holds_slot = static_cast<std::int64_t>(lane.ask.count() + lane.wants_no_slot());
  const Time from_now =
      now + for_slot(std::max<std::int64_t>(0, ahead - holds_slot), static_cast<std::int64_t>(slots_.free()));
  const Time by_slots = ahead < slots ? from_now : std::max(from_now, latest_of(ahead, behind));
  const int rounds = gates_.rounds_until(lane.group(), static_cast<std::size_t>(ahead));
  const Time by_answers = opens + rounds * std::min(mean, Gate::kProof);
  const Time at = std::max({by_limits, by_slots, by_answers});
  const bool by_flights = at - by_limits > (by_limits - now) / kRoughly;
  return by_flights && !slots_.knows_flight(now) ? std::nullopt : std::optional(at);
}

}  // namespace penstock::flow
