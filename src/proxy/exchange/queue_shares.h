// SPDX-License-Identifier: Apache-2.0
// What each client has of one upstream that has no groups: places in its queue, and slots that it holds while its
// bodies still come. When the queue is full, whoever has most makes room, as the longest lane does where there are
// groups. A request that starts at once is counted only if its body has not come whole by then. Only for this room.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "proxy/exchange/exchange.h"

namespace penstock::proxy {

class QueueShares {
 public:
  /// It waits in the queue.
  void waits(Exchange& exchange);
  /// It has a slot, and the rest of its body is still to come.
  void uploads(Exchange& exchange);
  /// Neither holds any more.
  void leave(Exchange& exchange);

  /// Whom a newcomer displaces from a full queue: the newest that waits of the client with most, if that one has more
  /// than the newcomer's client will have with it. Looks at each client, of which there are as many as connections at
  /// most.
  const Exchange* in_place_of(const Exchange& arrival) const;

 private:
  struct Share {
    std::size_t size = 0;
    Exchange* newest = nullptr;  // of those that wait
  };
  Share& count(Exchange& exchange, Exchange::Share as);

  std::unordered_map<const std::size_t*, Share> by_client_;  // the program's own requests have no client: nullptr
};

}  // namespace penstock::proxy
