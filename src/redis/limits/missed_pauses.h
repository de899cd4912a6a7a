// SPDX-License-Identifier: Apache-2.0
// Whether a message may have been missed that told of a pause. No lane may start by permits at hand before Redis was
// asked for pauses. Pure. For permit_leases.
#pragma once

#include <utility>

#include "flow/limit.h"

namespace penstock::redis {

class MissedPauses {
 public:
  /// Messages arrive.
  bool subscribed() const { return subscribed_; }
  /// True: they arrive again. Those sent meanwhile are lost.
  bool set_subscribed(bool subscribed) {
    const bool again = !std::exchange(subscribed_, subscribed) && subscribed;
    if (again) may_be_ = true;
    return again;
  }
  /// Redis was away. It has calls enough until then: the next renewal is to ask.
  void redis_back(flow::Time busy_until = 0) { may_be_ = true, busy_until_ = busy_until; }
  /// True: Redis is to be asked now, before any lane starts by permits at hand.
  bool ask(flow::Time now) {
    if (!std::exchange(may_be_, false)) return false;
    asked_since_ = now;
    return true;
  }
  bool asked() const { return asked_since_ != 0; }
  /// A renewal is to ask even where another call tells all the rest.
  bool asks(flow::Time now) const { return asked() && now >= busy_until_; }
  /// Redis has answered a call that was sent then.
  void answered(flow::Time sent) {
    if (sent >= asked_since_) asked_since_ = 0;
  }

 private:
  bool subscribed_ = true;
  bool may_be_ = false;         // a message may have been missed
  flow::Time busy_until_ = 0;   // Redis, since it is back
  flow::Time asked_since_ = 0;  // since when Redis is asked for pauses; 0: they are known
};

}  // namespace penstock::redis
