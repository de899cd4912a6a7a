// SPDX-License-Identifier: Apache-2.0
// The judgements in their order: the target first, for events name it; then what the request says of itself; then where
// it would go.
#include "proxy/admission.h"

#include <algorithm>
#include <string>
#include <utility>

namespace penstock::proxy {

namespace {
http::Refusal refusal(http::Why why, std::string details) { return {.why = why, .details = std::move(details)}; }
}  // namespace

std::expected<Admission::Admitted, http::Refusal> Admission::judge(Exchange& exchange) const {
  const auto& head = exchange.head;
  auto target = http::parse_target(head.method, head.target);
  if (!target) return std::unexpected(std::move(target.error()));
  exchange.target = std::move(*target);
  if (auto unmet = http::check_expectation(head)) return std::unexpected(*unmet);
  if (http::via_names(head.fields, services_.config.proxy.via)) {
    return std::unexpected(refusal(http::Why::loop, "this request has been here before (Via)"));
  }
  if (auto answer = http::answer_here(head)) return std::unexpected(*answer);
  if (auto forbidden = judge_port(exchange.target)) return std::unexpected(*forbidden);
  auto steering = http::read_steering(head.fields);
  if (!steering) return std::unexpected(std::move(steering.error()));
  if (auto forbidden = judge_address(exchange.target)) return std::unexpected(*forbidden);
  const Route route = router_.route(exchange.target);
  if (!route.denied) return Admitted{route.entry, *steering};
  return std::unexpected(
      refusal(http::Why::destination_unnamed, "no upstream is configured for " + exchange.target.host));
}

std::optional<http::Refusal> Admission::judge_port(const http::Target& target) const {
  if (!target.tunnel || std::ranges::count(services_.config.access.connect_ports, target.port) > 0) return std::nullopt;
  return refusal(http::Why::port_denied,
                 "CONNECT to port " + std::to_string(target.port) + " is not allowed (access.connectPorts)");
}

std::optional<http::Refusal> Admission::judge_address(const http::Target& target) const {
  if (!target.literal) return std::nullopt;  // a name is judged by the addresses that it has at take-off
  const auto address = access::parse_address(target.host);
  if (!address) return refusal(http::Why::malformed, "not an address: " + target.host);
  switch (services_.verdict.destination(*address, target.port)) {
    case access::Destination::allowed: return std::nullopt;
    case access::Destination::own: return refusal(http::Why::loop, target.authority() + " is this proxy itself");
    case access::Destination::denied: break;
  }
  return refusal(http::Why::destination_denied, target.host + " may not be dialled (access.allow)");
}

}  // namespace penstock::proxy
