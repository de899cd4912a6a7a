// SPDX-License-Identifier: Apache-2.0
// Says when a request would leave that came now: finds its upstream, route, weight and group as the dispatcher would,
// and rehearses its departure. Accepts nothing and spends nothing. Only for the dispatcher.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "http/refusal.h"
#include "penstock/ahead.h"
#include "proxy/dispatch/admission.h"
#include "proxy/dispatch/upstreams.h"
#include "proxy/exchange/services.h"

namespace penstock::proxy {

struct Foresight {
  Ahead ahead;
  std::string limiter;  ///< its name as in LimiterOf: the upstream's, or its quota's
};

enum class Foresee : std::uint8_t {
  limiter,    ///< only whose limits count, which takes microseconds
  departure,  ///< the rehearsal too, which takes milliseconds
};

/// The error is the refusal that the request would get, whatever waits.
std::expected<Foresight, http::Refusal> foresee(const Services& services, const Admission& admission,
                                                Upstreams& upstreams, const AheadQuery& query, Foresee what);

}  // namespace penstock::proxy
