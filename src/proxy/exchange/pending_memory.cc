// SPDX-License-Identifier: Apache-2.0
// See pending_memory.h.
#include "proxy/exchange/pending_memory.h"

namespace penstock::proxy {

namespace {
constexpr std::size_t kKeptForOthers = 8;  // one client may fill all but one part in eight
}

void PendingMemory::judge(Charge& charge, const HeldBytes& client, std::size_t bytes) const {
  charge.full_ = which_is_full(charge, client, bytes);
}

PendingMemory::Full PendingMemory::which_is_full(const Charge& charge, const HeldBytes& client,
                                                 std::size_t bytes) const {
  const std::size_t all = caps_.pending_memory;
  if (client && *client - charge.bytes_ + bytes > all - all / kKeptForOthers) return Full::of_this_client;
  return bytes_ - charge.bytes_ + bytes > all ? Full::of_all : Full::no;
}

void PendingMemory::charge(Charge& charge, const HeldBytes& client, std::size_t bytes) {
  if (bytes == 0) return release(charge);
  if (charge.bytes_ == 0) charge.held_ = client;
  bytes_ += bytes - charge.bytes_;
  if (charge.held_) *charge.held_ += bytes - charge.bytes_;
  charge.bytes_ = bytes;
}

void PendingMemory::release(Charge& charge) {
  if (charge.bytes_ == 0) return;
  bytes_ -= charge.bytes_;
  if (charge.held_) *charge.held_ -= charge.bytes_;
  charge.bytes_ = 0;
  charge.held_.reset();
}

}  // namespace penstock::proxy
