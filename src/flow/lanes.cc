// SPDX-License-Identifier: Apache-2.0
// Keeps the lanes in order, and offers what becomes free to the lane that is next.
#include "flow/lanes.h"

#include <utility>

namespace penstock::flow {

Lane& Lanes::of(std::string_view group) {
  if (Lane* known = find(group)) return *known;
  auto lane = std::make_unique<Lane>(group);
  served(*lane);
  const std::string_view name = lane->group();
  return *by_group_.emplace(name, std::move(lane)).first->second;
}

Lane* Lanes::find(std::string_view group) { return const_cast<Lane*>(std::as_const(*this).find(group)); }

const Lane* Lanes::find(std::string_view group) const {
  if (group.empty()) return &nameless_;
  const auto found = by_group_.find(group);
  return found == by_group_.end() ? nullptr : found->second.get();
}

void Lanes::forget_unused(Lane& lane) {
  if (lane.unused() && &lane != &nameless_) by_group_.erase(by_group_.find(lane.group()));
}

void Lanes::place(Time now, Lane& lane) {
  lane.slot_wait.end(slots_.full_time());
  const Demand demand = lane.demand();
  slots_.reserve(lane.counted.slots, demand.slots);
  wants_.requests += demand.wants.requests - lane.counted.wants.requests;
  wants_.units += demand.wants.units - lane.counted.wants.units;
  unbooked_units_ += demand.unbooked_units - lane.counted.unbooked_units;
  lane.counted = demand;
  const bool asks = lane.wants() > 0 && !lane.ask.under_way();
  if (asks && !lane.departures.empty() && !lane.ask.told_to_wait()) {
    const Time last = lane.departures.back().at;
    if (last > now + limiter_->lead()) lane.ask.ask_later(last - limiter_->lead(), now);
  }
  if (!asks) {
    lane.ask.await_none();  // a lane in no list would not learn of the permit
    LaneList::move(lane, nullptr);
  } else if (lane.ask.awaits() == Booking::Scope::upstream) {
    LaneList::move(lane, &awaiting_);
    if (lane.wants_no_slot() > 0) awaiting_.put_first(lane);  // other lanes need a slot too, and may not find one
  } else if (lane.ask.awaits() || lane.ask.told_to_wait()) {
    LaneList::move(lane, &told_);
  } else {
    LaneList& list = lane.wants_no_slot() > 0 ? returning_ : wanting_;
    if (&list == &wanting_) lane.slot_wait.begin(slots_.full_time());
    LaneList::move(lane, &list);
    if (lane.ask.take_precedence()) list.put_first(lane);
  }
  due_.place(lane);
}

void Lanes::rest(Time now, Lane& lane) {
  lane.ask.forget_told();
  place(now, lane);
}

void Lanes::departures_came(Time now, std::size_t count) {
  for (std::size_t left = count; left > 0 && !told_.empty(); --left) rest(now, told_.front());
  for (std::size_t left = count; left > 0 && !awaiting_.empty(); --left) offer_permit(now, awaiting_.front());
}

void Lanes::permit_came(Time now, Lane& lane) {
  if (lane.ask.awaits() == Booking::Scope::group) rest(now, lane);
  if (!awaiting_.empty()) offer_permit(now, awaiting_.front());
}

/// A lane that waits for another semaphore's permit would be told the same again.
void Lanes::permit_freed(Time now, LimitIndex semaphore) {
  for (Lane* one = awaiting_.empty() ? nullptr : &awaiting_.front(); one; one = one->in_list.next) {
    if (one->ask.limited().by == semaphore) return offer_permit(now, *one);
  }
}

void Lanes::offer_permit(Time now, Lane& lane) {
  lane.ask.offer_permits(1);
  rest(now, lane);
}

void Lanes::pass_permits_on(Time now, Lane& lane) {
  for (std::size_t left = lane.ask.pass_permits_on(); left > 0 && !awaiting_.empty(); --left)
    offer_permit(now, awaiting_.front());
}

void Lanes::end_permit_waits(Time now) {
  while (!awaiting_.empty()) rest(now, awaiting_.front());
}

void Lanes::forget_told(Time now) {
  for (LaneList* list : {&told_, &awaiting_}) {
    for (std::size_t lanes = list->size(); lanes > 0; --lanes) {
      Lane& lane = list->front();
      LaneList::move(lane, nullptr);
      rest(now, lane);
    }
  }
}

}  // namespace penstock::flow
