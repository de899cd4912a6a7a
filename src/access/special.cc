// SPDX-License-Identifier: Apache-2.0
// The addresses that are not plain unicast Internet, by the IANA special-purpose registries, and the IPv4 addresses
// embedded in IPv6 ones. Says what an address is, not whether it may be dialled.
#include "access/special.h"

#include <algorithm>

namespace penstock::access {

namespace {

constexpr std::string_view kSpecial[] = {
    "0.0.0.0/8",        // this network
    "10.0.0.0/8",       // private
    "100.64.0.0/10",    // carrier-grade NAT; cloud metadata at 100.100.100.200
    "127.0.0.0/8",      // loopback
    "169.254.0.0/16",   // link-local; cloud metadata at 169.254.169.254
    "172.16.0.0/12",    // private
    "192.0.0.0/24",     // protocol assignments
    "192.0.2.0/24",     // documentation
    "192.168.0.0/16",   // private
    "198.18.0.0/15",    // benchmarking
    "198.51.100.0/24",  // documentation
    "203.0.113.0/24",   // documentation
    "224.0.0.0/4",      // multicast
    "240.0.0.0/4",      // reserved, and broadcast
    "::/96",            // unspecified, loopback, IPv4-compatible
    "::ffff:0:0:0/96",  // IPv4-translated
    "64:ff9b::/96",     // NAT64
    "64:ff9b:1::/48",   // local NAT64
    "100::/64",         // discard
    "2001::/32",        // Teredo
    "2001:2::/48",      // benchmarking
    "2001:db8::/32",    // documentation
    "2002::/16",        // 6to4
    "3fff::/20",        // documentation
    "5f00::/16",        // segment routing
    "fc00::/7",         // private; cloud metadata at fd00:ec2::254
    "fe80::/10",        // link-local
    "fec0::/10",        // site-local, deprecated
    "ff00::/8",         // multicast
};

// Each hands out credentials or settings of its machine. The last is public, but no other service has it.
constexpr std::string_view kMetadata[] = {
    "169.254.169.254",  // nearly all clouds
    "169.254.170.2",    // containers at Amazon
    "169.254.170.23",   // pods at Amazon
    "100.100.100.200",  // Alibaba
    "192.0.0.192",      // Oracle
    "fd00:ec2::254",    // Amazon
    "fd00:ec2::23",     // pods at Amazon
    "fd20:ce::254",     // Google
    "fe80::a9fe:a9fe",  // OpenStack
    "168.63.129.16",    // Azure's wire server
};

std::vector<Network> parse_all(const auto& texts) {
  std::vector<Network> networks;
  for (const auto text : texts) networks.push_back(parse_networks(text)->front());
  return networks;
}

// Where an IPv6 form keeps an IPv4 address, and which of its bits are inverted.
struct Form {
  Network network;
  std::size_t at;
  std::uint8_t flip;
};

const std::vector<Form>& forms() {
  const auto form = [](std::string_view network, std::size_t at, std::uint8_t flip = 0) {
    return Form{parse_networks(network)->front(), at, flip};
  };
  static const std::vector<Form> all{form("::/96", 12),    form("::ffff:0:0:0/96", 12), form("64:ff9b::/96", 12),
                                     form("2002::/16", 2), form("2001::/32", 4),        form("2001::/32", 12, 0xff)};
  return all;
}

Address v4_at(const Address& address, std::size_t from, std::uint8_t flip) {
  Address v4;
  for (std::size_t i = 0; i < 4; ++i) v4.bytes[i] = address.bytes[from + i] ^ flip;
  return v4;
}

}  // namespace

bool is_special(const Address& address) {
  static const std::vector<Network> networks = parse_all(kSpecial);
  return std::any_of(networks.begin(), networks.end(), [&](const Network& n) { return n.contains(address); });
}

bool is_metadata(const Address& address) {
  static const std::vector<Network> networks = parse_all(kMetadata);
  return std::any_of(networks.begin(), networks.end(), [&](const Network& n) { return n.base == address; });
}

bool is_loopback(const Address& address) {
  static const Address v6 = *parse_address("::1");
  return address.v6 ? address == v6 : address.bytes[0] == 127;
}

bool is_unspecified(const Address& address) {
  return std::all_of(address.bytes.begin(), address.bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

Embedded embedded(const Address& address) {
  Embedded found;
  if (!address.v6 || is_loopback(address) || is_unspecified(address)) return found;
  for (const Form& form : forms()) {
    if (form.network.contains(address)) found.addresses[found.count++] = v4_at(address, form.at, form.flip);
  }
  return found;
}

}  // namespace penstock::access
