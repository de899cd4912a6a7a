// SPDX-License-Identifier: Apache-2.0
// Who may share connections to upstreams with whom: all requests of one TLS identity with each other, but nobody with a
// client that logs in by NTLM or Negotiate, which make a connection speak for whoever logged in on it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/fields.h"
#include "loop/loop.h"
#include "penstock/config.h"
#include "transfer/multi.h"
#include "transfer/pool.h"

namespace penstock::proxy {

/// Whether this request logs in its connection, or this answer asks for that.
bool logs_in_connection(const http::Fields& request);
bool asks_to_log_in_connection(const http::Fields& answer);

class UpstreamPools {
 public:
  using Pool = std::shared_ptr<transfer::Pool>;

  /// Makes a pool for each TLS identity of the configuration.
  UpstreamPools(loop::Loop& loop, const Config& config, transfer::Multi::Judge judge);

  /// That of an identity of the configuration.
  const Pool& of(const TlsConfig& tls) const;
  /// For the identities of another configuration, and for those whose files are no longer the same, there are new
  /// pools; others stay. Who has an old one may use it on.
  void change(const Config& config);
  /// Forgets pools that nobody has any more, and what a crowd has left behind in others. Not from inside a transfer.
  void sweep();
  /// One that is shared with nobody.
  Pool make_own(const TlsConfig& tls) const;
  /// One that nothing is to be started on any more. It stays until it is swept out, for it may be on the stack.
  void retire(Pool pool) { leaving_.push_back(std::move(pool)); }

 private:
  using Stamp = std::vector<std::filesystem::file_time_type>;
  struct Kept {
    TlsConfig tls;
    Stamp stamp;  // when its files were last written
    Pool pool;
  };
  static Stamp stamp_of(const TlsConfig& tls);
  void add(const TlsConfig& tls);
  std::size_t idle_of_each() const;
  Pool make(const TlsConfig& tls) const;

  loop::Loop& loop_;
  const transfer::Multi::Judge judge_;
  std::vector<Kept> pools_;    // of the configuration
  std::vector<Pool> leaving_;  // of those before it, and of clients
};

/// What one client has to itself: connections to the upstreams where it logs in. Goes with the client's connection,
/// when its transfers are gone.
class PinnedPools {
 public:
  /// From now on it shares none to this upstream, unless it has its own to 16 others already.
  void claim(const std::string& upstream);
  /// Nothing: it shares them. `shared` is the pool of those who do: where that is another one, so are these.
  transfer::Pool* to(const std::string& upstream, const TlsConfig& tls, const UpstreamPools::Pool& shared,
                     UpstreamPools& connections);

 private:
  struct Claimed {
    std::string upstream;
    std::weak_ptr<transfer::Pool> beside;  // the pool of the others
    UpstreamPools::Pool pool;              // made when first used
  };
  std::vector<Claimed> claimed_;
};

}  // namespace penstock::proxy
