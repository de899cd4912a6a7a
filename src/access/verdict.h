// SPDX-License-Identifier: Apache-2.0
// Decides which clients may use the proxy and what may be dialled: judges the address that is really dialled, and the
// name that led to it, if there is one. Pure; safe to copy; judging allocates nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/address.h"
#include "access/dial_guard.h"
#include "access/rule.h"
#include "penstock/config.h"

namespace penstock::access {

class Verdict final : public DialGuard {
 public:
  /// `config` must be valid. `own`: the endpoints really bound, listeners and admin alike. `closed`: others that must
  /// never be dialled, whatever is allowed; by address or by name, with their port. `here`: addresses of this machine
  /// besides loopback. Each reaches the listeners on all addresses, and what is closed at one of them is closed at all.
  Verdict(const Config& config, const std::vector<Endpoint>& own, const std::vector<Endpoint>& closed = {},
          const std::vector<std::string>& here = {});

  bool client(const Address&) const;
  /// True if this client's `Penstock-*` fields count.
  bool gives_hints(const Address&) const;
  Destination destination(const Address&, std::uint16_t port, std::string_view host = {}) const override;
  /// True if the name alone is enough to deny.
  bool denies(std::string_view host, std::uint16_t port) const { return deny_.name(host, port); }

 private:
  using Ports = std::vector<std::pair<Address, std::uint16_t>>;
  void close(const std::vector<Endpoint>& places);
  void permit(const Config& config);
  bool is_here(const Address&) const;
  bool reach_any(const Ports& listeners, const Address& destination, std::uint16_t port) const;
  bool bars(const Address&, std::uint16_t port, std::string_view host) const;
  bool permits(const Address&, std::uint16_t port, std::string_view host) const;

  std::vector<Network> clients_;
  std::optional<std::vector<Network>> hints_;
  Rules allow_, deny_;
  Rules permitted_;  // literal addresses of upstreams
  std::vector<Address> here_;
  Ports own_, closed_;
};

}  // namespace penstock::access
