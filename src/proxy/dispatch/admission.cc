// SPDX-License-Identifier: Apache-2.0
// The checks in their order: the target first, because events name it; then the message itself; then the ports, hosts
// and addresses that the request would go to.
#include "proxy/dispatch/admission.h"

#include <algorithm>
#include <string>
#include <utility>

#include "http/browser_guard.h"
#include "http/permits.h"

namespace penstock::proxy {

namespace {
http::Refusal refusal(http::Reason why, std::string details) { return {.why = why, .details = std::move(details)}; }

std::expected<http::RequestHints, http::Refusal> steering_of(const http::RequestHead& head, bool counts) {
  return counts ? http::read_hints(head.fields) : http::RequestHints{};
}

/// False without a Host field, which HTTP/1.0 may omit.
bool names_another(const http::RequestHead& head, const http::Target& target) {
  const auto host = head.fields.find("host");
  return host && !http::is_host_of(target, *host);
}
}  // namespace

std::expected<Admission::Admitted, http::Refusal> Admission::judge(const http::RequestHead& head,
                                                                   const http::Target* outside, http::Target& target,
                                                                   const Asker& asker) const {
  const auto route = locate(head, outside, target, asker.tunnels);
  if (!route) return std::unexpected(route.error());
  if (auto wrong = judge_message(head)) return std::unexpected(*std::move(wrong));
  if (auto forbidden = judge_port(target)) return std::unexpected(*std::move(forbidden));
  auto hints = steering_of(head, asker.gives_hints);
  if (!hints) return std::unexpected(std::move(hints.error()));
  const bool dials = target.permit == http::Target::Permit::none;
  if (auto forbidden = dials ? judge_address(target) : std::nullopt) return std::unexpected(*std::move(forbidden));
  if (!route->denied) return Admitted{route->entry, *hints};
  return std::unexpected(refusal(http::Reason::destination_unnamed, "no upstream is configured for " + target.host));
}

/// Finds the entry by the name of a gateway, or else by the target that the client asked for, before it is rewritten.
std::expected<Route, http::Refusal> Admission::locate(const http::RequestHead& head, const http::Target* outside,
                                                      http::Target& target, Tunnels tunnels) const {
  if (!outside && head.method != "CONNECT") {
    if (const auto form = http::gateway_form(head.target)) {
      // For the event, if the gateway is unknown. The fragment is the client's own affair.
      target.resource = head.target.substr(0, head.target.find('#'));
      return enter_gateway(head, *form, target);
    }
  }
  auto asked = outside ? http::parse_target_inside(*outside, head.method, head.target)
                       : http::parse_target(head.method, head.target);
  if (!asked) return std::unexpected(std::move(asked.error()));
  target = *std::move(asked);
  if (outside && outside->secure() && names_another(head, target)) {
    return std::unexpected(refusal(http::Reason::misdirected,
                                   "this connection is for " + outside->authority() + ", and Host names another"));
  }
  if (const auto form = http::gateway_form(target.resource); form && asks_for_gateway(target, *form))
    return enter_gateway(head, *form, target);
  Route route = tables_->router.route(target);
  // The host is named with paths only.
  if (tunnels == Tunnels::of_intercepting_entry && target.tunnel && !route.pattern) {
    if (const auto entry = intercepting_entry(target); entry != 0) route = {.entry = entry};
  }
  originate(target, route);
  return route;
}

std::expected<Route, http::Refusal> Admission::enter_gateway(const http::RequestHead& head,
                                                             const http::GatewayForm& form,
                                                             http::Target& target) const {
  if (auto denied = judge_page(head)) return std::unexpected(*std::move(denied));
  const Gateway* gateway = tables_->gateways.find(form.name);
  if (!gateway) return std::unexpected(tables_->gateways.unknown());
  if (gateway->upstream->permits) {
    auto permit = http::permit_target(head, form);
    if (!permit) return std::unexpected(std::move(permit.error()));
    target = *std::move(permit);
    return Route{.entry = gateway->entry};
  }
  if (http::wants_permit(head.fields)) {
    return std::unexpected(refusal(http::Reason::gateway_unknown, "no permits of " + gateway->upstream->name +
                                                                      ": it has a baseUrl, and leads to a host"));
  }
  auto behind = http::behind_gateway(*gateway->upstream, form.rest);
  if (!behind) return std::unexpected(std::move(behind.error()));
  if (form.escaped) behind->front = http::Target::Front::escaped_gateway;
  behind->gateway_host = head.fields.find("host").value_or("");
  target = *std::move(behind);  // only now: `form` may be a view into it
  return Route{.entry = gateway->entry};
}

/// A host name that no upstream names may be this proxy's, if the port is; a known gateway's name then decides.
bool Admission::asks_for_gateway(const http::Target& target, const http::GatewayForm& form) const {
  if (target.secure() || !leads_here(target)) return false;
  return target.literal || target.host == "localhost" || tables_->gateways.find(form.name);
}

bool Admission::leads_here(const http::Target& target) const {
  if (tables_->gateways.empty()) return false;
  const auto is_ours = [&](const access::Address& address) {
    return services_.verdict.destination(address, target.port) == access::Destination::own;
  };
  if (target.literal) {
    const auto address = access::parse_address(target.host);
    return address && is_ours(*address);
  }
  if (!is_ours(access::Address{})) return false;  // 0.0.0.0 matches every listener: asks only whether the port is ours
  return target.host == "localhost" || !tables_->router.route(target).pattern;
}

const UpstreamSettings& Admission::settings_of(const Route& route) const {
  const auto& config = services_.config;
  return route.entry > 0 ? config.upstreams[route.entry - 1].settings : config.unmatched;
}

void Admission::originate(http::Target& target, const Route& route) const {
  if (settings_of(route).https != Https::originate || target.tunnel || target.secure()) return;
  target.scheme = "https";
  if (target.port == 80) target.port = 443;
  target.front = http::Target::Front::originated;
  if (route.pattern) target.originated_below = route.pattern->path;
}

std::optional<Admission::Opening> Admission::opening(const http::RequestHead& head, bool gives_hints) const {
  auto outside = http::parse_target(head.method, head.target);
  if (!outside || !outside->tunnel || judge_message(head) || !steering_of(head, gives_hints)) return std::nullopt;
  if (leads_here(*outside)) return Opening{.outside = *std::move(outside)};
  const bool intercepted = services_.interception && intercepting_entry(*outside) != 0;
  const bool plain = std::ranges::count(services_.config.access.plain_ports, outside->port) > 0;
  if (!intercepted && !plain) return std::nullopt;
  // Each request inside is judged by itself.
  if (http::Target ignored;
      !judge(head, nullptr, ignored, {.gives_hints = gives_hints, .tunnels = Tunnels::of_intercepting_entry}))
    return std::nullopt;
  const bool silent = !intercepted && settings_of(tables_->router.route(*outside)).https != Https::originate;
  return Opening{.outside = *std::move(outside), .intercepted = intercepted, .may_be_silent = silent};
}

/// For gateways and permits only: any page in a browser on this machine can send requests to them, but none can ask a
/// proxy.
std::optional<http::Refusal> Admission::judge_page(const http::RequestHead& head) const {
  if (http::comes_from_other_page(head.fields))
    return refusal(http::Reason::page_denied,
                   "gateways and permits are not for pages in browsers (Origin, Sec-Fetch-Site)");
  if (http::is_our_host(head.fields, services_.config.proxy.names)) return std::nullopt;
  return refusal(http::Reason::page_denied,
                 "Host is a name that any page in a browser could have; if it is this proxy's, say so in proxy.names");
}

/// Judges Expect, Via and Max-Forwards.
std::optional<http::Refusal> Admission::judge_message(const http::RequestHead& head) const {
  if (auto unmet = http::check_expectation(head)) return unmet;
  if (http::via_names(head.fields, services_.config.proxy.via)) {
    return refusal(http::Reason::loop, "this request has been here before (Via)");
  }
  return http::answer_here(head);
}

std::optional<http::Refusal> Admission::judge_port(const http::Target& target) const {
  if (!target.tunnel || may_connect(services_.config.access, target.port)) return std::nullopt;
  return refusal(http::Reason::port_denied,
                 "CONNECT to port " + std::to_string(target.port) + " is not allowed (access.connectPorts)");
}

std::optional<http::Refusal> Admission::judge_address(const http::Target& target) const {
  if (!target.literal) return judge_name(target);
  const auto address = access::parse_address(target.host);
  if (!address) return refusal(http::Reason::malformed, "not an address: " + target.host);
  switch (services_.verdict.destination(*address, target.port, target.host)) {
    case access::Destination::allowed: return std::nullopt;
    case access::Destination::own: return refusal(http::Reason::loop, target.authority() + " is this proxy itself");
    case access::Destination::denied: break;
  }
  return refusal(http::Reason::destination_denied, target.host + " may not be dialled (access.allow)");
}

/// Judges the name only; its addresses are judged at take-off, when they are known.
std::optional<http::Refusal> Admission::judge_name(const http::Target& target) const {
  if (!services_.verdict.denies(target.host, target.port)) return std::nullopt;
  return refusal(http::Reason::destination_denied, target.host + " may not be asked for (access.deny)");
}

}  // namespace penstock::proxy
