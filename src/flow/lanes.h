// SPDX-License-Identifier: Apache-2.0
// The lanes of an upstream, in the order in which they may ask for departures. It decides which lane is next, also for
// a permit or departure that becomes free; it does not ask. Internal to flow/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "flow/lane.h"
#include "flow/lane_lists.h"
#include "flow/limiter.h"
#include "flow/slots.h"

namespace penstock::flow {

/// Each function that takes `now` may change the order. Only forget_unused() deletes a lane.
class Lanes {
 public:
  Lanes(const Limiter& limiter, Slots& slots) : limiter_(&limiter), slots_(slots), nameless_({}) {}
  void replace(const Limiter& limiter) { limiter_ = &limiter; }

  Lane& of(std::string_view group);    ///< made if it is not there
  Lane* find(std::string_view group);  ///< null: no request of the group is here
  const Lane* find(std::string_view group) const;
  void forget_unused(Lane& lane);
  template <typename Use>
  void each(Use use) {
    use(nameless_);
    for (auto& [group, lane] : by_group_) use(*lane);
  }
  template <typename Use>
  void each(Use use) const {
    use(nameless_);
    for (const auto& [group, lane] : by_group_) use(std::as_const(*lane));
  }

  /// Puts the lane where it belongs. Needed after any change to it.
  void place(Time now, Lane& lane);
  /// The lane may ask again, whatever it was told.
  void rest(Time now, Lane& lane);
  /// It asks, and comes last in its list if it wants more afterwards.
  void take_turn(Lane& lane) { LaneList::move(lane, nullptr); }
  /// It was granted a departure.
  void served(Lane& lane) { lane.last_served = ++turns_; }

  // The order.
  const LaneList& returning() const { return returning_; }
  const LaneList& wanting() const { return wanting_; }
  bool any_awaits_permit() const { return !awaiting_.empty(); }
  bool none_wants() const { return returning_.empty() && wanting_.empty() && told_.empty() && awaiting_.empty(); }
  /// A lane for which something is due: a departure, its time to ask, the end of a pause.
  Lane* due_by(Time now) const { return due_.first_by(now); }
  std::optional<Time> next_due() const { return due_.first_time(); }

  // Sums over all lanes.
  const Wants& wants() const { return wants_; }
  std::int64_t unbooked_units() const { return unbooked_units_; }

  // What was told to lanes becomes void.
  /// This many departures became free: as many lanes may ask earlier than they were told.
  void departures_came(Time now, std::size_t count);
  /// A permit of the lane's group or of the upstream came free; the latter is for the lane that has waited longest.
  void permit_came(Time now, Lane& lane);
  /// A permit of that semaphore came free that no lane had: it is for the lane that has waited longest for one.
  void permit_freed(Time now, LimitIndex semaphore);
  /// The lane does not ask for the permits that are offered to it: other lanes may.
  void pass_permits_on(Time now, Lane& lane);
  /// All that wait for a permit of the upstream may ask.
  void end_permit_waits(Time now);
  /// All that were told to wait may ask, in the order in which they were told.
  void forget_told(Time now);

 private:
  void offer_permit(Time now, Lane& lane);

  const Limiter* limiter_;
  Slots& slots_;
  Lane nameless_;                                                         // the usual case: no groups
  std::unordered_map<std::string_view, std::unique_ptr<Lane>> by_group_;  // the key is the lane's own copy of its name
  LaneList returning_;  // lanes that want departures for slots they hold already
  LaneList wanting_;    // lanes that want a slot and a departure
  LaneList told_;       // lanes that want either, and were told to wait on their own
  LaneList awaiting_;   // lanes that wait for a permit of the upstream
  DueLanes due_;
  std::uint64_t turns_ = 0;
  Wants wants_;
  std::int64_t unbooked_units_ = 0;
};

}  // namespace penstock::flow
