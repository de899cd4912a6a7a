// SPDX-License-Identifier: Apache-2.0
// Transfers of one TLS identity, any number of them. libcurl looks at every connection of a multi handle when one of
// its transfers ends, and at those to the same host when one begins: thousands that do nothing would cost each of the
// others a multiple of its own work. So a handle carries 256 of them, and the next one those beyond; an idle
// connection is used by transfers of its own handle only. The first handle reads the authorities for all.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "loop/loop.h"
#include "penstock/config.h"
#include "tls/authorities.h"
#include "transfer/multi.h"
#include "transfer/request.h"
#include "transfer/transfer.h"

namespace penstock::transfer {

class Pool {
 public:
  static constexpr std::size_t kMostFlying = 256;  ///< on one handle
  static constexpr std::size_t kMostKept = 1024;   ///< connections that may be idle, on all

  /// The arguments are a Multi's. All transfers must be gone before it.
  Pool(loop::Loop& loop, Multi::Judge judge, TlsConfig tls = {}, std::chrono::seconds idle = std::chrono::seconds(30));

  /// How many connections may be idle at once, on all handles together; kMostKept at most. Where that is less than
  /// before, they are closed as transfers end or they grow old.
  void keep_at_most(std::size_t count);
  /// On the first handle that has room, so that few are in use; https on the very first, as long as that has read no
  /// authorities. Not from inside TransferEvents, other than on_done().
  std::unique_ptr<Transfer> start(Request&& request, TransferEvents& events);
  /// No transfer is there, and none is being told of its end; connections may be.
  bool idle() const;
  /// Forgets handles that a crowd has left behind, once their connections are closed. Where start() may be called.
  void sweep();
  std::size_t handles() const { return multis_.size(); }

  /// What each of so many handles may keep of `count`: one at least.
  static std::size_t share_of(std::size_t count, std::size_t handles);

 private:
  Multi& add_handle();
  Multi& handle_for(const Request& request);
  void share_what_is_kept();

  loop::Loop& loop_;
  const Multi::Judge judge_;
  const TlsConfig tls_;
  const std::chrono::seconds idle_;
  std::size_t kept_ = kMostKept;
  tls::Authorities authorities_;
  std::vector<std::unique_ptr<Multi>> multis_;  // at least one
};

}  // namespace penstock::transfer
