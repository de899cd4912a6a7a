// SPDX-License-Identifier: Apache-2.0
// The lanes of an upstream, in the order in which they may ask for departures. It decides which lane is next, also for
// a permit or departure that becomes free; it does not ask. Internal to flow/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "flow/lane.h"
#include "flow/lane_key.h"
#include "flow/lane_lists.h"
#include "flow/limiter.h"
#include "flow/route_lanes.h"
#include "flow/slots.h"

namespace penstock::flow {

/// Other lanes of its route ask for the lane, or will.
inline bool held_back(Time now, const Lane& lane) {
  return lane.route && !lane.for_route.asks && lane.route->holds_back(now);
}

template <typename Use>
void LaneList::each(Use use) const {
  for (const Lane* lane = first_; lane; lane = lane->in_list.next) use(*lane);
}

/// Each function that takes `now` may change the order. Only forget_unused() deletes a lane.
class Lanes {
 public:
  Lanes(const Limiter& limiter, Slots& slots) : limiter_(&limiter), slots_(slots), nameless_(LaneKey()) {}
  /// The new limiter keeps no reservation for any route.
  void replace(const Limiter& limiter) {
    limiter_ = &limiter;
    for (auto& [name, route] : routes_) route.not_reserved();
  }

  Lane& of(LaneKey key);    ///< made if it is not there
  Lane* find(LaneKey key);  ///< null: no request of that group and route is here
  const Lane* find(LaneKey key) const;
  void forget_unused(Lane& lane);
  template <typename Use>
  void each(Use use) {
    use(nameless_);
    for (auto& [key, lane] : named_) use(*lane);
  }
  template <typename Use>
  void each(Use use) const {
    use(nameless_);
    for (const auto& [key, lane] : named_) use(std::as_const(*lane));
  }
  /// The lanes of that group, whatever their routes.
  template <typename Use>
  void each_of_group(std::string_view group, Use use) const {
    if (const Lane* lane = find(LaneKey(group))) use(*lane);
    for (const auto& [name, route] : routes_) {
      if (const Lane* lane = find(LaneKey(group, name))) use(*lane);
    }
  }
  template <typename Use>
  void each_of_group(std::string_view group, Use use) {
    std::as_const(*this).each_of_group(group, [&](const Lane& lane) { use(const_cast<Lane&>(lane)); });
  }

  /// Puts the lane where it belongs. Needed after any change to it.
  void place(Time now, Lane& lane);
  /// The lane may ask again, whatever it was told.
  void rest(Time now, Lane& lane);
  /// It was granted a departure.
  void served(Lane& lane) { lane.last_served = ++turns_; }

  // The order.
  const LaneList& returning() const { return returning_; }
  const LaneList& wanting() const { return wanting_; }
  /// A lane waits for a permit of the upstream, or of that route, which may be null. `with_slot`: one that has a slot
  /// already; these come first.
  bool any_awaits_permit(const RouteLanes* route, bool with_slot = false) const {
    const auto any = [with_slot](const LaneList& awaiting) {
      return !awaiting.empty() && (!with_slot || awaiting.front().wants_no_slot() > 0);
    };
    return any(awaiting_) || (route && any(route->awaiting));
  }
  bool none_wants() const;
  /// A lane for which something is due: a departure, its time to ask, the end of a pause.
  Lane* due_by(Time now) const { return due_.first_by(now); }
  std::optional<Time> next_due() const { return due_.first_time(); }

  // Sums over all lanes.
  const Wants& wants() const { return wants_; }
  std::int64_t unbooked_units() const { return unbooked_units_; }

  // Limits of routes.
  bool any_routes() const { return !routes_.empty(); }
  /// Null: none of its lanes is here.
  const RouteLanes* route(std::string_view name) const {
    const auto found = name.empty() ? routes_.end() : routes_.find(name);
    return found == routes_.end() ? nullptr : &found->second;
  }
  /// True: the lane does not ask now, as others of its route ask for it.
  bool hold_back(Time now, Lane& lane);
  /// A limit of its route stops the lane. `in_vain`: it was granted nothing, so it asks again, before the others.
  void stop_route(Time now, Lane& lane, Time until, Time not_before, bool in_vain);
  /// It was granted a departure, or something else stops it: the next lane of its route may ask, and what it was told
  /// is forgotten. Without effect if it did not ask for others.
  void ask_for_route_no_more(Time now, Lane& lane);
  /// Nothing that the limits of that route told holds any more.
  void lift(Time now, RouteLanes& route);
  /// The limits have new indices.
  void change_routes(Time now, std::span<const LimitIndex> moved);

  // What was told to lanes becomes void.
  /// This many departures of that group became free: all its lanes, and as many others, may ask earlier than they were
  /// told.
  void departures_came(Time now, std::string_view group, std::size_t count);
  /// A permit of the lane's group, of its route or of the upstream came free. All lanes that wait for one of the group
  /// may ask; the others are for the lanes that have waited longest.
  void permit_came(Time now, Lane& lane);
  /// A permit of that semaphore came free that no lane had: it is for the lane that has waited longest for one.
  void permit_freed(Time now, LimitIndex semaphore);
  /// The lane does not ask for the permits that are offered to it: other lanes may.
  void pass_permits_on(Time now, Lane& lane);
  /// All that wait for the limits of the route of that name may ask; without one, all that wait for a permit of the
  /// upstream.
  void retry(Time now, std::string_view name);
  /// All that were told to wait may ask, in the order in which they were told.
  void forget_told(Time now);

 private:
  void offer_permit(Time now, LaneList& awaiting, Booking::Scope of);
  void let_next_ask(Time now, RouteLanes& route);

  const Limiter* limiter_;
  Slots& slots_;
  Lane nameless_;                                                       // the usual case: no groups and no routes
  std::map<std::string, RouteLanes, std::less<>> routes_;               // of which there are lanes
  std::unordered_map<LaneKey, std::unique_ptr<Lane>, LaneHash> named_;  // the key is the lane's own
  LaneList returning_;   // lanes that want departures for slots they hold already
  LaneList wanting_;     // lanes that want a slot and a departure
  LaneList told_alone_;  // lanes that want either, and were told to wait on their own; others in route_lanes.h
  LaneList awaiting_;    // lanes that wait for a permit of the upstream
  DueLanes due_;
  std::uint64_t turns_ = 0;
  Wants wants_;
  std::int64_t unbooked_units_ = 0;
};

}  // namespace penstock::flow
