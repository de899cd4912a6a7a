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

/// What a limiter is for.
struct LimiterOf {
  const std::string& upstream;             ///< all processes know it by this name, or by that of its quota
  const UpstreamSettings& settings;        ///< in force
  const std::vector<LimitConfig>& limits;  ///< of these settings
};

/// Makes the limiter of one upstream. `of.limits` must stay valid until the limiter's next change, or its end; `events`
/// until its end. It takes the place of `former`, if there is one, and goes on from what that remembers: departures
/// that it granted count.
using MakeLimiter = std::function<std::unique_ptr<flow::Limiter>(const LimiterOf& of, flow::LimiterEvents& events,
                                                                 std::unique_ptr<flow::Limiter> former)>;

/// Whether this limiter can change to these limits; otherwise it is replaced.
using FitsLimiter = std::function<bool(const flow::Limiter& limiter, const LimiterOf& of)>;

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
  const base::SipKey* labels = nullptr;    ///< see Grouping; the key may change. Not used where Redis has a secret
  NoticeSink notices = [](const Notice&) {};
  InterceptionService* interception = nullptr;  ///< null: CONNECTs are tunnels, whatever `https` says
};

/// How the upstream's groups, and owners of credentials, are called in every process.
inline flow::GroupHash group_hash(const Services& services, std::string_view upstream,
                                  const UpstreamSettings& settings) {
  const auto* const redis = redis_of(services.config, settings);
  return redis ? flow::GroupHash(redis->prefix, upstream, redis->secret) : flow::GroupHash("", upstream);
}

}  // namespace penstock::proxy
