// SPDX-License-Identifier: Apache-2.0
// What holds for upstreams that draw on a quota, and in the queue that they share. Plain values, no threads.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "penstock/config.h"

namespace penstock {

/// The quota that the upstream draws on; null: none.
inline const QuotaConfig* quota_of(const Config& config, const UpstreamConfig& upstream) {
  const auto named = std::ranges::find(config.quotas, upstream.quota, &QuotaConfig::name);
  return upstream.quota.empty() || named == config.quotas.end() ? nullptr : &*named;
}

/// What holds for an upstream: its settings, in which all that its quota decides is the quota's. Limits are those of
/// the quota, then those of its own routes.
inline UpstreamSettings effective_settings(const Config& config, const UpstreamConfig& upstream) {
  UpstreamSettings settings = upstream.settings;
  const auto* const quota = quota_of(config, upstream);
  if (!quota) return settings;
  const auto& of_all = quota->settings;
  settings.max_concurrent = of_all.max_concurrent;
  settings.max_tunnels = of_all.max_tunnels;
  settings.max_weight = of_all.max_weight;
  settings.queue = of_all.queue;
  settings.group = of_all.group;
  settings.obey = of_all.obey;
  settings.pause_on = of_all.pause_on;
  settings.pause_scope = of_all.pause_scope;
  settings.max_pause = of_all.max_pause;
  settings.learn = of_all.learn;
  settings.redis = of_all.redis;
  settings.cost = of_all.cost;
  settings.limits.insert(settings.limits.begin(), of_all.limits.begin(), of_all.limits.end());
  return settings;
}

/// What the names of an upstream's routes, and of their limits, begin with in the queue of its quota: two upstreams may
/// have routes of the same name.
inline std::string prefix_in_quota(const std::string& upstream) { return upstream + "/"; }

/// What holds in the queue of a quota: its settings, with the routes of all upstreams that draw on it, and their
/// limits, by their names there.
inline UpstreamSettings settings_of_queue(const Config& config, const QuotaConfig& quota) {
  UpstreamSettings all = quota.settings;
  for (const auto& upstream : config.upstreams) {
    if (upstream.quota != quota.name) continue;
    const auto prefix = prefix_in_quota(upstream.name);
    for (const auto& route : upstream.settings.routes) {
      all.routes.push_back(route);
      all.routes.back().name.insert(0, prefix);
    }
    for (LimitConfig limit : upstream.settings.limits) {
      limit.name = prefix + std::string(limit_name(limit));
      limit.route.insert(0, prefix);
      all.limits.push_back(std::move(limit));
    }
  }
  return all;
}

}  // namespace penstock
