// SPDX-License-Identifier: Apache-2.0
// Reads `address:port` of listeners. Names are refused: the text must show the address that is bound. And which ports a
// CONNECT may go to.
#include <algorithm>

#include "access/verdict.h"
#include "config/units.h"
#include "penstock/config.h"

namespace penstock {

namespace {

// `127.0.0.1` or `[::1]`; in an IPv6 address without brackets, the port would be ambiguous.
std::optional<access::Address> bracketed_address(std::string_view text) {
  const bool brackets = text.size() > 2 && text.front() == '[' && text.back() == ']';
  if (brackets) text = text.substr(1, text.size() - 2);
  const bool colons = text.find(':') != std::string_view::npos;
  return brackets == colons ? access::parse_address(text) : std::nullopt;
}

}  // namespace

std::optional<Endpoint> parse_endpoint(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto address = bracketed_address(text.substr(0, colon));
  const auto port = config::parse_count(text.substr(colon + 1));
  if (!address || !port || *port > 65535) return std::nullopt;
  return Endpoint{access::to_string(*address), static_cast<std::uint16_t>(*port)};
}

bool may_connect(const AccessConfig& access, std::uint16_t port) {
  return access.connect_anywhere || std::ranges::count(access.connect_ports, port) > 0;
}

}  // namespace penstock
