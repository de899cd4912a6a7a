// SPDX-License-Identifier: Apache-2.0
// See queue_shares.h.
#include "proxy/exchange/queue_shares.h"

namespace penstock::proxy {

namespace {
constexpr std::size_t kKept = 16;  // entries kept for idle clients, so that the next upload allocates nothing
}

QueueShares::Share& QueueShares::count(Exchange& exchange, Exchange::Share as) {
  exchange.share = as;
  exchange.sharer = exchange.sink.held();
  Share& share = by_client_[exchange.sharer.get()];
  ++share.size;
  return share;
}

void QueueShares::waits(Exchange& exchange) {
  Share& share = count(exchange, Exchange::Share::place);
  exchange.older = share.newest;
  if (exchange.older) exchange.older->newer = &exchange;
  share.newest = &exchange;
}

void QueueShares::uploads(Exchange& exchange) { count(exchange, Exchange::Share::slot); }

void QueueShares::leave(Exchange& exchange) {
  if (exchange.share == Exchange::Share::none) return;
  const auto found = by_client_.find(exchange.sharer.get());
  Share& share = found->second;
  if (share.newest == &exchange) share.newest = exchange.older;
  if (exchange.older) exchange.older->newer = exchange.newer;
  if (exchange.newer) exchange.newer->older = exchange.older;
  exchange.older = exchange.newer = nullptr;
  exchange.share = Exchange::Share::none;
  exchange.sharer.reset();
  if (--share.size == 0 && by_client_.size() > kKept) by_client_.erase(found);
}

const Exchange* QueueShares::in_place_of(const Exchange& arrival) const {
  const auto own = by_client_.find(arrival.sink.held().get());
  std::size_t most = (own == by_client_.end() ? 0 : own->second.size) + 1;
  const Exchange* found = nullptr;
  for (const auto& [client, share] : by_client_) {
    if (share.newest && share.size > most) found = share.newest, most = share.size;
  }
  return found;
}

}  // namespace penstock::proxy
