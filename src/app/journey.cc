// SPDX-License-Identifier: Apache-2.0
// See journey.h.
#include "app/journey.h"

#include <algorithm>

#include "access/verdict.h"

namespace penstock::app {

namespace {

constexpr std::string_view kGateway = "/@";

/// `/@NAME/rest`, cut in two.
struct Gateway {
  std::string name, rest;
};

Gateway gateway_in(std::string_view resource) {
  resource.remove_prefix(kGateway.size());
  const auto end = std::min(resource.find_first_of("/?"), resource.size());
  return {std::string(resource.substr(0, end)), std::string(resource.substr(end))};
}

std::size_t entry_named(const Config& config, const std::string& name) {
  const auto found = std::ranges::find(config.upstreams, name, &UpstreamConfig::name);
  const bool open = found != config.upstreams.end() && found->base_url;
  return open ? static_cast<std::size_t>(found - config.upstreams.begin()) + 1 : 0;
}

/// Where `rest` goes, judged as the URL that it is.
std::expected<http::Target, http::Refusal> below(const BaseUrl& base, const std::string& rest) {
  return http::parse_target("GET", to_string(base) + rest);
}

std::expected<Journey, http::Refusal> through(const Config& config, const Gateway& gateway) {
  const auto entry = entry_named(config, gateway.name);
  if (entry == 0) return Journey{.way = Journey::Way::nowhere, .name = gateway.name};
  auto target = below(*config.upstreams[entry - 1].base_url, gateway.rest);
  if (!target) return std::unexpected(std::move(target.error()));
  return Journey{.way = Journey::Way::gateway,
                 .asked = *target,
                 .dialled = *target,
                 .route = {.entry = entry},
                 .name = gateway.name};
}

/// Whether a request for it comes to the proxy itself: by address, or by a name that nothing else claims.
bool is_proxy(const Config& config, const proxy::Router& router, const http::Target& target) {
  if (target.port != config.proxy.listen.port) return false;
  const auto address = target.literal ? access::parse_address(target.host) : std::nullopt;
  if (address) {
    const access::Verdict verdict{config.access, {config.proxy.listen}};
    return verdict.destination(*address, target.port) == access::Destination::own;
  }
  const bool claimed = router.route(target).pattern != nullptr;
  return target.host == "localhost" || (!claimed && entry_named(config, gateway_in(target.resource).name) != 0);
}

http::Target secured(http::Target target) {
  target.scheme = "https";
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
  if (url.starts_with(kGateway)) return through(config, gateway_in(url));
  auto target = http::parse_target("GET", url);
  if (!target) return std::unexpected(std::move(target.error()));
  const bool gateway = !target->secure() && target->resource.starts_with(kGateway) && is_proxy(config, router, *target);
  if (gateway) return through(config, gateway_in(target->resource));
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
