// SPDX-License-Identifier: Apache-2.0
// Judges the address of a connection: once before it is dialled, and again whenever a kept connection is used. The
// access verdict is the guard of the proxy; tests bring their own.
#pragma once

#include <cstdint>
#include <string_view>

#include "access/address.h"

namespace penstock::access {

enum class Destination : std::uint8_t { allowed, denied, own };  // `own`: a port that Penstock itself listens on

class DialGuard {
 public:
  /// `host`: what the request asked for, in the form of http::Target; empty: unknown.
  virtual Destination destination(const Address& address, std::uint16_t port, std::string_view host) const = 0;
  bool may_dial(const Address& address, std::uint16_t port, std::string_view host) const {
    return destination(address, port, host) == Destination::allowed;
  }

 protected:
  ~DialGuard() = default;
};

}  // namespace penstock::access
