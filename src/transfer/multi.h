// SPDX-License-Identifier: Apache-2.0
// Transfers of a loop that may share connections: libcurl's multi handle, its sockets under libuv's polling, its pool
// of connections, all of one TLS identity.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "loop/loop.h"
#include "penstock/config.h"
#include "transfer/order.h"
#include "transfer/transfer.h"

namespace penstock::tls {
class Connection;
}

namespace penstock::transfer {

class Multi {
 public:
  /// Whether this address may be dialled: asked for every connection attempt, and again whenever a kept one is used.
  using Judge = std::function<bool(std::string_view address, std::uint16_t port)>;

  /// Whom https trusts and as whom it speaks: files, read for each connection (the authorities: once an hour). Without
  /// `tls.ca` those that SSL_CERT_FILE names, or libcurl's.
  Multi(loop::Loop& loop, Judge judge, TlsConfig tls = {});
  ~Multi();  ///< all transfers must be gone; not from inside TransferEvents
  Multi(const Multi&) = delete;
  Multi& operator=(const Multi&) = delete;

  /// Not from inside TransferEvents, other than on_done().
  std::unique_ptr<Transfer> start(Order&& order, TransferEvents& events);

 private:
  friend class Transfer;
  friend struct Easy;
  static bool is_disturbed(const tls::Connection& connection);  // a kept connection
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace penstock::transfer
