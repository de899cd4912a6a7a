// SPDX-License-Identifier: Apache-2.0
// The queue of one upstream request by request, as somebody sees it who looks at that upstream. Only for the
// dispatcher.
#pragma once

#include <vector>

#include "penstock/snapshot.h"
#include "proxy/dispatch/event_reporter.h"
#include "proxy/exchange/exchange_table.h"
#include "proxy/exchange/upstream.h"

namespace penstock::proxy {

/// Shows of each request what its event would.
UpstreamDetails details_of(const Upstream& upstream, const ExchangeTable& exchanges, EventReporter& reporter,
                           flow::Time now);

/// The queue of a quota knows how many wait and fly of all its upstreams. Of those of `all` that draw on one, or have
/// requests in a queue on which they drew before, their own are counted, which takes a walk along all exchanges.
/// `shown`: what they have shown of themselves.
void count_own(const std::vector<const Upstream*>& all, const ExchangeTable& exchanges, flow::Time now,
               std::vector<UpstreamSnapshot>& shown);

}  // namespace penstock::proxy
