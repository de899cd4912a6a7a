// SPDX-License-Identifier: Apache-2.0
// Addresses as text and back, strictly: no octal, no short forms, no zones. Knows nothing of networks.
#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "access/address.h"

namespace penstock::access {

namespace {

constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

// ::ffff:a.b.c.d reaches the same host as a.b.c.d. Kept as IPv4, it cannot slip past a rule for a.b.c.d.
Address unmapped(const Address& address) {
  if (!address.v6 || !std::equal(kMapped.begin(), kMapped.end(), address.bytes.begin())) return address;
  Address v4;
  std::copy_n(address.bytes.begin() + 12, 4, v4.bytes.begin());
  return v4;
}

}  // namespace

std::optional<Address> parse_address(std::string_view text) {
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  if (text.size() >= terminated.size() || text.find('\0') != std::string_view::npos) return std::nullopt;
  std::copy(text.begin(), text.end(), terminated.begin());
  Address address;
  address.v6 = text.find(':') != std::string_view::npos;
  if (inet_pton(address.v6 ? AF_INET6 : AF_INET, terminated.data(), address.bytes.data()) != 1) return std::nullopt;
  return unmapped(address);
}

Address address_of_v4(const void* four) {
  Address address;
  std::memcpy(address.bytes.data(), four, 4);
  return address;
}

Address address_of_v6(const void* sixteen) {
  Address address{.v6 = true};
  std::memcpy(address.bytes.data(), sixteen, 16);
  return unmapped(address);
}

std::string to_string(const Address& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(address.v6 ? AF_INET6 : AF_INET, address.bytes.data(), text.data(), text.size());
  return text.data();
}

Address client_of(const Address& address) {
  Address client = address;
  if (client.v6) std::fill(client.bytes.begin() + 8, client.bytes.end(), 0);
  return client;
}

}  // namespace penstock::access
