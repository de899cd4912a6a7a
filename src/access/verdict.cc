// SPDX-License-Identifier: Apache-2.0
// Combines the rules: our own ports first, then closed endpoints, `deny`, and special addresses that nothing allows.
#include "access/verdict.h"

#include <algorithm>

#include "access/special.h"

namespace penstock::access {

namespace {

using Ports = std::vector<std::pair<Address, std::uint16_t>>;

Ports addresses_of(const std::vector<Endpoint>& endpoints) {
  Ports ports;
  for (const auto& endpoint : endpoints) {
    if (const auto address = parse_address(endpoint.address)) ports.emplace_back(*address, endpoint.port);
  }
  return ports;
}

std::vector<Address> all_of(const std::vector<std::string>& texts) {
  std::vector<Address> addresses;
  for (const auto& text : texts) {
    if (const auto address = parse_address(text)) addresses.push_back(*address);
  }
  return addresses;
}

std::vector<Network> networks_of(const std::vector<std::string>& texts) {
  std::vector<Network> all;
  for (const auto& text : texts) {
    if (const auto networks = parse_networks(text)) all.insert(all.end(), networks->begin(), networks->end());
  }
  return all;
}

}  // namespace

Verdict::Verdict(const Config& config, const std::vector<Endpoint>& own, const std::vector<Endpoint>& closed,
                 const std::vector<std::string>& here)
    : clients_(networks_of(config.access.clients)),
      deny_(config.access.deny),
      here_(all_of(here)),
      own_(addresses_of(own)),
      closed_(addresses_of(closed)) {
  const bool all_loopback = std::all_of(own_.begin(), own_.end(), [](const auto& o) { return is_loopback(o.first); });
  const std::vector<std::string> usual =
      all_loopback ? std::vector<std::string>{"loopback"} : std::vector<std::string>{};
  allow_ = Rules(config.access.allow.value_or(usual));
  if (config.access.hints) hints_ = networks_of(*config.access.hints);
  close(closed);
  permit(config);
}

/// A server that listens at one address of this machine may listen at the others too, so all are closed with it.
void Verdict::close(const std::vector<Endpoint>& places) {
  for (auto& [address, port] : closed_) {
    if (is_here(address)) address = Address{};
  }
  for (const auto& place : places) {
    auto name = parse_name(place.address);
    if (name && !parse_address(*name)) deny_.add({.networks = {}, .host = *std::move(name), .port = place.port});
  }
}

/// An address that is written into the configuration is meant to be dialled.
void Verdict::permit(const Config& config) {
  const auto add = [this](const std::string& host, std::optional<std::uint16_t> port) {
    const auto address = parse_address(host);
    if (address) permitted_.add({.networks = {Network{*address, address->v6 ? 128 : 32}}, .host = {}, .port = port});
  };
  for (const auto& upstream : config.upstreams) {
    for (const auto& match : upstream.match) add(match.host, match.port);
    if (upstream.base_url) add(upstream.base_url->host, upstream.base_url->port);
  }
}

bool Verdict::is_here(const Address& address) const {
  return is_loopback(address) || is_unspecified(address) || std::ranges::count(here_, address) > 0;
}

bool Verdict::reach_any(const Ports& listeners, const Address& destination, std::uint16_t port) const {
  return std::any_of(listeners.begin(), listeners.end(), [&](const auto& listener) {
    if (port != listener.second) return false;
    return destination == listener.first || is_unspecified(destination) ||
           (is_unspecified(listener.first) && is_here(destination));
  });
}

bool Verdict::client(const Address& address) const {
  return std::any_of(clients_.begin(), clients_.end(), [&](const Network& n) { return n.contains(address); });
}

bool Verdict::gives_hints(const Address& address) const {
  return !hints_ || std::ranges::any_of(*hints_, [&](const Network& n) { return n.contains(address); });
}

Destination Verdict::destination(const Address& address, std::uint16_t port, std::string_view host) const {
  const auto is_own = [&](const Address& a) { return reach_any(own_, a, port); };
  const auto is_barred = [&](const Address& a) { return bars(a, port, host); };
  // To allow a translating gateway's prefix must not allow the addresses behind it.
  const auto inner = embedded(address);
  if (is_own(address) || std::any_of(inner.begin(), inner.end(), is_own)) return Destination::own;
  const bool barred = is_barred(address) || std::any_of(inner.begin(), inner.end(), is_barred) || denies(host, port);
  return barred ? Destination::denied : Destination::allowed;
}

bool Verdict::bars(const Address& address, std::uint16_t port, std::string_view host) const {
  if (reach_any(closed_, address, port) || deny_.name(address, port)) return true;
  const bool metadata = is_metadata(address);
  if (!metadata && !is_special(address)) return false;
  if (permits(address, port, host)) return false;
  return metadata ? !allow_.name_alone(address, port) : !allow_.name(address, port) && !allow_.name(host, port);
}

/// An upstream's special address is permitted only to requests for that address, not for a name that leads there.
bool Verdict::permits(const Address& address, std::uint16_t port, std::string_view host) const {
  if (!permitted_.name(address, port)) return false;
  const auto asked = parse_address(host);
  return asked && *asked == address;
}

}  // namespace penstock::access
