// SPDX-License-Identifier: Apache-2.0
// Keeps the lanes in order, and offers what becomes free to the lane that is next.
#include "flow/lanes.h"

#include <algorithm>
#include <utility>

namespace penstock::flow {

namespace {
/// The lane asks for others of its route, as soon as that is not in vain.
void lead(Time now, Lane& lane) {
  lane.leads = true;
  lane.route->lead();
  if (lane.route->stops(now)) lane.ask.ask_later(lane.route->until(), lane.route->not_before());
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
  if (!returning_.empty() || !wanting_.empty() || !told_.empty() || !awaiting_.empty()) return false;
  return std::ranges::all_of(routes_, [](const auto& route) {
    return route.second.told.empty() && route.second.behind.empty() && route.second.awaiting.empty();
  });
}

void Lanes::place(Time now, Lane& lane) {
  lane.slot_wait.end(slots_.full_time());
  const bool asks = lane.wants() > 0 && !lane.ask.under_way();
  if (lane.wants() == 0 && !lane.ask.under_way()) lead_no_more(now, lane);
  const auto waits = [&] { return lane.ask.awaits() || lane.ask.told_to_wait(); };
  // The lane that asks for its route may need a slot, and this one hold the last.
  if (asks && !waits() && held_back(now, lane) && lane.wants_no_slot() > 0) lead(now, lane);
  const bool behind = asks && !waits() && held_back(now, lane);
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
    LaneList::move(lane, lane.leads ? &lane.route->told : &told_);
  } else {
    LaneList& list = behind ? lane.route->behind : lane.wants_no_slot() > 0 ? returning_ : wanting_;
    if (&list == &wanting_) lane.slot_wait.begin(slots_.full_time());
    LaneList::move(lane, &list);
    // A lane that asks for its route has its turn as if it had stood in this list since it was served last.
    const bool is_due = lane.leads && lane.last_served < list.front().last_served;
    if (lane.ask.take_precedence() || is_due) list.put_first(lane);
  }
  due_.place(lane);
  if (behind) lead_next(now, *lane.route);
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
  route.reserved();
  route.stop(until, not_before);
  if (!in_vain) return lead_no_more(now, lane);
  if (!lane.leads && route.may_lead()) lane.leads = true, route.lead();
  if (lane.leads) lane.ask.ask_later(until, not_before);
}

void Lanes::lead_no_more(Time now, Lane& lane) {
  if (!std::exchange(lane.leads, false)) return;
  lane.route->lead_no_more();
  lead_next(now, *lane.route);
}

void Lanes::lead_next(Time now, RouteLanes& route) {
  while (route.may_lead() && !route.behind.empty()) {
    Lane& next = route.behind.front();
    lead(now, next);
    place(now, next);
  }
}

void Lanes::lift(Time now, RouteLanes& route) {
  route.lift(now);
  for (std::size_t lanes = route.told.size(); lanes > 0; --lanes) rest(now, route.told.front());
}

void Lanes::change_routes(Time now, std::span<const LimitIndex> moved) {
  for (auto& [name, route] : routes_) route.change(now, moved);
}

// ---- what was told becomes void -------------------------------------------------------------------------------------

void Lanes::departures_came(Time now, std::size_t count) {
  for (auto& [name, route] : routes_) {
    lift(now, route);
    for (std::size_t left = count; left > 0; --left) offer_permit(now, route.awaiting, Booking::Scope::route);
  }
  for (std::size_t left = count; left > 0 && !told_.empty(); --left) rest(now, told_.front());
  for (std::size_t left = count; left > 0; --left) offer_permit(now, awaiting_, Booking::Scope::upstream);
}

void Lanes::permit_came(Time now, Lane& lane) {
  each_of_group(lane.group(), [&](Lane& one) {
    if (one.ask.awaits() == Booking::Scope::group) rest(now, one);
  });
  if (lane.route) offer_permit(now, lane.route->awaiting, Booking::Scope::route);
  offer_permit(now, awaiting_, Booking::Scope::upstream);
}

/// A lane that waits for another semaphore's permit would be told the same again.
void Lanes::permit_freed(Time now, LimitIndex semaphore) {
  const auto offer = [&](LaneList& awaiting, Booking::Scope of) {
    for (Lane* one = awaiting.empty() ? nullptr : &awaiting.front(); one; one = one->in_list.next) {
      if (one->ask.limited().by != semaphore) continue;
      one->ask.offer_permits(of, 1);
      return rest(now, *one);
    }
  };
  offer(awaiting_, Booking::Scope::upstream);
  for (auto& [name, route] : routes_) offer(route.awaiting, Booking::Scope::route);
}

/// To the lane that has waited longest, if any waits.
void Lanes::offer_permit(Time now, LaneList& awaiting, Booking::Scope of) {
  if (awaiting.empty()) return;
  Lane& lane = awaiting.front();
  lane.ask.offer_permits(of, 1);
  rest(now, lane);
}

void Lanes::pass_permits_on(Time now, Lane& lane) {
  for (std::size_t left = lane.ask.pass_permits_on(Booking::Scope::upstream); left > 0 && !awaiting_.empty(); --left)
    offer_permit(now, awaiting_, Booking::Scope::upstream);
  if (!lane.route) return;
  LaneList& awaiting = lane.route->awaiting;
  for (std::size_t left = lane.ask.pass_permits_on(Booking::Scope::route); left > 0 && !awaiting.empty(); --left)
    offer_permit(now, awaiting, Booking::Scope::route);
}

void Lanes::retry(Time now, std::string_view name) {
  const auto route = name.empty() ? routes_.end() : routes_.find(name);
  if (!name.empty() && route == routes_.end()) return;
  if (!name.empty()) lift(now, route->second);
  LaneList& awaiting = name.empty() ? awaiting_ : route->second.awaiting;
  while (!awaiting.empty()) rest(now, awaiting.front());
}

void Lanes::forget_told(Time now) {
  const auto forget = [&](LaneList& list) {
    for (std::size_t lanes = list.size(); lanes > 0; --lanes) {
      Lane& lane = list.front();
      LaneList::move(lane, nullptr);
      rest(now, lane);
    }
  };
  for (auto& [name, route] : routes_) {
    lift(now, route);
    forget(route.awaiting);
  }
  forget(told_);
  forget(awaiting_);
}

}  // namespace penstock::flow
