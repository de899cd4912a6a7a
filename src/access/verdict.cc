// SPDX-License-Identifier: Apache-2.0
// Puts the rules together: our own ports first, then `deny`, then special addresses that nothing allows.
#include "access/verdict.h"

#include <algorithm>

#include "access/special.h"

namespace penstock::access {

namespace {

void append(std::vector<Network>& into, const std::vector<std::string>& texts) {
  for (const auto& text : texts) {
    if (const auto networks = parse_networks(text)) into.insert(into.end(), networks->begin(), networks->end());
  }
}

bool any_contains(const std::vector<Network>& networks, const Address& address) {
  return std::any_of(networks.begin(), networks.end(), [&](const Network& n) { return n.contains(address); });
}

bool reaches(const Address& destination, const Address& listener) {
  if (destination == listener || is_unspecified(destination)) return true;
  return is_unspecified(listener) && is_loopback(destination);
}

}  // namespace

Verdict::Verdict(const AccessConfig& config, const std::vector<Endpoint>& own) {
  for (const auto& endpoint : own) {
    if (const auto address = parse_address(endpoint.address)) own_.emplace_back(*address, endpoint.port);
  }
  const bool all_loopback = std::all_of(own_.begin(), own_.end(), [](const auto& o) { return is_loopback(o.first); });
  append(clients_, config.clients);
  append(allow_,
         config.allow.value_or(all_loopback ? std::vector<std::string>{"loopback"} : std::vector<std::string>{}));
  append(deny_, config.deny);
}

bool Verdict::client(const Address& address) const { return any_contains(clients_, address); }

Destination Verdict::destination(const Address& address, std::uint16_t port) const {
  const auto is_own = [&](const Address& a) {
    return std::any_of(own_.begin(), own_.end(),
                       [&](const auto& listener) { return port == listener.second && reaches(a, listener.first); });
  };
  const auto is_barred = [&](const Address& a) {
    return any_contains(deny_, a) || (is_special(a) && !any_contains(allow_, a));
  };
  // Allowing a gateway's prefix must not allow what it leads to.
  const auto inner = embedded(address);
  if (is_own(address) || std::any_of(inner.begin(), inner.end(), is_own)) return Destination::own;
  const bool barred = is_barred(address) || std::any_of(inner.begin(), inner.end(), is_barred);
  return barred ? Destination::denied : Destination::allowed;
}

}  // namespace penstock::access
