// SPDX-License-Identifier: Apache-2.0
// Connects a datagram socket, which sends nothing but tells whether there is a route and its source address.
#include "loop/rfc6724.h"

#include <netinet/in.h>

#include <optional>

#include "base/unique_fd.h"
#include "loop/socket_address.h"

namespace penstock::loop {

namespace {

constexpr std::uint16_t kAnyPort = 80;

bool is_of_site(const sockaddr_storage& address) {
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address);
  return address.ss_family == AF_INET6 && (v6->sin6_addr.s6_addr[0] & 0xfe) == 0xfc;
}

/// The source address of the route to `there`; nullopt: there is no route.
std::optional<sockaddr_storage> source_for(const sockaddr_storage& there) {
  const base::UniqueFd socket(::socket(there.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return std::nullopt;
  sockaddr_storage here{};
  socklen_t size = sizeof here;
  const bool known = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0 &&
                     ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&here), &size) == 0;
  return known ? std::optional(here) : std::nullopt;
}

bool has_way_to(const std::string& address) {
  sockaddr_storage there{};
  return socket_address_of({address, kAnyPort}, there) == 0 && source_for(there).has_value();
}

}  // namespace

bool prefers_v6(const std::string& v6, const std::string& v4) {
  sockaddr_storage there{};
  if (socket_address_of({v6, kAnyPort}, there) != 0) return false;
  const auto source = source_for(there);
  if (!source) return false;
  return !(is_of_site(there) || is_of_site(*source)) || !has_way_to(v4);
}

}  // namespace penstock::loop
