// SPDX-License-Identifier: Apache-2.0
// An upstream that says nothing of its limit: it refuses what comes beyond it, and the limit changes with time. Or one
// that refuses everything for a while.
#pragma once

#include <deque>
#include <vector>

#include "simulation/plan.h"

namespace penstock::simulation {

class Origin {
 public:
  explicit Origin(const Plan& plan) : plan_(plan) {}

  /// At most as many as the limit says are taken in any second; `now` never decreases.
  bool takes(Time now) {
    if (plan_.refusing && now < plan_.refusing->until) return false;
    if (plan_.hidden.empty()) return true;
    while (!taken_.empty() && taken_.front() <= now - kSecond) taken_.pop_front();
    int limit = 0;
    for (const HiddenLimit& one : plan_.hidden) limit = one.from <= now ? one.a_second : limit;
    if (static_cast<int>(taken_.size()) >= limit) return false;
    taken_.push_back(now);
    return true;
  }

 private:
  const Plan& plan_;
  std::deque<Time> taken_;
};

}  // namespace penstock::simulation
