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

void count_one(const Exchange& exchange, flow::Time now, UpstreamSnapshot& into) {
  if (exchange.load.reads_body()) return;  // it is in no queue yet
  if (exchange.stage == Exchange::Stage::pending || exchange.sendings.back_since != 0) {
    ++into.pending;
    into.oldest_wait = std::max(into.oldest_wait, Duration{now - exchange.arrived});
  } else if (exchange.rests) {
    ++into.resting_tunnels;
  } else {
    ++into.in_flight;
    into.busy_tunnels += exchange.may_rest() ? 1 : 0;
  }
}
}  // namespace

UpstreamDetails details_of(const Upstream& upstream, const ExchangeTable& exchanges, EventReporter& reporter,
                           flow::Time now) {
  UpstreamDetails details{.callers = callers_of(upstream, exchanges, reporter)};
  const auto& scheduler = upstream.queue().scheduler();
  const auto most = upstream.queue().is_of_quota ? scheduler.pending() : kMostShown;  // of which some are others'
  for (const auto& waiting : scheduler.forecast().longest(now, most)) {
    const Exchange* exchange = exchanges.find(waiting.id);
    if (!exchange || exchange->upstream != &upstream) continue;
    if (details.waiting.size() == kMostShown) break;
    WaitingRequest shown = describe_waiting(*exchange, reporter);
    shown.since = Duration{now - waiting.arrived};
    shown.limited_by = upstream.own_name(name_of_limit(upstream.queue().settings, waiting.limited_by));
    shown.leaves_in = time_to(waiting.leaves, now);
    details.waiting.push_back(std::move(shown));
  }
  return details;
}

void count_own(const std::vector<const Upstream*>& all, const ExchangeTable& exchanges, flow::Time now,
               std::vector<UpstreamSnapshot>& shown) {
  std::unordered_map<const Upstream*, UpstreamSnapshot*> counted;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t in_queue = shown[i].pending + shown[i].in_flight + shown[i].resting_tunnels;
    if (all[i]->queue().is_of_quota || all[i]->exchanges > in_queue) counted[all[i]] = &shown[i];
  }
  if (counted.empty()) return;
  for (const auto& [upstream, into] : counted) {
    into->pending = into->in_flight = into->busy_tunnels = into->resting_tunnels = 0;
    into->oldest_wait = Duration{0};
  }
  for (const auto number : exchanges.ids()) {
    const Exchange& exchange = *exchanges.find(number);
    if (const auto found = counted.find(exchange.upstream); found != counted.end())
      count_one(exchange, now, *found->second);
  }
  for (const auto& [upstream, into] : counted) {
    if (into->pending == 0) into->head.reset();
  }
}

}  // namespace penstock::proxy
