// SPDX-License-Identifier: Apache-2.0
// See upstream.h.
#include "proxy/exchange/upstream.h"

#include <algorithm>
#include <utility>

#include "penstock/quotas.h"

namespace penstock::proxy {

namespace {
std::string prefix_of(const std::string& upstream, const UpstreamQueue& queue) {
  return queue.is_of_quota ? prefix_in_quota(upstream) : std::string();
}

UpstreamSettings that_hold(UpstreamSettings settings) {
  settings.limits = limits_that_hold(settings.limits);
  return settings;
}
}  // namespace

Upstream::Upstream(const Services& services, std::string its_name, std::size_t its_entry,
                   const UpstreamSettings& its_settings, Queue its_queue)
    : name(std::move(its_name)),
      entry(its_entry),
      settings(that_hold(its_settings)),
      connections(services.connections.of(settings.tls)),
      reach(services.loop, name, settings.breaker, queue_),
      services_(services),
      queue_(std::move(its_queue)),
      prefix_(prefix_of(name, *queue_)),
      routes_(routes_of(its_settings, prefix_)) {
  groups_.change(services_, queue_->name, settings, body_terms_of(its_settings));
}

void Upstream::change(const UpstreamSettings& its_settings, Queue its_queue) {
  queue_ = std::move(its_queue);
  prefix_ = prefix_of(name, *queue_);
  connections = services_.connections.of(its_settings.tls);
  routes_ = routes_of(its_settings, prefix_);
  settings = that_hold(its_settings);
  groups_.change(services_, queue_->name, settings, body_terms_of(its_settings));
}

/// Of the limits of routes only its own.
void Upstream::show_own(std::vector<LimitSnapshot>& limits) const {
  std::erase_if(limits,
                [&](const LimitSnapshot& limit) { return !limit.route.empty() && !limit.route.starts_with(prefix_); });
  for (LimitSnapshot& limit : limits) {
    limit.name = own_name(limit.name);
    limit.route = own_name(limit.route);
  }
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
  if (queue_->is_of_quota) {
    shown.quota = queue_->name;
    shown.pending_in_quota = shown.pending;
    show_own(shown.limits);
    for (GroupSnapshot& group : shown.groups) show_own(group.limits);
    if (shown.head) shown.head->limited_by = own_name(shown.head->limited_by);
  } else if (reach.lost()) {
    shown.pause.reset();
  }
  groups_.label(shown);
  return shown;
}

}  // namespace penstock::proxy
