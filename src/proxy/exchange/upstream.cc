// SPDX-License-Identifier: Apache-2.0
// See upstream.h.
#include "proxy/exchange/upstream.h"

#include <algorithm>
#include <utility>

namespace penstock::proxy {

namespace {
UpstreamSettings that_hold(UpstreamSettings settings) {
  settings.limits = limits_that_hold(settings.limits);
  return settings;
}
}  // namespace

Upstream::Upstream(const Services& services, std::string its_name, std::size_t its_entry,
                   const UpstreamSettings& its_settings, QueueEvents& events)
    : name(std::move(its_name)),
      entry(its_entry),
      settings(that_hold(its_settings)),
      connections(services.connections.of(settings.tls)),
      reach(services.loop, name, settings.breaker, queue_),
      services_(services),
      queue_(std::make_shared<UpstreamQueue>(services, name, its_settings, events)),
      routes_(routes_of(its_settings)) {
  groups_.change(services_, name, settings);
}

void Upstream::change(flow::Time now, const UpstreamSettings& its_settings, bool is_gone) {
  if (!is_gone) {
    connections = services_.connections.of(its_settings.tls);
    routes_ = routes_of(its_settings);
  }
  queue_->change(now, its_settings, is_gone);
  settings = that_hold(its_settings);
  groups_.change(services_, name, settings);
}

UpstreamSnapshot Upstream::snapshot(bool with_groups) const {
  const flow::Time now = services_.loop.now();
  UpstreamSnapshot shown{.name = name,
                         .entry = entry,
                         .unreachable = reach.lost(),
                         .next_try = Duration{std::max<flow::Time>(reach.next_try() - now, 0)},
                         .last_minute = last_minute.at(now),
                         .tunnels_only = totals.tunnels > 0 && totals.tunnels == totals.dispatched,
                         .totals = totals,
                         .handshakes = handshakes};
  queue_->show(shown, with_groups);
  if (reach.lost()) shown.pause.reset();
  groups_.label(shown);
  return shown;
}

}  // namespace penstock::proxy
