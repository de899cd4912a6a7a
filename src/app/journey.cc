// SPDX-License-Identifier: Apache-2.0
// See journey.h.
#include "app/journey.h"

#include "access/verdict.h"
#include "http/front.h"
#include "proxy/gateways.h"

namespace penstock::app {

namespace {

std::expected<Journey, http::Refusal> through(const proxy::Gateways& gateways, const http::GatewayForm& form) {
  const auto* gateway = gateways.find(form.name);
  if (!gateway) return std::unexpected(gateways.unknown());
  auto target = http::behind_gateway(*gateway->upstream, form.rest);
  if (!target) return std::unexpected(std::move(target.error()));
  return Journey{
      .way = Journey::Way::gateway, .asked = *target, .dialled = *target, .route = {.entry = gateway->entry}};
}

/// Whether a request for it comes to the proxy itself: by address, or, where the gateway is known, by a name that
/// nothing else claims.
bool is_proxy(const Config& config, const proxy::Router& router, const http::Target& target, bool known) {
  if (target.secure() || target.port != config.proxy.listen.port) return false;
  const auto address = target.literal ? access::parse_address(target.host) : std::nullopt;
  if (address) {
    const access::Verdict verdict{config.access, {config.proxy.listen}};
    return verdict.destination(*address, target.port) == access::Destination::own;
  }
  return target.host == "localhost" || (known && !router.route(target).pattern);
}

http::Target secured(http::Target target) {
  target.scheme = "https";
  target.originated = true;
  if (target.port == 80) target.port = 443;
  return target;
}

/// Of an https URL an application asks for its host and port alone.
http::Target tunnel_to(const http::Target& target) {
  return {.host = target.host, .port = target.port, .literal = target.literal, .tunnel = true};
}

}  // namespace

std::expected<Journey, http::Refusal> journey_of(const Config& config, const proxy::Router& router,
                                                 const std::string& url) {
  const proxy::Gateways gateways{config};
  if (const auto form = http::gateway_form(url)) return through(gateways, *form);
  auto target = http::parse_target("GET", url);
  if (!target) return std::unexpected(std::move(target.error()));
  const auto form = http::gateway_form(target->resource);
  const bool ours = form && !gateways.empty() && is_proxy(config, router, *target, gateways.find(form->name));
  if (ours) return through(gateways, *form);
  Journey journey{.asked = target->secure() ? tunnel_to(*target) : *target};
  journey.route = router.route(journey.asked);
  const auto entry = journey.route.entry;
  const auto https = entry == 0 ? config.unmatched.https : config.upstreams[entry - 1].settings.https;
  const bool originates = !journey.asked.tunnel && https == Https::originate;
  journey.way = journey.asked.tunnel ? Journey::Way::tunnel : originates ? Journey::Way::secured : Journey::Way::plain;
  journey.dialled = originates ? secured(journey.asked) : journey.asked;
  return journey;
}

}  // namespace penstock::app
