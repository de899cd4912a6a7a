// SPDX-License-Identifier: Apache-2.0
// The connection quota: how many clients may be connected at once, in all and from one address (an IPv6 client is its
// /64). Each connection takes a slot, which stays with its stream until that closes, in a tunnel too. Only for Clients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>

#include "access/verdict.h"
#include "penstock/config.h"
#include "proxy/exchange/held_bytes.h"

namespace penstock::proxy {

class ConnectionQuota {
 public:
  using Slot = std::shared_ptr<const void>;
  enum class Full : std::uint8_t { in_all, for_this_client };

  ConnectionQuota();

  std::expected<Slot, Full> take(const access::Address& address, const CapsConfig& caps);
  /// The byte count of the client that has this slot; not for take_at_the_door(). Keeping it keeps the slot taken.
  static HeldBytes held_by(const Slot& slot);
  /// A slot for a client that will be refused with 503; null when even those are used up.
  Slot take_at_the_door();

 private:
  struct Taken;
  struct Impl;
  struct AtTheDoor;
  const std::shared_ptr<Taken> taken_;  // slots may outlive this object
};

}  // namespace penstock::proxy
