// SPDX-License-Identifier: Apache-2.0
// Counts consecutive failures to connect to an upstream. Dials that run at the same time fail for the same cause. So a
// failure counts only if its dial began after the failure that was counted before it. When enough have been counted the
// circuit is broken: each further counted failure stops the upstream, until a connection comes about. Pure.
#pragma once

#include "flow/limit.h"

namespace penstock::proxy {

class Breaker {
 public:
  /// A dial failed that began at `began`. True: the upstream is to be stopped. `enough`: 0: never.
  bool failed(flow::Time now, flow::Time began, int enough) {
    if (enough == 0 || (failures_ > 0 && began < counted_at_)) return false;
    counted_at_ = now;
    ++failures_;
    broken_ |= failures_ >= enough;
    return broken_;
  }
  void connected() { failures_ = 0, broken_ = false; }
  bool broken() const { return broken_; }

 private:
  int failures_ = 0;  // in a row
  flow::Time counted_at_ = 0;
  bool broken_ = false;
};

}  // namespace penstock::proxy
