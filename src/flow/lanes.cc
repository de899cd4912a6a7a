// SPDX-License-Identifier: Apache-2.0
// Keeps the lanes in order, and offers what becomes free to the lane that is next.
#include "flow/lanes.h"

#include <algorithm>
#include <utility>

namespace penstock::flow {

namespace {

/// Counts the lane among those that ask for its route, or no more. Needed after any change to its queue, too.
void count_for_route(Lane& lane, bool asks) {
  if (!lane.route) return;
  const Lane::ForRoute is{.asks = asks, .with_slot = asks && lane.asks_with_slot()};
  RouteLanes::Asking& all = lane.route->asking;
  all.lanes += static_cast<std::size_t>(is.asks) - static_cast<std::size_t>(lane.for_route.asks);
  all.with_slot += static_cast<std::size_t>(is.with_slot) - static_cast<std::size_t>(lane.for_route.with_slot);
  lane.for_route = is;
}

/// The lane asks for its route, as soon as that is not in vain.
void ask_for_route(Time now, Lane& lane) {
  count_for_route(lane, true);
  if (lane.route->stops(now)) lane.ask.ask_later(lane.route->until(), lane.route->not_before());
}

/// Each lane that stands in the list is taken out and given to `use`, once, also if that puts it into the list again.
template <typename Use>
void each_once(LaneList& list, Use use) {
  for (std::size_t left = list.size(); left > 0 && !list.empty(); --left) {
    Lane& lane = list.front();
    LaneList::move(lane, nullptr);
    use(lane);
  }
}

/// The lane waits for the permit no more. False: it does not ask for it either, as others of its route hold it back, or
/// as a departure is far ahead; it asks for a permit again when it asks for a departure.
bool may_have_permit(Time now, Lanes& lanes, Lane& lane, Booking::Scope of) {
  lanes.rest(now, lane);
  const bool asks = lane.in_list.list == &lanes.wanting() || lane.in_list.list == &lanes.returning();
  if (asks) lane.ask.offer_permits(of, 1);
  return asks;
}

/// All lanes of the group that wait for a permit of it may ask, that served longest ago first; so may their tunnels.
void permit_of_group_came(Time now, Lanes& lanes, std::string_view group) {
  const auto served_longest_ago = [&] {
    Lane* first = nullptr;
    lanes.each_of_group(group, [&](Lane& one) {
      one.ask.permit_may_be_free();
      const bool awaits = one.ask.awaits() == Booking::Scope::group;
      if (awaits && (!first || one.last_served < first->last_served)) first = &one;
    });
    return first;
  };
  while (Lane* const next = served_longest_ago()) lanes.rest(now, *next);
}

}  // namespace

Lane& Lanes::of(LaneKey key) {
  if (Lane* known = find(key)) return *known;
  RouteLanes* route = nullptr;
  if (!key.route.empty()) {
    const std::string name(key.route);
    route = &routes_.try_emplace(name, name).first->second;
    key.route = route->name;
    ++route->lanes;
  }
  auto lane = std::make_unique<Lane>(key, route);
  served(*lane);
  const LaneKey own = lane->key();
  return *named_.emplace(own, std::move(lane)).first->second;
}

Lane* Lanes::find(LaneKey key) { return const_cast<Lane*>(std::as_const(*this).find(key)); }

const Lane* Lanes::find(LaneKey key) const {
  if (key.group.empty() && key.route.empty()) return &nameless_;
  const auto found = named_.find(key);
  return found == named_.end() ? nullptr : found->second.get();
}

void Lanes::forget_unused(Lane& lane) {
  if (!lane.unused() || &lane == &nameless_) return;
  RouteLanes* const route = lane.route;
  named_.erase(named_.find(lane.key()));
  if (route && --route->lanes == 0) routes_.erase(routes_.find(route->name));
}

bool Lanes::none_wants() const {
  if (!returning_.empty() || !wanting_.empty() || !told_alone_.empty() || !awaiting_.empty()) return false;
  return std::ranges::all_of(routes_, [](const auto& route) {
    return route.second.told.empty() && !route.second.any_behind() && route.second.awaiting.empty();
  });
}

void Lanes::place(Time now, Lane& lane) {
  lane.slot_wait.end(slots_.full_time());
  const bool asks = lane.wants() > 0 && !lane.ask.under_way();
  if (lane.wants() == 0 && !lane.ask.under_way()) ask_for_route_no_more(now, lane);
  const bool had_slot = lane.for_route.with_slot;
  count_for_route(lane, lane.for_route.asks);
  const bool behind = asks && !lane.ask.awaits() && !lane.ask.told_to_wait() && held_back(now, lane);
  const Demand demand = lane.demand(behind);
  slots_.reserve(lane.counted.slots, demand.slots);
  wants_.requests += demand.wants.requests - lane.counted.wants.requests;
  wants_.units += demand.wants.units - lane.counted.wants.units;
  unbooked_units_ += demand.unbooked_units - lane.counted.unbooked_units;
  if (lane.route) lane.route->unbooked_units += demand.unbooked_units - lane.counted.unbooked_units;
  lane.counted = demand;
  if (asks && !lane.departures.empty() && !lane.ask.told_to_wait()) {
    const Time last = lane.departures.back().at;
    if (last > now + limiter_->lead()) lane.ask.ask_later(last - limiter_->lead(), now);
  }
  if (!asks) {
    lane.ask.await_none();  // a lane in no list would not learn of the permit
    LaneList::move(lane, nullptr);
  } else if (lane.ask.awaits() == Booking::Scope::upstream || lane.ask.awaits() == Booking::Scope::route) {
    LaneList& list = lane.ask.awaits() == Booking::Scope::route ? lane.route->awaiting : awaiting_;
    LaneList::move(lane, &list);
    if (lane.wants_no_slot() > 0) list.put_first(lane);  // other lanes need a slot too, and may not find one
  } else if (lane.ask.awaits() || lane.ask.told_to_wait()) {
    LaneList::move(lane, lane.for_route.asks ? &lane.route->told : &told_alone_);
  } else {
    const bool has_slot = lane.wants_no_slot() > 0;
    LaneList& own = has_slot ? returning_ : wanting_;
    LaneList& list = !behind ? own : has_slot ? lane.route->returning : lane.route->wanting;
    if (&list == &wanting_) lane.slot_wait.begin(slots_.full_time());
    LaneList::move(lane, &list);
    // A lane that asks for its route has its turn as if it had stood in this list since it was served last.
    const bool is_due = lane.for_route.asks && lane.last_served < list.front().last_served;
    if (lane.ask.take_precedence() || is_due) list.put_first(lane);
  }
  due_.place(lane);
  if (behind) pass_permits_on(now, lane);  // which it was to ask for before others of its route held it back
  if (behind || (had_slot && !lane.for_route.with_slot)) let_next_ask(now, *lane.route);
}

void Lanes::rest(Time now, Lane& lane) {
  lane.ask.forget_told();
  place(now, lane);
}

// ---- limits of routes -----------------------------------------------------------------------------------------------

bool Lanes::hold_back(Time now, Lane& lane) {
  if (!held_back(now, lane)) return false;
  pass_permits_on(now, lane);
  place(now, lane);
  return true;
}

void Lanes::stop_route(Time now, Lane& lane, Time until, Time not_before, bool in_vain) {
  RouteLanes& route = *lane.route;
  const bool sooner = route.stops(now) && until < route.until();
  route.reserved();
  route.stop(lane, until, not_before);
  // What was told last holds for all of them, as in the whole upstream.
  for (Lane* one = sooner && !route.told.empty() ? &route.told.front() : nullptr; one; one = one->in_list.next) {
    one->ask.ask_later(until, not_before);
    due_.place(*one);
  }
  if (!in_vain) return ask_for_route_no_more(now, lane);
  if (!lane.for_route.asks && route.one_more_may_ask()) count_for_route(lane, true);
  if (lane.for_route.asks) lane.ask.ask_later(until, not_before);
}

void Lanes::ask_for_route_no_more(Time now, Lane& lane) {
  if (!lane.for_route.asks) return;
  count_for_route(lane, false);
  lane.ask.forget_told();  // that was for the route, which knows it
  let_next_ask(now, *lane.route);
}

void Lanes::let_next_ask(Time now, RouteLanes& route) {
  while (Lane* next = route.next_to_ask()) {
    ask_for_route(now, *next);
    place(now, *next);
  }
}

void Lanes::lift(Time now, RouteLanes& route) {
  route.lift(now);
  each_once(route.told, [&](Lane& lane) { rest(now, lane); });
}

void Lanes::change_routes(Time now, std::span<const LimitIndex> moved) {
  for (auto& [name, route] : routes_) route.change(now, moved);
}

// ---- what was told becomes void -------------------------------------------------------------------------------------

void Lanes::departures_came(Time now, std::string_view group, std::size_t count) {
  permit_of_group_came(now, *this, group);
  each_of_group(group, [&](Lane& lane) {
    if (lane.ask.told_to_wait() && !lane.for_route.asks) rest(now, lane);  // it may wait for the group's limits
  });
  for (auto& [name, route] : routes_) {
    lift(now, route);
    route.permit_may_be_free();
    for (std::size_t left = count; left > 0; --left) offer_permit(now, route.awaiting, Booking::Scope::route);
  }
  for (std::size_t left = count; left > 0 && !told_alone_.empty(); --left) rest(now, told_alone_.front());
  for (std::size_t left = count; left > 0; --left) offer_permit(now, awaiting_, Booking::Scope::upstream);
}

void Lanes::permit_came(Time now, Lane& lane) {
  permit_of_group_came(now, *this, lane.group());
  if (lane.route) offer_permit(now, lane.route->awaiting, Booking::Scope::route);
  offer_permit(now, awaiting_, Booking::Scope::upstream);
}

/// A lane that waits for another semaphore's permit would be told the same again.
void Lanes::permit_freed(Time now, LimitIndex semaphore) {
  const auto offer = [&](LaneList& awaiting, Booking::Scope of) {
    Lane* next = nullptr;
    for (Lane* one = awaiting.empty() ? nullptr : &awaiting.front(); one; one = next) {
      next = one->in_list.next;
      if (one->ask.limited().by == semaphore && may_have_permit(now, *this, *one, of)) return;
    }
  };
  offer(awaiting_, Booking::Scope::upstream);
  for (auto& [name, route] : routes_) offer(route.awaiting, Booking::Scope::route);
}

/// To the lane that has waited longest, if any waits.
void Lanes::offer_permit(Time now, LaneList& awaiting, Booking::Scope of) {
  while (!awaiting.empty() && !may_have_permit(now, *this, awaiting.front(), of)) {
  }
}

void Lanes::pass_permits_on(Time now, Lane& lane) {
  if (lane.ask.take_permits(Booking::Scope::group) > 0) permit_of_group_came(now, *this, lane.group());
  for (std::size_t left = lane.ask.take_permits(Booking::Scope::upstream); left > 0 && !awaiting_.empty(); --left)
    offer_permit(now, awaiting_, Booking::Scope::upstream);
  if (!lane.route) return;
  LaneList& awaiting = lane.route->awaiting;
  for (std::size_t left = lane.ask.take_permits(Booking::Scope::route); left > 0 && !awaiting.empty(); --left)
    offer_permit(now, awaiting, Booking::Scope::route);
}

void Lanes::retry(Time now, std::string_view name) {
  const auto route = name.empty() ? routes_.end() : routes_.find(name);
  if (!name.empty() && route == routes_.end()) return;
  if (!name.empty()) lift(now, route->second), route->second.permit_may_be_free();
  LaneList& awaiting = name.empty() ? awaiting_ : route->second.awaiting;
  while (!awaiting.empty()) rest(now, awaiting.front());
}

void Lanes::forget_told(Time now) {
  const auto retry = [&](Lane& lane) { rest(now, lane); };
  for (auto& [name, route] : routes_) {
    lift(now, route);
    each_once(route.awaiting, retry);
  }
  each_once(told_alone_, retry);
  each_once(awaiting_, retry);
  // One whose tunnel asks for permits is in no list, and asks for departures behind that.
  each([](Lane& lane) {
    if (lane.ask.to_resume()) lane.ask.forget_told();
  });
}

}  // namespace penstock::flow
