// SPDX-License-Identifier: Apache-2.0
// Counts the failures to connect to an upstream that follow each other. Requests that dial at the same time meet the
// same failure, so that only a dial that began after the last counted failure counts anew. Enough of them break the
// circuit: from then on each failure stops the upstream, until a connection comes about. Pure.
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
