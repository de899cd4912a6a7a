// SPDX-License-Identifier: Apache-2.0
// See queue_shares.h.
#include "proxy/exchange/queue_shares.h"

namespace penstock::proxy {

namespace {
constexpr std::size_t kKept = 16;  // entries kept for idle clients, so that the next upload allocates nothing
}

QueueShares::Share& QueueShares::count(Entry& entry, const HeldBytes& client) {
  entry.counts_ = true;
  entry.client_ = client;
  Share& share = by_client_[client.get()];
  ++share.size;
  return share;
}

void QueueShares::waits(Entry& entry, const HeldBytes& client, flow::Ticket ticket) {
  Share& share = count(entry, client);
  entry.ticket_ = ticket;
  entry.older_ = share.newest;
  if (entry.older_) entry.older_->newer_ = &entry;
  share.newest = &entry;
}

void QueueShares::uploads(Entry& entry, const HeldBytes& client) { count(entry, client); }

void QueueShares::leave(Entry& entry) {
  if (!entry.counts_) return;
  const auto found = by_client_.find(entry.client_.get());
  Share& share = found->second;
  if (share.newest == &entry) share.newest = entry.older_;
  if (entry.older_) entry.older_->newer_ = entry.newer_;
  if (entry.newer_) entry.newer_->older_ = entry.older_;
  entry.older_ = entry.newer_ = nullptr;
  entry.counts_ = false;
  entry.client_.reset();
  if (--share.size == 0 && by_client_.size() > kKept) by_client_.erase(found);
}

flow::Ticket QueueShares::in_place_of(const HeldBytes& client) const {
  const auto own = by_client_.find(client.get());
  std::size_t most = (own == by_client_.end() ? 0 : own->second.size) + 1;
  flow::Ticket found;
  for (const auto& [other, share] : by_client_) {
    if (share.newest && share.size > most) found = share.newest->ticket_, most = share.size;
  }
  return found;
}

}  // namespace penstock::proxy
