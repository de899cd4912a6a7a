// SPDX-License-Identifier: Apache-2.0
// What a request is told that gets no place, or waited in vain. Only for this room.
#pragma once

#include "flow/scheduler.h"
#include "http/refusal.h"
#include "proxy/exchange/pending_memory.h"
#include "proxy/exchange/upstream.h"

namespace penstock::proxy {

http::Refusal refusal_of(const flow::Commands::Refuse& command, const Upstream& upstream, flow::Time now);
/// There is no memory for it to wait in; `wait`: when there may be.
http::Refusal refusal_of(PendingMemory::Full full, flow::Time wait);
http::Refusal refusal_of_draining();

}  // namespace penstock::proxy
