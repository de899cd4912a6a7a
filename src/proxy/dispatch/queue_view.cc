// SPDX-License-Identifier: Apache-2.0
// See queue_view.h.
#include "proxy/dispatch/queue_view.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "proxy/exchange/upstream_view.h"

namespace penstock::proxy {

namespace {
constexpr std::size_t kMostShown = 20;

using Callers = std::vector<std::pair<std::string, std::size_t>>;

/// With a port each connection would be a caller of its own.
std::string_view address_of(std::string_view client) {
  if (client.starts_with('[')) return client.substr(1, client.find(']') - 1);
  const bool v6 = client.find(':') != client.rfind(':');
  return v6 ? client : client.substr(0, client.find(':'));
}

Callers callers_of(const Upstream& upstream, const ExchangeTable& exchanges, EventReporter& reporter) {
  std::unordered_map<std::string, std::size_t> pending;
  for (const auto number : exchanges.ids()) {
    const Exchange& exchange = *exchanges.find(number);
    if (exchange.upstream != &upstream || exchange.stage != Exchange::Stage::pending) continue;
    const Event event = reporter.describe(exchange, EventKind::dispatch);
    if (!event.client.empty()) ++pending[std::string(address_of(event.client))];
  }
  Callers callers(pending.begin(), pending.end());
  std::ranges::sort(callers, [](const auto& one, const auto& other) {
    return std::pair(other.second, one.first) < std::pair(one.second, other.first);
  });
  callers.resize(std::min(callers.size(), kMostShown));
  return callers;
}

WaitingRequest describe_waiting(const Exchange& exchange, EventReporter& reporter) {
  const Event event = reporter.describe(exchange, EventKind::dispatch);
  return {.id = std::string(event.id),
          .method = std::string(event.method),
          .host = std::string(event.host),
          .path = std::string(event.path),
          .group = std::string(event.group),
          .user = std::string(event.user),
          .client = std::string(event.client)};
}
}  // namespace

UpstreamDetails details_of(const Upstream& upstream, const ExchangeTable& exchanges, EventReporter& reporter,
                           flow::Time now) {
  UpstreamDetails details{.callers = callers_of(upstream, exchanges, reporter)};
  for (const auto& waiting : upstream.queue().scheduler().forecast().longest(now, kMostShown)) {
    const Exchange* exchange = exchanges.find(waiting.id);
    if (!exchange) continue;
    WaitingRequest shown = describe_waiting(*exchange, reporter);
    shown.since = Duration{now - waiting.arrived};
    shown.limited_by = upstream.limit_name(waiting.limited_by);
    shown.leaves_in = time_to(waiting.leaves, now);
    details.waiting.push_back(std::move(shown));
  }
  return details;
}

}  // namespace penstock::proxy
