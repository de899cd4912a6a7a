// SPDX-License-Identifier: Apache-2.0
// See pending_memory.h.
#include "proxy/exchange/pending_memory.h"

namespace penstock::proxy {

namespace {
constexpr std::size_t kKeptForOthers = 8;  // one client may fill all but one part in eight
}

PendingMemory::Full PendingMemory::full_for(const Exchange& arrival) const {
  const std::size_t all = caps_.pending_memory, own = arrival.bytes();
  const auto& held = arrival.sink.held();
  if (held && *held + own > all - all / kKeptForOthers) return Full::of_this_client;
  return bytes_ + own > all ? Full::of_all : Full::no;
}

void PendingMemory::charge(Exchange& exchange, std::size_t bytes) {
  if (bytes == exchange.charged) return;
  if (exchange.charged == 0) exchange.held = exchange.sink.held();
  bytes_ += bytes - exchange.charged;
  if (exchange.held) *exchange.held += bytes - exchange.charged;
  exchange.charged = bytes;
  if (bytes == 0) exchange.held.reset();
}

}  // namespace penstock::proxy
