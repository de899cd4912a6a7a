// SPDX-License-Identifier: Apache-2.0
// What verdict.cc needs to know about an address beyond address.h. Only for this directory.
#pragma once

#include <cstddef>

#include "access/address.h"

namespace penstock::access {

/// `0.0.0.0` and `::`, which the kernel takes for this machine.
bool is_unspecified(const Address&);

/// The IPv4 addresses that a translating gateway (NAT64, …) would really dial for an IPv6 address.
struct Embedded {
  std::array<Address, 2> addresses{};
  std::size_t count = 0;

  const Address* begin() const { return addresses.data(); }
  const Address* end() const { return addresses.data() + count; }
};
/// IPv4-compatible, IPv4-translated, NAT64, 6to4, Teredo.
Embedded embedded(const Address&);

}  // namespace penstock::access
