// SPDX-License-Identifier: Apache-2.0
// The refusals of requests that get no place in the queue, or waited in vain. For the dispatcher.
#pragma once

#include <optional>

#include "flow/scheduler.h"
#include "http/refusal.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/pending_memory.h"
#include "proxy/exchange/upstream.h"

namespace penstock::proxy {

http::Refusal refusal_of(const flow::Commands::Refuse& command, const Upstream& upstream, const UpstreamQueue& queue,
                         flow::Time now);
/// For a request that may not wait for lack of memory; `wait` is the time until there may be some.
http::Refusal refusal_of(PendingMemory::Full full, flow::Time wait);
/// The refusal if a request with these terms may not cost `weight` units; nullopt: it may.
std::optional<http::Refusal> judge_weight(const Upstream& upstream, const RouteTerms& route, int weight);
http::Refusal refusal_of_draining();

}  // namespace penstock::proxy
