// SPDX-License-Identifier: Apache-2.0
// Between the kernel's socket addresses and endpoints as text. For this room.
#pragma once

#include <sys/socket.h>

#include "penstock/config.h"

namespace penstock::loop {

/// Of a literal address. 0, or libuv's error.
int socket_address_of(const Endpoint& endpoint, sockaddr_storage& into);
/// An IPv4-mapped IPv6 address is told as IPv4. Empty for any other family.
Endpoint endpoint_of(const sockaddr* address);

}  // namespace penstock::loop
