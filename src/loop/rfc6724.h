// SPDX-License-Identifier: Apache-2.0
// Chooses the address family to try first for a name that has both. For the resolver.
#pragma once

#include <string>

namespace penstock::loop {

/// What RFC 6724 comes to between these two. True if there is a route to the IPv6 address, and neither that nor the
/// source address is unique local (fc00::/7) unless IPv4 has no route. Asks the kernel's routes, and sends nothing.
bool prefers_v6(const std::string& v6, const std::string& v4);

}  // namespace penstock::loop
