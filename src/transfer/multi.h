// SPDX-License-Identifier: Apache-2.0
// All transfers of a loop: libcurl's multi handle, its sockets under libuv's polling, its pool of connections.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "loop/loop.h"
#include "transfer/order.h"
#include "transfer/transfer.h"

namespace penstock::transfer {

class Multi {
 public:
  /// Whether this address may be dialled: asked for every connection attempt, and again whenever a kept one is used.
  using Judge = std::function<bool(std::string_view address, std::uint16_t port)>;

  Multi(loop::Loop& loop, Judge judge);
  ~Multi();  ///< all transfers must be gone
  Multi(const Multi&) = delete;
  Multi& operator=(const Multi&) = delete;

  /// Not from inside TransferEvents, other than on_done().
  std::unique_ptr<Transfer> start(Order&& order, TransferEvents& events);

 private:
  friend class Transfer;
  friend struct Easy;
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace penstock::transfer
