// SPDX-License-Identifier: Apache-2.0
// The lanes of one route, as far as its limits stop them together: what the limiter told one of them holds for all.
// After that only some of them ask, one at first, and with each departure that is granted at once twice as many; the
// others stand behind. So however many lanes wait, a departure makes few of them ask. Internal to flow/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "flow/lane_ask.h"
#include "flow/lane_lists.h"
#include "flow/limit_remap.h"
#include "flow/limiter.h"

namespace penstock::flow {

class RouteLanes {
 public:
  explicit RouteLanes(std::string_view its_name) : name(its_name) {}

  // What the limiter told.
  /// The limits of the route make every lane of it wait.
  bool stops(Time now) const { return until_ > now; }
  Time until() const { return until_; }
  Time not_before() const { return not_before_; }
  /// `lane` was told that no lane should ask before `until`, and that no request leaves before `not_before`.
  void stop(const Lane& lane, Time until, Time not_before) {
    told_to_ = &lane, until_ = until, not_before_ = not_before;
    most_asking_ = 1;
  }
  /// That was told to this lane, or to another one that was at the same address.
  bool told_to(const Lane& lane) const { return told_to_ == &lane; }
  void lift(Time now) { until_ = std::min(until_, now), told_to_ = nullptr; }
  void granted_at_once() { most_asking_ = std::min(kAnyNumber, 2 * most_asking_); }

  /// The limit of the route that last stopped its lanes.
  const LastLimit& limited() const { return limited_; }
  void stopped_by(const LastLimit& limit) { limited_ = limit; }

  /// A tunnel of the route found no permit of it to resume, as in LaneAsk.
  void find_no_permit(Time until) { no_permit_until_ = until; }
  Time no_permit_until() const { return no_permit_until_; }
  void permit_may_be_free() { no_permit_until_ = 0; }

  // The limiter may keep a reservation for the route. It knows best: an ask of one lane may or may not replace it.
  void reserved() { reservation_ = true; }
  void not_reserved() { reservation_ = false; }
  bool has_reservation() const { return reservation_; }

  // Lanes that ask for the route, or will as soon as that is not in vain.
  struct Asking {
    std::size_t lanes = 0;
    std::size_t with_slot = 0;  ///< of these, lanes that want a departure for a slot which they hold already
  };
  bool one_more_may_ask() const { return asking.lanes < most_asking_; }
  bool any_behind() const { return !returning.empty() || !wanting.empty(); }
  /// The next of those behind, which may ask now; null: none. As in the upstream, those with a slot come first. One of
  /// them always asks: a lane that needs a slot may wait for theirs.
  Lane* next_to_ask() const {
    if (!returning.empty()) return one_more_may_ask() || asking.with_slot == 0 ? &returning.front() : nullptr;
    return one_more_may_ask() && !wanting.empty() ? &wanting.front() : nullptr;
  }
  /// A lane that wants to ask must stand behind others.
  bool holds_back(Time now) const { return stops(now) || asking.lanes > 0 || any_behind(); }

  /// The limits have new indices, and have stopped nothing yet.
  void change(Time now, std::span<const LimitIndex> moved) {
    limited_.by = renumbered(limited_.by, moved);
    no_permit_until_ = 0;
    lift(now);
    most_asking_ = kAnyNumber;
  }

  const std::string name;
  Asking asking;
  LaneList told;                    ///< lanes that will ask for the route at until()
  LaneList returning, wanting;      ///< lanes that stand behind: with a slot, and without; each in their order
  LaneList awaiting;                ///< lanes that wait for a permit of the route
  std::size_t lanes = 0;            ///< of the route
  std::int64_t unbooked_units = 0;  ///< of all of them

 private:
  static constexpr std::size_t kAnyNumber = std::size_t{1} << 32;

  Time until_ = 0;
  Time not_before_ = 0;
  Time no_permit_until_ = 0;
  const Lane* told_to_ = nullptr;  // may be deleted: only compared
  LastLimit limited_;
  bool reservation_ = false;
  std::size_t most_asking_ = kAnyNumber;
};

}  // namespace penstock::flow
