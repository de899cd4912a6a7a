// SPDX-License-Identifier: Apache-2.0
// What verdict.cc needs to know about an address beyond verdict.h. For this room only.
#pragma once

#include <vector>

#include "access/verdict.h"

namespace penstock::access {

/// `0.0.0.0` and `::`, which the kernel takes for this machine.
bool is_unspecified(const Address&);

/// The IPv4 addresses that a gateway would really dial for this IPv6 one: IPv4-compatible, NAT64, 6to4, Teredo.
std::vector<Address> embedded(const Address&);

}  // namespace penstock::access
