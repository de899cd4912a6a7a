// SPDX-License-Identifier: Apache-2.0
// Limits and slots are two counters one behind the other: what the first lets pass at once, the second may let pass one
// by one.
#include "flow/forecast.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace penstock::flow {

namespace {
constexpr std::size_t kMostLanes = 8;  // whose last request may be the last of all
constexpr Time kLately = 1'000'000;
constexpr std::size_t kNewest = 1'000;  // of a lane, by which is reckoned how much goes on coming
constexpr Time kRoughly = 10;           // an estimate may be off by one part of so many

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

// ---- for a rehearsal ------------------------------------------------------------------------------------------------

/// First those that were told to wait, of each route the one that asks for the others before these; then those that may
/// ask, in their order. So each is told the same again before a limit is asked.
std::vector<const Lane*> Forecast::turns_of(const std::vector<const Lane*>& all) const {
  std::vector<const Lane*> turns, last;
  std::set<const Lane*> added;
  const auto add_to = [&](std::vector<const Lane*>& list) {
    return [&](const Lane& lane) {
      if (added.insert(&lane).second) list.push_back(&lane);
    };
  };
  lanes_.returning().each(add_to(last)), lanes_.wanting().each(add_to(last));
  for (const Lane* lane : all) {
    if (!lane->route) continue;
    for (const LaneList* list : {&lane->route->told, &lane->route->returning, &lane->route->wanting})
      list->each(add_to(turns));
  }
  const auto of_routes = static_cast<std::ptrdiff_t>(turns.size());
  for (const Lane* lane : all) add_to(turns)(*lane);
  std::stable_sort(turns.begin() + of_routes, turns.end(), [](const Lane* one, const Lane* other) {
    return one->next_moment().value_or(Gate::kNever) < other->next_moment().value_or(Gate::kNever);
  });
  turns.insert(turns.end(), last.begin(), last.end());
  return turns;
}

/// If all lanes are stopped for longer than the lane was told, it asks when they do.
std::optional<Scene::Told> Forecast::told_of(Time now, const Lane& lane) const {
  using Scope = Booking::Scope;
  const RouteLanes* const route = lane.route;
  const Scene::Told all{stop_.until(), stop_.not_before(), Scope::upstream, stop_.limited().by};
  const bool stops_all = stop_.holds(now) && !lane.ask.awaits();
  const Time own = std::max(lane.ask.again().value_or(now), lane.for_route.asks ? route->until() : now);
  if (stops_all && own <= stop_.until()) return all;
  if (lane.for_route.asks && route->stops(now))
    return Scene::Told{route->until(), route->not_before(), Scope::route, route->limited().by};
  if (lane.ask.told_to_wait() && *lane.ask.again() > now)
    return Scene::Told{*lane.ask.again(), *lane.ask.not_before(), Scope::group, lane.ask.limited().by};
  return stops_all ? std::optional(all) : std::nullopt;
}

std::optional<Scene> Forecast::scene(Time now, std::size_t most) const {
  const std::size_t pending = queue_.pending();
  const bool fits = pending + slots_.in_flight() <= most;
  const bool waits_for_slots = slots_.in_flight() + pending >= slots_.total();
  if (!fits && (waits_for_slots || pending > most)) return std::nullopt;
  Scene scene{.gates = gates_,
              .slots = slots_.total(),
              .without_flights = !fits,
              .mean_flight = slots_.mean_flight(now),
              .knows_flight = slots_.knows_flight(now)};
  std::vector<const Lane*> all;
  std::size_t returned = 0;
  lanes_.each([&](const Lane& lane) {
    const bool waits = !lane.queue.empty() || !lane.departures.empty();
    const bool is_before_others = lane.flying() > 0 && (fits || pending > 0);
    if (waits || is_before_others) all.push_back(&lane), returned += lane.queue.returned();
  });
  if (!fits && all.size() + pending + returned > most) return std::nullopt;
  std::ranges::sort(all, {}, [](const Lane* lane) { return lane->last_served; });
  std::map<const Lane*, std::size_t> places;
  for (const Lane* lane : all) {
    places[lane] = scene.lanes.size();
    Scene::Waiting& waiting = scene.lanes.emplace_back(
        Scene::Waiting{.key = lane->key(), .told = told_of(now, *lane), .asks = lane->ask.for_departures()});
    for (std::size_t i = 0; i < lane->departures.size(); ++i) waiting.booked.push_back(lane->departures[i]);
    const auto add = [&](const RequestList& list, std::vector<Scene::One>& into) {
      std::uint32_t index = list.front();
      for (std::size_t left = list.size(); left > 0; --left, index = requests_[index].next) {
        const Request& request = requests_[index];
        const bool has_deadline = request.stage == Stage::waiting;
        into.push_back({load_of(request), has_deadline ? request.deadline : request.took_off});
      }
    };
    add(lane->queue.sent_before(), waiting.returned);
    add(lane->queue.waiting(), waiting.requests);
  }
  if (scene.without_flights) {
    scene.slots -= slots_.in_flight() - returned;
  } else {
    requests_.each([&](const Request& request) {
      const bool flies = request.stage == Stage::flying;
      if (flies) scene.lanes[places.at(request.lane)].flying.push_back(request.took_off);
    });
  }
  if (stop_.asks_one_by_one()) scene.one_by_one = stop_.limited().by;
  for (const Lane* lane : turns_of(all)) scene.turns.push_back(places.at(lane));
  return scene;
}

bool Forecast::awaits_permit(const Arrival& arrival) const {
  const Lane* const lane = lanes_.find(arrival.lane());
  return (lane && lane->ask.awaits()) || lanes_.any_awaits_permit(lanes_.route(arrival.route));
}

LimitIndex Forecast::stopped_by(Time now, const Arrival& arrival) const {
  const LimitIndex by = reasons_.of_arrival(now, lanes_.find(arrival.lane()));
  return by == kSlots ? kNoLimit : by;
}

Time Forecast::gates_open(Time now, const Arrival& arrival) const {
  if (!gates_.any()) return now;
  const Lane* const lane = lanes_.find(arrival.lane());
  const int rounds = gates_.rounds_until(arrival.group, lane ? lane->queue.size() : 0);
  const Time opens = std::max(now, gates_.until(arrival.group));
  return opens + rounds * std::min(slots_.mean_flight(now), Gate::kProof);
}

/// How much goes on coming is taken from what waits: behind the first of a lane stands all that came since. Of few
/// requests, or of none that waits for long, that says little; so no more than a second counts, and the first does not.
/// Of many requests the newest say enough. Those that were outside stand behind others that came later.
double Forecast::comes_per_second(Time now, const Lane& lane) const {
  const RequestList& waiting = lane.queue.waiting();
  if (waiting.empty()) return 0;
  Time since = std::max(requests_[waiting.front()].arrived, now - kLately);
  std::int64_t units = 0;
  std::uint32_t index = waiting.back();
  for (std::size_t n = 0; n < waiting.size(); ++n, index = requests_[index].previous) {
    const Request& request = requests_[index];
    const bool is_earlier = request.arrived <= since, is_enough = n >= kNewest;
    if (is_earlier && request.let_in) continue;
    if (is_enough) since = std::max(since, request.arrived);
    if (is_earlier || is_enough) break;
    units += request.weight;
  }
  return static_cast<double>(units) * 1e6 / static_cast<double>(std::max<Time>(now - since, 1));
}

WaitingUnits Forecast::units_waiting(Time now) const {
  WaitingUnits units{.all = lanes_.wants().units};
  Time asks_at = Gate::kNever;
  bool any_asks = false;
  lanes_.each([&](const Lane& lane) {
    units.all += lane.ask.units();  // asked for at this moment
    units.per_second += comes_per_second(now, lane);
    any_asks |= lane.ask.under_way();
    if (lane.wants() > 0 && !lane.ask.awaits()) asks_at = std::min(asks_at, lane.ask.again().value_or(now));
  });
  if (!any_asks && asks_at != Gate::kNever) units.asks_at = std::max(asks_at, stop_.until());
  return units;
}

bool Forecast::has_place(const Arrival& arrival) const {
  const Lane* const lane = lanes_.find(arrival.lane());
  return queue_.has_place(arrival.in_place_of, lane ? lane->queue.places() : 0);
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
