// SPDX-License-Identifier: Apache-2.0
// What a request waited for, as users are told. One rule for all: a slot, if for half of its wait or more only a slot
// was missing; else the limit that held it last. Internal to flow/.
#pragma once

#include "flow/lanes.h"
#include "flow/limiter.h"
#include "flow/requests.h"
#include "flow/slots.h"
#include "flow/upstream_stop.h"

namespace penstock::flow {

class WaitReasons {
 public:
  WaitReasons(const Requests& requests, const Slots& slots, const Lanes& lanes, const UpstreamStop& stop)
      : requests_(requests), slots_(slots), lanes_(lanes), stop_(stop) {}

  /// What makes this pending request wait.
  LimitIndex of(Time now, const Request& request) const {
    return request.outside ? kTunnels : name(now, request, last_limit(request));
  }
  /// What made it wait, if it takes off now by a departure that `limited_by` held; kNoLimit: nothing.
  LimitIndex at_take_off(Time now, const Request& request, LimitIndex limited_by) const {
    return now > request.arrived ? name(now, request, limited_by) : kNoLimit;
  }
  /// What an arrival would wait for; null: it has no lane yet.
  LimitIndex of_arrival(Time now, const Lane* lane) const;
  /// The limit that held the request last.
  LimitIndex last_limit(const Request& request) const;

 private:
  LimitIndex name(Time now, const Request& request, LimitIndex last) const;

  const Requests& requests_;
  const Slots& slots_;
  const Lanes& lanes_;
  const UpstreamStop& stop_;
};

}  // namespace penstock::flow
