// SPDX-License-Identifier: Apache-2.0
// Puts the rules together: our own ports first, then what is closed, `deny`, and special addresses that nothing allows.
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

using Ports = std::vector<std::pair<Address, std::uint16_t>>;

void append(Ports& into, const std::vector<Endpoint>& endpoints) {
  for (const auto& endpoint : endpoints) {
    if (const auto address = parse_address(endpoint.address)) into.emplace_back(*address, endpoint.port);
  }
}

bool reaches(const Address& destination, const Address& listener) {
  if (destination == listener || is_unspecified(destination)) return true;
  return is_unspecified(listener) && is_loopback(destination);
}

bool reach_any(const Ports& listeners, const Address& destination, std::uint16_t port) {
  return std::any_of(listeners.begin(), listeners.end(), [&](const auto& listener) {
    return port == listener.second && reaches(destination, listener.first);
  });
}

}  // namespace

Verdict::Verdict(const AccessConfig& config, const std::vector<Endpoint>& own, const std::vector<Endpoint>& closed) {
  append(own_, own);
  append(closed_, closed);
  const bool all_loopback = std::all_of(own_.begin(), own_.end(), [](const auto& o) { return is_loopback(o.first); });
  append(clients_, config.clients);
  append(allow_,
         config.allow.value_or(all_loopback ? std::vector<std::string>{"loopback"} : std::vector<std::string>{}));
  append(deny_, config.deny);
}

bool Verdict::client(const Address& address) const { return any_contains(clients_, address); }

Destination Verdict::destination(const Address& address, std::uint16_t port) const {
  const auto is_own = [&](const Address& a) { return reach_any(own_, a, port); };
  const auto is_barred = [&](const Address& a) {
    return reach_any(closed_, a, port) || any_contains(deny_, a) || (is_special(a) && !any_contains(allow_, a));
  };
  // Allowing a gateway's prefix must not allow what it leads to.
  const auto inner = embedded(address);
  if (is_own(address) || std::any_of(inner.begin(), inner.end(), is_own)) return Destination::own;
  const bool barred = is_barred(address) || std::any_of(inner.begin(), inner.end(), is_barred);
  return barred ? Destination::denied : Destination::allowed;
}

}  // namespace penstock::access
