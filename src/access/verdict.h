// SPDX-License-Identifier: Apache-2.0
// Who may use the proxy, and which addresses may be dialled. Judges addresses, never names: what is judged is what is
// dialled. Pure; safe to copy.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/config.h"

namespace penstock::access {

/// An IPv4 or IPv6 address; IPv4-mapped IPv6 is kept as IPv4.
struct Address {
  std::array<std::uint8_t, 16> bytes{};  ///< IPv4 in the first four
  bool v6 = false;
  bool operator==(const Address&) const = default;
};
/// A plain dotted quad or RFC 4291 text, without brackets or zone.
std::optional<Address> parse_address(std::string_view text);
std::string to_string(const Address&);

struct Network {
  Address base;
  int prefix = 0;
  bool contains(const Address&) const;
};
/// `10.0.0.0/8`, `::1`, `loopback`, `private`: one or several networks, or what is wrong.
std::expected<std::vector<Network>, std::string> parse_networks(std::string_view text);

/// Loopback, private, link-local, carrier-grade NAT, multicast, documentation, … by the IANA special-purpose
/// registries; IPv6 forms that embed an IPv4 address are judged by that too.
bool is_special(const Address&);
bool is_loopback(const Address&);

enum class Destination : std::uint8_t { allowed, denied, own };  // `own`: a port that Penstock itself listens on

class Verdict {
 public:
  /// `config` must be valid. `own` are the endpoints really bound, listeners and admin alike; `closed` are others that
  /// nobody may dial, whatever is allowed.
  Verdict(const AccessConfig& config, const std::vector<Endpoint>& own, const std::vector<Endpoint>& closed = {});

  bool client(const Address&) const;
  Destination destination(const Address&, std::uint16_t port) const;

 private:
  std::vector<Network> clients_, allow_, deny_;
  std::vector<std::pair<Address, std::uint16_t>> own_, closed_;
};

}  // namespace penstock::access
