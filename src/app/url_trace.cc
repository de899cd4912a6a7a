// SPDX-License-Identifier: Apache-2.0
// See url_trace.h.
#include "app/url_trace.h"

#include "access/verdict.h"
#include "app/reserved_endpoints.h"
#include "http/gateway_rewrite.h"
#include "http/permits.h"
#include "proxy/route/gateways.h"

namespace penstock::app {

namespace {

std::expected<UrlTrace, http::Refusal> through(const proxy::Gateways& gateways, const http::GatewayForm& form) {
  const auto* gateway = gateways.find(form.name);
  if (!gateway) return std::unexpected(gateways.unknown());
  const proxy::Route route{.entry = gateway->entry};
  if (gateway->upstream->permits) {
    const auto permit = http::permit_target({.method = "GET"}, form);
    if (!permit) return std::unexpected(permit.error());
    return UrlTrace{.way = UrlTrace::Way::permit, .asked = *permit, .dialled = *permit, .route = route};
  }
  auto target = http::behind_gateway(*gateway->upstream, form.rest);
  if (!target) return std::unexpected(std::move(target.error()));
  return UrlTrace{.way = UrlTrace::Way::gateway, .asked = *target, .dialled = *target, .route = route};
}

/// Whether a request for it comes to the proxy itself: by address, or, if the gateway is known, by a name that nothing
/// else claims.
bool is_proxy(const Config& config, const proxy::Router& router, const http::Target& target, bool known) {
  if (target.secure() || target.port != config.proxy.listen.port) return false;
  const auto address = target.literal ? access::parse_address(target.host) : std::nullopt;
  if (address) {
    const access::Verdict verdict{config, {config.proxy.listen}, {}, addresses_here()};
    return verdict.destination(*address, target.port) == access::Destination::own;
  }
  return target.host == "localhost" || (known && !router.route(target).pattern);
}

http::Target secured(http::Target target) {
  target.scheme = "https";
  target.front = http::Target::Front::originated;
  if (target.port == 80) target.port = 443;
  return target;
}

/// For an https URL an application asks only for its host and port.
http::Target tunnel_to(const http::Target& target) {
  return {.host = target.host, .port = target.port, .literal = target.literal, .tunnel = true};
}

UrlTrace by_connect(const proxy::Router& router, const http::Target& target) {
  auto outside = tunnel_to(target);
  const bool opened = router.intercepting_entry(outside) != 0;
  const auto& asked = opened ? target : outside;
  return {.way = opened ? UrlTrace::Way::opened : UrlTrace::Way::tunnel,
          .asked = asked,
          .dialled = asked,
          .route = router.route(asked),
          .connect_opened = opened};
}

UrlTrace in_the_clear(const Config& config, const proxy::Router& router, const http::Target& target) {
  const auto route = router.route(target);
  const auto& settings = route.entry == 0 ? config.unmatched : config.upstreams[route.entry - 1].settings;
  const bool originates = settings.https == Https::originate;
  return {.way = originates ? UrlTrace::Way::secured : UrlTrace::Way::plain,
          .asked = target,
          .dialled = originates ? secured(target) : target,
          .route = route,
          .connect_opened = router.intercepting_entry(tunnel_to(target)) != 0};
}

}  // namespace

std::expected<UrlTrace, http::Refusal> trace_of(const Config& config, const proxy::Router& router,
                                                const std::string& url) {
  const proxy::Gateways gateways{config};
  if (const auto form = http::gateway_form(url)) return through(gateways, *form);
  auto target = http::parse_target("GET", url);
  if (!target) return std::unexpected(std::move(target.error()));
  const auto form = http::gateway_form(target->resource);
  const bool ours = form && !gateways.empty() && is_proxy(config, router, *target, gateways.find(form->name));
  if (ours) return through(gateways, *form);
  return target->secure() ? by_connect(router, *target) : in_the_clear(config, router, *target);
}

}  // namespace penstock::app
