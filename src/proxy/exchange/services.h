// SPDX-License-Identifier: Apache-2.0
// What all exchanges share: the loop, the resolver, the upstream pools, the access rules, the configuration. Lives as
// long as the proxy runs.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "access/verdict.h"
#include "base/sip_hash.h"
#include "flow/group_hash.h"
#include "flow/limiter.h"
#include "loop/loop.h"
#include "loop/resolver.h"
#include "penstock/config.h"
#include "penstock/event.h"
#include "proxy/exchange/upstream_pools.h"

namespace penstock::proxy {

/// Makes the limiter of one upstream; all processes know the upstream by `name`. `limits` must stay valid until the
/// limiter's next change, or its end; `events` until its end.
using MakeLimiter = std::function<std::unique_ptr<flow::Limiter>(
    const std::string& name, const std::vector<LimitConfig>& limits, flow::LimiterEvents& events)>;

/// Whether a limiter for the limits `before` can change to those of `after`; otherwise it is replaced.
using FitsLimiter = std::function<bool(const std::vector<LimitConfig>& before, const std::vector<LimitConfig>& after)>;

class Authenticator;
class InterceptionService;

struct Services {
  loop::Loop& loop;
  loop::Resolver& resolver;
  UpstreamPools& connections;
  const access::Verdict& verdict;
  const Config& config;  ///< in force; changes in place
  EventSink events;
  MakeLimiter make_limiter;
  FitsLimiter fits_limiter = {};           ///< empty: any limiter can
  Authenticator* authenticator = nullptr;  ///< null: all clients are let in
  const base::SipKey* labels = nullptr;    ///< see Grouping; the key may change
  NoticeSink notices = [](const Notice&) {};
  InterceptionService* interception = nullptr;  ///< null: CONNECTs are tunnels, whatever `https` says
};

/// How the upstream's groups, and owners of credentials, are called in every process.
inline flow::GroupHash group_hash(const Services& services, std::string_view upstream) {
  const auto& redis = services.config.redis;
  return redis ? flow::GroupHash(redis->prefix, upstream, redis->secret) : flow::GroupHash("", upstream);
}

}  // namespace penstock::proxy
