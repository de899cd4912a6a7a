// SPDX-License-Identifier: Apache-2.0
// Converts between the kernel's socket addresses and endpoints as text. Only for loop/.
#pragma once

#include <sys/socket.h>

#include "penstock/config.h"

namespace penstock::loop {

/// Fills `into` from a literal address. Returns 0, or libuv's error.
int socket_address_of(const Endpoint& endpoint, sockaddr_storage& into);
/// An IPv4-mapped IPv6 address comes out as IPv4. Empty for any other family than IPv4 and IPv6.
Endpoint endpoint_of(const sockaddr* address);

}  // namespace penstock::loop
