// SPDX-License-Identifier: Apache-2.0
// Limits that only count (`mode: shadow`). Each request that takes off is counted in them as if they had held it, and
// they say for how long they would have. Pure. Semaphores have no place here: when a permit would come free is unknown
// while no request waits for one.
#pragma once

#include <string_view>
#include <vector>

#include "flow/departure_search.h"
#include "flow/limit_set.h"
#include "flow/limiter.h"
#include "flow/local_limiter.h"
#include "penstock/limits.h"

namespace penstock::flow {

class ShadowLimits {
 public:
  ShadowLimits(std::vector<LimitConfig> limits, Instant at_zero);
  ShadowLimits(const ShadowLimits&) = delete;
  ShadowLimits& operator=(const ShadowLimits&) = delete;

  /// As Limiter::change().
  void change(Time now, std::vector<LimitConfig> limits);

  struct Held {
    Time wait = 0;
    LimitIndex by = kNoLimit;  ///< kNoLimit: it would not have waited
  };
  /// A request takes off. One that would have waited longer than `most` would have been refused by then: it counts in
  /// no limit, and its wait is `most`.
  Held took_off(Time now, LaneKey lane, const Load& load, Time most);
  /// Whether it can be remembered, if its limits need that.
  bool has_room_for(std::string_view group) const {
    return limits_.groups() < kMostGroups || limits_.find(group) != nullptr;
  }
  bool forgettable(Time now) const { return limits_.forgettable(clock_.instant(now)); }
  const LimitReader& reader() const { return reader_; }

 private:
  Frontier first_departure(Instant at, const LimitSet::Group* group, std::string_view route, const Load& load) const;

  LimitSet limits_;
  LimitClock clock_;
  LocalReader reader_{limits_, clock_};
};

}  // namespace penstock::flow
