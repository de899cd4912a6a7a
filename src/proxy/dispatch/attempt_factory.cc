// SPDX-License-Identifier: Apache-2.0
// See attempt_factory.h.
#include "proxy/dispatch/attempt_factory.h"

#include "proxy/flight/http_flight.h"
#include "proxy/flight/permit_flight.h"
#include "proxy/flight/tunnel.h"
#include "proxy/flight/upgrade.h"

namespace penstock::proxy {

std::unique_ptr<Attempt> AttemptFactory::make(Exchange& exchange) {
  if (exchange.target.tunnel) return std::make_unique<Tunnel>(services_, events_, exchange, tunnels_);
  if (exchange.is_permit()) return std::make_unique<PermitFlight>(services_, events_, exchange);
  if (!exchange.head.upgrade.empty())
    return std::make_unique<Upgrade>(services_, events_, exchange, tunnels_, identities_);
  return std::make_unique<HttpFlight>(services_, events_, exchange);
}

}  // namespace penstock::proxy
