// SPDX-License-Identifier: Apache-2.0
// Transfers of a loop that may share connections: libcurl's multi handle, its sockets under libuv's polling, its pool
// of connections, all of one TLS identity. Others use a Pool of them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "loop/loop.h"
#include "penstock/config.h"
#include "tls/authorities.h"
#include "transfer/request.h"
#include "transfer/transfer.h"

namespace penstock::tls {
class OpensslPeek;
}

namespace penstock::transfer {

/// Where a handle has its authorities from.
struct Trust {
  tls::Authorities* authorities = nullptr;  ///< that it shares with others: outlives it; nothing: with nobody
  bool borrows = false;                     ///< it takes them from there, rather than putting there what it reads
};

class Multi {
 public:
  /// Whether this address may be dialled for this host: asked for every connection attempt, and again whenever a kept
  /// one is used.
  using Judge = std::function<bool(std::string_view address, std::uint16_t port, std::string_view host)>;

  /// Whom https trusts and as whom it speaks: files, read for each connection (the authorities: once an hour). Without
  /// `tls.ca` those that SSL_CERT_FILE names, or libcurl's. A connection that has been idle for `idle` is closed.
  Multi(loop::Loop& loop, Judge judge, TlsConfig tls = {}, std::chrono::seconds idle = std::chrono::seconds(30),
        Trust trust = {});
  ~Multi();  ///< all transfers must be gone; not from inside TransferEvents
  Multi(const Multi&) = delete;
  Multi& operator=(const Multi&) = delete;

  /// How many connections may be idle at once, 1024 unless told; of more, those that have been so for longest are
  /// closed.
  void keep_at_most(std::size_t count);
  /// Not from inside TransferEvents, other than on_done().
  std::unique_ptr<Transfer> start(Request&& request, TransferEvents& events);
  std::size_t flying() const;  ///< transfers that are there
  /// No transfer is there, and none is being told of its end; connections may be.
  bool idle() const;
  bool keeps_any() const;  ///< connections that have been used, and may be again

 private:
  friend class Transfer;
  friend struct Easy;
  static bool is_disturbed(const tls::OpensslPeek& connection);  // a kept connection
  void give_back(std::unique_ptr<Easy> easy);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::transfer
