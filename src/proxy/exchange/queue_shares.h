// SPDX-License-Identifier: Apache-2.0
// Counts, for an upstream without groups, what each client has of it: places in the queue, and slots held while request
// bodies are still coming. When the queue is full, the client with most makes room, as the longest lane does where
// there are groups. A request that starts at once is counted only if its body is not complete by then.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "flow/requests.h"
#include "proxy/exchange/held_bytes.h"

namespace penstock::proxy {

class QueueShares {
 public:
  /// What one exchange counts as. It stays in place, and must not count any more when it is destroyed.
  class Entry {
   public:
    Entry() = default;
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    friend class QueueShares;
    bool counts_ = false;
    HeldBytes client_;                           // the client under which it counts
    flow::Ticket ticket_;                        // of a request that waits
    Entry *older_ = nullptr, *newer_ = nullptr;  // neighbors in the queue, of the same client
  };

  // A client is known by what it holds of caps.pendingMemory; null: the program itself.

  /// The request waits in the queue.
  void waits(Entry& entry, const HeldBytes& client, flow::Ticket ticket);
  /// The request has a slot, and the rest of its body is still to come.
  void uploads(Entry& entry, const HeldBytes& client);
  /// The request neither waits nor uploads any more, or never did.
  void leave(Entry& entry);

  /// The request that an arrival of that client displaces from a full queue: the newest waiting one of the client with
  /// most, if that has more than the arrival's client will have with the arrival. A dead ticket: none. Looks at each
  /// client; there are at most as many as connections.
  flow::Ticket in_place_of(const HeldBytes& client) const;

 private:
  struct Share {
    std::size_t size = 0;
    Entry* newest = nullptr;  // newest waiting exchange
  };
  Share& count(Entry& entry, const HeldBytes& client);

  std::unordered_map<const std::size_t*, Share> by_client_;
};

}  // namespace penstock::proxy
