// SPDX-License-Identifier: Apache-2.0
// The entries of `access.allow` and `access.deny`: networks and hosts, with or without a port. Verdict combines both
// lists. Pure; lookups allocate nothing.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/address.h"
#include "base/text_map.h"

namespace penstock::access {

/// `10.0.0.0/8`, `private`, `127.0.0.1:8080`, `[::1]:8080`, `example.com`, `*.example.com:443`.
struct Rule {
  std::vector<Network> networks;      ///< empty: the rule names a host
  std::string host;                   ///< as in a pattern of `match`
  bool suffix = false;                ///< everything below `host`, not `host` itself
  std::optional<std::uint16_t> port;  ///< nothing: any port
};
/// The rule, or what is wrong with it.
std::expected<Rule, std::string> parse_rule(std::string_view text);

/// A name in its normal form, in lower case and without a dot at its end, or what is wrong with it. A dotted quad is
/// accepted too.
std::expected<std::string, std::string> parse_name(std::string_view text);

/// One of the two lists.
class Rules {
 public:
  Rules() = default;
  /// Skips entries that are no rules: validation reports those.
  explicit Rules(const std::vector<std::string>& texts);

  void add(Rule rule);
  bool name(const Address&, std::uint16_t port) const;
  /// True if an entry is this address alone, not a network around it.
  bool name_alone(const Address&, std::uint16_t port) const;
  /// `host` is in the form of parse_name().
  bool name(std::string_view host, std::uint16_t port) const;

 private:
  using Ports = std::vector<std::optional<std::uint16_t>>;
  using Hosts = base::TextMap<Ports>;
  static bool has(const Hosts& hosts, std::string_view host, std::uint16_t port);

  std::vector<std::pair<Network, std::optional<std::uint16_t>>> networks_;
  Hosts hosts_, suffixes_;
};

}  // namespace penstock::access
