// SPDX-License-Identifier: Apache-2.0
// What exchanges share: the loop, names, connections, and what is allowed. Lives as long as the proxy runs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "access/verdict.h"
#include "base/sip_hash.h"
#include "flow/limiter.h"
#include "loop/loop.h"
#include "loop/resolver.h"
#include "penstock/config.h"
#include "penstock/event.h"
#include "proxy/exchange/upstream_pools.h"

namespace penstock::proxy {

/// Makes what keeps the limits of one upstream, known by this name in every process. `limits` outlive it, or its next
/// change; `events` does.
using MakeLimiter = std::function<std::unique_ptr<flow::Limiter>(
    const std::string& name, const std::vector<LimitConfig>& limits, flow::LimiterEvents& events)>;

/// Whether the booker of the one can take on the other's limits; otherwise another booker takes its place.
using FitsLimiter = std::function<bool(const std::vector<LimitConfig>& before, const std::vector<LimitConfig>& after)>;

class Authenticator;
class InterceptionService;

struct Services {
  loop::Loop& loop;
  loop::Resolver& resolver;
  UpstreamPools& connections;
  const access::Verdict& verdict;
  const Config& config;  ///< in force; changes in its place
  EventSink events;
  MakeLimiter make_limiter;
  FitsLimiter fits_limiter = {};           ///< nothing: any can
  Authenticator* authenticator = nullptr;  ///< nothing: all clients are let in
  const base::SipKey* labels = nullptr;    ///< see Grouping; what it refers to may change
  NoticeSink notices = [](const Notice&) {};
  InterceptionService* interceptor = nullptr;  ///< nothing: CONNECTs are tunnels, whatever `https` says
};

}  // namespace penstock::proxy
