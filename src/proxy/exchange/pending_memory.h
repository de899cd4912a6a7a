// SPDX-License-Identifier: Apache-2.0
// Enforces caps.pendingMemory: the memory that waiting requests hold, in total and per client. For the dispatcher.
#pragma once

#include <cstddef>
#include <cstdint>

#include "penstock/config.h"
#include "proxy/exchange/held_bytes.h"

namespace penstock::proxy {

class PendingMemory {
 public:
  /// Which share of the memory is full.
  enum class Full : std::uint8_t { no, of_all, of_this_client };

  /// What one exchange is charged.
  class Charge {
   public:
    /// As judged on arrival; unless `no`, the request may not wait.
    Full full() const { return full_; }

   private:
    friend class PendingMemory;
    std::size_t bytes_ = 0;
    HeldBytes held_;  // its client's total, with this exchange; null: none charged
    Full full_ = Full::no;
  };

  explicit PendingMemory(const CapsConfig& caps) : caps_(caps) {}  ///< `caps` must outlive it

  /// Judges whether an arrival that would hold so many bytes may wait. One client may hold all but an eighth, which is
  /// kept for others.
  void judge(Charge& charge, const HeldBytes& client, std::size_t bytes) const;
  /// Whether an exchange of this client may hold so many bytes instead of those that it is charged.
  bool has_room_for(const Charge& charge, const HeldBytes& client, std::size_t bytes) const {
    return which_is_full(charge, client, bytes) == Full::no;
  }
  /// The exchange of this client holds so many bytes from now on; 0: none.
  void charge(Charge& charge, const HeldBytes& client, std::size_t bytes);
  void release(Charge& charge);
  /// Half of the memory is for heads, so that bodies do not crowd out arrivals.
  bool has_room_for_bodies() const { return bytes_ < caps_.pending_memory / 2; }

  std::size_t bytes() const { return bytes_; }

 private:
  Full which_is_full(const Charge& charge, const HeldBytes& client, std::size_t bytes) const;

  const CapsConfig& caps_;
  std::size_t bytes_ = 0;
};

}  // namespace penstock::proxy
