// SPDX-License-Identifier: Apache-2.0
// Which family is tried first where a name has addresses of both. For the resolver.
#pragma once

#include <string>

namespace penstock::loop {

/// What RFC 6724 comes to between the two: IPv6, where this machine has a way there, from an address that is not for
/// the site alone (fc00::/7). PendingAsks the kernel's routes, and sends nothing.
bool prefers_v6(const std::string& v6, const std::string& v4);

}  // namespace penstock::loop
