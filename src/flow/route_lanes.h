// SPDX-License-Identifier: Apache-2.0
// The lanes of one route, as far as its limits stop them together: what the limiter told one of them holds for all.
// Until then only some of them ask, one after a stop, and with each departure that is granted at once twice as many;
// the others stand behind. So however many lanes wait, a departure makes few of them ask. Internal to flow/.
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
  /// No lane should ask before `until`, and no request leaves before `not_before`.
  void stop(Time until, Time not_before) { until_ = until, not_before_ = not_before, most_ = 1; }
  void lift(Time now) { until_ = std::min(until_, now); }
  void granted_at_once() { most_ = std::min(kAnyNumber, 2 * most_); }

  /// The limit of the route that last stopped its lanes.
  const LastLimit& limited() const { return limited_; }
  void stopped_by(const LastLimit& limit) { limited_ = limit; }

  // The limiter may still keep a reservation for the route.
  void reserved() { reservation_ = true; }
  void not_reserved() { reservation_ = false; }
  bool has_reservation() const { return reservation_; }

  // Lanes that ask for the others, or are about to.
  bool may_lead() const { return leads_ < most_; }
  void lead() { ++leads_; }
  void lead_no_more() { --leads_; }
  /// A lane that wants to ask must stand behind others.
  bool holds_back(Time now) const { return stops(now) || leads_ > 0 || !behind.empty(); }

  /// The limits have new indices, and have stopped nothing yet.
  void change(Time now, std::span<const LimitIndex> moved) {
    limited_.by = renumbered(limited_.by, moved);
    lift(now);
    most_ = kAnyNumber;
  }

  const std::string name;
  LaneList told;                    ///< lanes that will ask for the others at until()
  LaneList behind;                  ///< lanes that want to ask, in their order
  LaneList awaiting;                ///< lanes that wait for a permit of the route
  std::size_t lanes = 0;            ///< of the route
  std::int64_t unbooked_units = 0;  ///< of all of them

 private:
  static constexpr std::size_t kAnyNumber = std::size_t{1} << 32;

  Time until_ = 0;
  Time not_before_ = 0;
  LastLimit limited_;
  bool reservation_ = false;
  std::size_t leads_ = 0;
  std::size_t most_ = kAnyNumber;
};

}  // namespace penstock::flow
