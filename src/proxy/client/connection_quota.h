// SPDX-License-Identifier: Apache-2.0
// How many clients may be connected at once, in all and from one address: each connection takes a seat, and keeps it
// wherever its stream goes, into a tunnel or to its end. An IPv6 client is its /64. Only for Clients.
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
  using Seat = std::shared_ptr<const void>;
  enum class Full : std::uint8_t { in_all, for_this_client };

  ConnectionQuota();

  std::expected<Seat, Full> take(const access::Address& client, const CapsConfig& caps);
  /// That of the client which has this seat, not one at the door. Whoever keeps it keeps the seat.
  static HeldBytes held_by(const Seat& seat);
  /// For one that is told that there is none: there are few of these. Nothing: not even that.
  Seat take_at_the_door();

 private:
  struct Taken;
  struct Impl;
  struct AtTheDoor;
  const std::shared_ptr<Taken> taken_;  // seats may outlive us
};

}  // namespace penstock::proxy
