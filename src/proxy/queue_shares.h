// SPDX-License-Identifier: Apache-2.0
// What each client has of one upstream that has no groups: places in its queue, and slots that it holds while its
// bodies still come. When the queue is full, whoever has most makes room, as the longest lane does where there are
// groups. A request that starts at once with its body whole is never counted. Only for this room.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "proxy/exchange.h"

namespace penstock::proxy {

class QueueShares {
 public:
  /// It waits; it has a slot, and the rest of its body is still to come; it has neither.
  void waits(Exchange& exchange);
  void uploads(Exchange& exchange);
  void leave(Exchange& exchange);

  /// Whether a client that waits has more than the newcomer's will have with it. Looks at each client, like the next.
  bool has_one_with_more(const Exchange& newcomer) const;
  /// The newest that waits of the client with most; somebody waits.
  Exchange* newest_of_most() const { return most()->newest; }

 private:
  struct Share {
    std::size_t size = 0;
    Exchange* newest = nullptr;  // of those that wait
  };
  const Share* most() const;
  Share& count(Exchange& exchange, Exchange::Share as);

  std::unordered_map<Seats::Held, Share> by_client_;  // requests of the program's own have none
};

}  // namespace penstock::proxy
