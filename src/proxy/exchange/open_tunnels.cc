// SPDX-License-Identifier: Apache-2.0
// See open_tunnels.h.
#include "proxy/exchange/open_tunnels.h"

#include <algorithm>

namespace penstock::proxy {

OpenTunnels::Entry::~Entry() {
  --all_.totals_.open;
  if (half_closed_) all_.half_closed_.erase(*half_closed_);
}

void OpenTunnels::Entry::half_close(HalfClosedTunnel& tunnel, const std::optional<access::Address>& client) {
  auto& all = all_.half_closed_;
  half_closed_ = all.insert(all.end(), {.tunnel = &tunnel, .client = client});
}

bool OpenTunnels::make_room(const std::optional<access::Address>& client) {
  const auto first = std::ranges::find_if(half_closed_, [&](const HalfClosed& one) {
    return (!client || one.client == client) && one.tunnel->may_make_room();
  });
  if (first == half_closed_.end()) return false;
  first->tunnel->make_room("closed to let others in: its client had closed its side");
  return true;
}

}  // namespace penstock::proxy
