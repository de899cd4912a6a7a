// SPDX-License-Identifier: Apache-2.0
// caps.pendingMemory: what requests that wait hold in memory, in all and for each client. Only for this room.
#pragma once

#include <cstddef>

#include "penstock/config.h"
#include "proxy/exchange/exchange.h"

namespace penstock::proxy {

class PendingMemory {
 public:
  explicit PendingMemory(const CapsConfig& caps) : caps_(caps) {}  ///< which must outlive it

  using Full = Exchange::MemoryFull;
  /// Whether it may wait. One client may hold all but an eighth, which is kept for others.
  Full full_for(const Exchange& arrival) const;
  /// The exchange holds so many bytes of it from now on.
  void charge(Exchange& exchange, std::size_t bytes);
  /// Half of the memory is for heads: bodies must not crowd out newcomers.
  bool has_room_for_bodies() const { return bytes_ < caps_.pending_memory / 2; }

  std::size_t bytes() const { return bytes_; }

 private:
  const CapsConfig& caps_;
  std::size_t bytes_ = 0;
};

}  // namespace penstock::proxy
