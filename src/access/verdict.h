// SPDX-License-Identifier: Apache-2.0
// Who may use the proxy, and what may be dialled: judged on the address that is really dialled, with the name it was
// found by, wherever there is one. Pure; safe to copy; judging allocates nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/address.h"
#include "access/rule.h"
#include "penstock/config.h"

namespace penstock::access {

enum class Destination : std::uint8_t { allowed, denied, own };  // `own`: a port that Penstock itself listens on

class Verdict {
 public:
  /// `config` must be valid. `own` are the endpoints really bound, listeners and admin alike; `closed` are others that
  /// nobody may dial, whatever is allowed: by address, or by name, with their port. `here` are addresses of this
  /// machine, besides loopback: each leads to a listener on all of them, and what is closed at one of them is at all.
  Verdict(const Config& config, const std::vector<Endpoint>& own, const std::vector<Endpoint>& closed = {},
          const std::vector<std::string>& here = {});

  bool client(const Address&) const;
  /// Whether this client's `Penstock-*` fields count.
  bool gives_hints(const Address&) const;
  /// `host`: what was asked for, as it stands in http::Target; empty: nobody knows.
  Destination destination(const Address&, std::uint16_t port, std::string_view host = {}) const;
  /// Whether the name alone is enough to say no.
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
