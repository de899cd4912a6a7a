// SPDX-License-Identifier: Apache-2.0
// Enforces caps.pendingMemory: the memory that waiting requests hold, in total and per client. For the dispatcher.
#pragma once

#include <cstddef>

#include "penstock/config.h"
#include "proxy/exchange/exchange.h"

namespace penstock::proxy {

class PendingMemory {
 public:
  explicit PendingMemory(const CapsConfig& caps) : caps_(caps) {}  ///< `caps` must outlive it

  using Full = Exchange::MemoryFull;
  /// Whether an arrival may wait. One client may hold all but an eighth, which is kept for others.
  Full full_for(const Exchange& arrival) const;
  /// Sets the number of bytes that the exchange holds.
  void charge(Exchange& exchange, std::size_t bytes);
  /// Half of the memory is for heads, so that bodies do not crowd out arrivals.
  bool has_room_for_bodies() const { return bytes_ < caps_.pending_memory / 2; }

  std::size_t bytes() const { return bytes_; }

 private:
  const CapsConfig& caps_;
  std::size_t bytes_ = 0;
};

}  // namespace penstock::proxy
