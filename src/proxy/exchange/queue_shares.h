// SPDX-License-Identifier: Apache-2.0
// Counts, for an upstream without groups, what each client has of it: places in the queue, and slots held while request
// bodies are still coming. When the queue is full, the client with most makes room, as the longest lane does where
// there are groups. A request that starts at once is counted only if its body is not complete by then.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "proxy/exchange/exchange.h"

namespace penstock::proxy {

class QueueShares {
 public:
  /// The exchange waits in the queue.
  void waits(Exchange& exchange);
  /// The exchange has a slot, and the rest of its body is still to come.
  void uploads(Exchange& exchange);
  /// The exchange neither waits nor uploads any more.
  void leave(Exchange& exchange);

  /// The request that an arrival displaces from a full queue: the newest waiting one of the client with most, if that
  /// client has more than the arrival's client will have with the arrival. Null: none. Looks at each client; there are
  /// at most as many as connections.
  const Exchange* in_place_of(const Exchange& arrival) const;

 private:
  struct Share {
    std::size_t size = 0;
    Exchange* newest = nullptr;  // newest waiting exchange
  };
  Share& count(Exchange& exchange, Exchange::Share as);

  std::unordered_map<const std::size_t*, Share> by_client_;  // nullptr: requests of the program itself
};

}  // namespace penstock::proxy
