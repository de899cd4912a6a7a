// SPDX-License-Identifier: Apache-2.0
// The queue of one upstream request by request, as somebody sees it who looks at that upstream. Only for the
// dispatcher.
#pragma once

#include "penstock/snapshot.h"
#include "proxy/dispatch/event_reporter.h"
#include "proxy/exchange/exchange_table.h"
#include "proxy/exchange/upstream.h"

namespace penstock::proxy {

/// Shows of each request what its event would.
UpstreamDetails details_of(const Upstream& upstream, const ExchangeTable& exchanges, EventReporter& reporter,
                           flow::Time now);

}  // namespace penstock::proxy
