// SPDX-License-Identifier: Apache-2.0
// Who may share connections to upstreams with whom: all requests of one TLS identity with each other, but nobody with a
// client that logs in by NTLM or Negotiate, which make a connection speak for whoever logged in on it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/fields.h"
#include "loop/loop.h"
#include "penstock/config.h"
#include "transfer/multi.h"

namespace penstock::proxy {

/// Whether this request logs in its connection, or this answer asks for that.
bool logs_in_connection(const http::Fields& request);
bool asks_to_log_in_connection(const http::Fields& answer);

class Connections {
 public:
  /// Makes a pool for each TLS identity of the configuration.
  Connections(loop::Loop& loop, const Config& config, transfer::Multi::Judge judge);

  /// That of an identity of the configuration.
  transfer::Multi& of(const TlsConfig& tls) const;
  /// One that is shared with nobody.
  std::unique_ptr<transfer::Multi> make_own(const TlsConfig& tls) const;

 private:
  void add(const TlsConfig& tls);

  loop::Loop& loop_;
  const transfer::Multi::Judge judge_;
  std::vector<std::pair<TlsConfig, std::unique_ptr<transfer::Multi>>> pools_;
};

/// What one client has to itself: connections to the upstreams where it logs in. Goes with the client's connection,
/// when its transfers are gone.
class OwnConnections {
 public:
  /// From now on it shares none to this upstream, unless it has its own to 16 others already.
  void claim(const std::string& upstream);
  /// Nothing: it shares them.
  transfer::Multi* to(const std::string& upstream, const TlsConfig& tls, const Connections& connections);

 private:
  std::vector<std::pair<std::string, std::unique_ptr<transfer::Multi>>> claimed_;  // made when first used
};

}  // namespace penstock::proxy
