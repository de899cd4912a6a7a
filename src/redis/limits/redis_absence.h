// SPDX-License-Identifier: Apache-2.0
// Since when Redis was away, and when it came back: no lease ends for that. Pure. For permit_leases.
#pragma once

#include <algorithm>
#include <utility>

#include "flow/limit.h"

namespace penstock::redis {

class RedisAbsence {
 public:
  /// Redis does not answer, or is not to be asked.
  bool lasts() const { return lasts_; }
  void begin(flow::Time now) {
    if (!std::exchange(lasts_, true)) began_ = now;
  }
  /// A process that has just started had no lease that an absence could prolong.
  void end(flow::Time now) {
    if (std::exchange(lasts_, false) && answered_) ended_ = now;
  }
  /// Redis has answered.
  void answered() { answered_ = true; }
  /// For how long a lease had no answer that was last renewed then; 0: the absence is no reason for that.
  flow::Time of_lease(flow::Time renewed, flow::Time now) const {
    const bool returns = lasts_ ? answered_ : ended_ > 0 && (renewed < ended_ || now < ended_ + kReturnsIn);
    return returns ? now - std::min(renewed, began_) : 0;
  }

 private:
  static constexpr flow::Time kReturnsIn = 3'000'000;  // all that were cut off, after the first

  bool lasts_ = false;
  bool answered_ = false;  // ever
  flow::Time began_ = 0, ended_ = 0;
};

}  // namespace penstock::redis
