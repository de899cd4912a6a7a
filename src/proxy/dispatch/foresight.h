// SPDX-License-Identifier: Apache-2.0
// Says when a request would leave that came now: finds its upstream, route, weight and group as the dispatcher would,
// and rehearses its departure. Accepts nothing and spends nothing. Only for the dispatcher.
#pragma once

#include <expected>

#include "http/refusal.h"
#include "penstock/ahead.h"
#include "proxy/dispatch/admission.h"
#include "proxy/dispatch/upstreams.h"
#include "proxy/exchange/services.h"

namespace penstock::proxy {

/// The error is the refusal that the request would get, whatever waits.
std::expected<Ahead, http::Refusal> foresee(const Services& services, const Admission& admission, Upstreams& upstreams,
                                            const AheadQuery& query);

}  // namespace penstock::proxy
