// SPDX-License-Identifier: Apache-2.0
// Any number of transfers of one TLS identity, spread over several Multi handles. libcurl searches all connections of a
// multi handle when one of its transfers ends, and all to the same host when one begins, which is too slow with
// thousands. So each handle carries 256 transfers. An idle connection is reused only by transfers of its own handle.
// The first handle reads the authorities for all.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "access/dial_guard.h"
#include "loop/loop.h"
#include "penstock/config.h"
#include "tls/authorities.h"
#include "transfer/multi.h"
#include "transfer/request.h"
#include "transfer/transfer.h"

namespace penstock::transfer {

class Pool {
 public:
  static constexpr std::size_t kMostFlying = 256;  ///< transfers on one handle
  static constexpr std::size_t kMostKept = 1024;   ///< idle connections on all handles together

  /// Arguments as for Multi. All transfers must be gone before the pool is destroyed.
  Pool(loop::Loop& loop, const access::DialGuard& guard, TlsConfig tls = {},
       std::chrono::seconds idle = std::chrono::seconds(30));

  /// How many connections may be idle at once on all handles together; at most kMostKept. If that is fewer than before,
  /// surplus ones are closed as transfers end or they grow too old.
  void keep_at_most(std::size_t count);
  /// Starts on the first handle with room, so that few handles are in use; https on the very first as long as that has
  /// read no authorities. Not from inside TransferEvents, except on_done().
  std::unique_ptr<Transfer> start(Request&& request, TransferEvents& events);
  /// No transfer exists, and none is inside on_done(); connections may exist.
  bool idle() const;
  /// Destroys surplus handles of a past peak, once their connections are closed. Call only where start() may be called.
  void sweep();
  std::size_t handles() const { return multis_.size(); }

  /// How many of `count` idle connections each of `handles` handles may keep: at least one.
  static std::size_t share_of(std::size_t count, std::size_t handles);

 private:
  Multi& add_handle();
  Multi& handle_for(const Request& request);
  void share_what_is_kept();

  loop::Loop& loop_;
  const access::DialGuard& guard_;
  const TlsConfig tls_;
  const std::chrono::seconds idle_;
  std::size_t kept_ = kMostKept;
  tls::Authorities authorities_;
  std::vector<std::unique_ptr<Multi>> multis_;  // at least one
};

}  // namespace penstock::transfer
