// SPDX-License-Identifier: Apache-2.0
// The transfers of a loop that may share connections, all of one TLS identity: libcurl's multi handle, its sockets
// polled by libuv, and its connection pool. Other rooms use a Pool of these.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "access/dial_guard.h"
#include "loop/loop.h"
#include "penstock/config.h"
#include "transfer/request.h"
#include "transfer/transfer.h"
#include "transfer/trust.h"

namespace penstock::transfer {

class Multi {
 public:
  /// `guard`, which must outlive this, is asked for every connection attempt, and again whenever a kept connection is
  /// used. `tls` names the authorities and the client certificate for https, as files that are read for each connection
  /// (authorities: once an hour). Without `tls.ca` the authorities are those of SSL_CERT_FILE, or the system's. A
  /// connection that has been idle for `idle` is closed.
  Multi(loop::Loop& loop, const access::DialGuard& guard, TlsConfig tls = {},
        std::chrono::seconds idle = std::chrono::seconds(30), Trust trust = {});
  ~Multi();  ///< all transfers must be gone; not from inside TransferEvents
  Multi(const Multi&) = delete;
  Multi& operator=(const Multi&) = delete;

  /// How many connections may be idle at once, 1024 by default; beyond that, those idle for longest are closed.
  void keep_at_most(std::size_t count);
  /// Not from inside TransferEvents, except on_done().
  std::unique_ptr<Transfer> start(Request&& request, TransferEvents& events);
  std::size_t flying() const;  ///< transfers that exist
  /// No transfer exists, and none is inside on_done(); connections may exist.
  bool idle() const;
  bool keeps_any() const;  ///< whether any connection that was used is kept for reuse

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::transfer
