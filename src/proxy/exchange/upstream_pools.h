// SPDX-License-Identifier: Apache-2.0
// Which requests may share connections to upstreams: all of one TLS identity, except those of a client that logs in by
// NTLM or Negotiate, which authenticate the connection rather than the request.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "access/dial_guard.h"
#include "http/fields.h"
#include "loop/loop.h"
#include "penstock/config.h"
#include "transfer/pool.h"

namespace penstock::proxy {

/// Whether this request logs in on its connection, or this response asks for that.
bool logs_in_connection(const http::Fields& request);
bool asks_to_log_in_connection(const http::Fields& answer);

class UpstreamPools {
 public:
  using Pool = std::shared_ptr<transfer::Pool>;

  /// Makes a pool for each TLS identity of the configuration. `guard`, which judges what they dial, must outlive them.
  UpstreamPools(loop::Loop& loop, const Config& config, const access::DialGuard& guard);

  /// The pool of a TLS identity of the configuration.
  const Pool& of(const TlsConfig& tls) const;
  /// Makes new pools for identities that are new or whose files have changed; the others stay. Old pools may be used on
  /// by their owners.
  void change(const Config& config);
  /// Drops unused old pools, and surplus handles in the others. Not from inside a transfer.
  void sweep();
  /// A pool that is not shared.
  Pool make_own(const TlsConfig& tls) const;
  /// Takes a pool on which nothing will be started any more. It lives until a sweep, because it may be on the call
  /// stack.
  void retire(Pool pool) { leaving_.push_back(std::move(pool)); }
  std::size_t retired() const { return leaving_.size(); }  ///< not swept yet

 private:
  using Stamp = std::vector<std::filesystem::file_time_type>;
  struct Kept {
    TlsConfig tls;
    Stamp stamp;  // modification times of the identity's files
    Pool pool;
  };
  static Stamp stamp_of(const TlsConfig& tls);
  void add(const TlsConfig& tls);
  std::size_t idle_of_each() const;
  Pool make(const TlsConfig& tls) const;

  loop::Loop& loop_;
  const access::DialGuard& guard_;
  std::vector<Kept> pools_;    // for the current configuration
  std::vector<Pool> leaving_;  // of earlier configurations, and of clients
};

/// The connections of one client to the upstreams where it logs in. Destroyed with the client's connection, once its
/// transfers are gone.
class PinnedPools {
 public:
  /// From now on the client shares no connection to this upstream, unless it has pools of its own for 16 others
  /// already.
  void claim(const std::string& upstream);
  /// The client's own pool for this upstream; null: it uses `shared`, the pool of all other clients. If `shared` has
  /// changed since the own pool was made, the own pool is replaced too.
  transfer::Pool* to(const std::string& upstream, const TlsConfig& tls, const UpstreamPools::Pool& shared,
                     UpstreamPools& connections);

 private:
  struct Claimed {
    std::string upstream;
    std::weak_ptr<transfer::Pool> beside;  // the shared pool when `pool` was made
    UpstreamPools::Pool pool;              // made on first use
  };
  std::vector<Claimed> claimed_;
};

}  // namespace penstock::proxy
