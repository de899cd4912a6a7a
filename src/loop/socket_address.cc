// SPDX-License-Identifier: Apache-2.0
// Conversion in both directions, for IPv4 and IPv6.
#include "loop/socket_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <uv.h>

namespace penstock::loop {

int socket_address_of(const Endpoint& endpoint, sockaddr_storage& into) {
  const char* text = endpoint.address.c_str();
  const int port = endpoint.port;
  if (uv_ip4_addr(text, port, reinterpret_cast<sockaddr_in*>(&into)) == 0) return 0;
  return uv_ip6_addr(text, port, reinterpret_cast<sockaddr_in6*>(&into));
}

Endpoint endpoint_of(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
    return {text, ntohs(v4->sin_port)};
  }
  if (address->sa_family != AF_INET6) return {};
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
    inet_ntop(AF_INET, v6->sin6_addr.s6_addr + 12, text, sizeof text);
  } else {
    inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
  }
  return {text, ntohs(v6->sin6_port)};
}

}  // namespace penstock::loop
