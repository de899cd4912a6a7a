// SPDX-License-Identifier: Apache-2.0
// IP addresses and networks as text and back, and which of them are special. Knows no names, and judges nothing.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::access {

/// An IPv4 or IPv6 address; IPv4-mapped IPv6 is kept as IPv4.
struct Address {
  std::array<std::uint8_t, 16> bytes{};  ///< IPv4 in the first four
  bool v6 = false;
  bool operator==(const Address&) const = default;
};
/// A plain dotted quad or RFC 4291 text, without brackets or zone.
std::optional<Address> parse_address(std::string_view text);
/// As sockets have them, in network order: four bytes, or sixteen.
Address address_of_v4(const void* four);
Address address_of_v6(const void* sixteen);
std::string to_string(const Address&);
/// What counts as one client: an IPv4 address, or the /64 of an IPv6 one, as a client with one address has all of it.
Address client_of(const Address&);

struct Network {
  Address base;
  int prefix = 0;
  bool contains(const Address&) const;
  bool single() const { return prefix == (base.v6 ? 128 : 32); }
};
/// `10.0.0.0/8`, `::1`, `loopback`, `private`: one or several networks, or what is wrong.
std::expected<std::vector<Network>, std::string> parse_networks(std::string_view text);

/// Loopback, private, link-local, carrier-grade NAT, multicast, documentation, … by the IANA special-purpose
/// registries; so are all IPv6 forms in special.cc that embed an IPv4 address.
bool is_special(const Address&);
bool is_loopback(const Address&);
/// Where clouds hand out credentials to any process that asks.
bool is_metadata(const Address&);

}  // namespace penstock::access
