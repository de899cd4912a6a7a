// SPDX-License-Identifier: Apache-2.0
// Finds quotas that cannot be told apart, and upstreams that cannot draw on theirs.
#include <algorithm>
#include <set>
#include <string_view>

#include "config/checks.h"
#include "config/suggestion.h"
#include "penstock/quotas.h"

namespace penstock::config {

namespace {

/// Each quota is one queue, and has one name in Redis: so has each upstream that draws on none.
void check_name(Issues& issues, const Config& config, const QuotaConfig& quota, std::set<std::string_view>& names) {
  const auto& name = quota.name;
  const std::string path = "quotas." + name;
  if (!all_of(name, "_.-"))
    issues.push_back({path, "the name '" + name + "' of a quota may have only letters, digits and _.-"});
  if (!names.insert(name).second) issues.push_back({path, "there are two quotas named '" + name + "'"});
  const auto same = std::ranges::find(config.upstreams, name, &UpstreamConfig::name);
  if (same != config.upstreams.end() && same->quota != name)
    issues.push_back({path, path +
                                " has the name of an upstream that does not draw on it: in Redis both would be one; "
                                "give it another, or write quota: " +
                                name + " in upstreams." + name});
}

void check_limits_of_routes(Issues& issues, const Config& config, const QuotaConfig& quota) {
  const auto path = "quotas." + quota.name;
  if (!quota.settings.routes.empty()) issues.push_back({path, path + " has routes, which its upstreams have"});
  const auto in_all = settings_of_queue(config, quota).limits.size() - quota.settings.limits.size();
  if (in_all > kMostOfRoutes)
    issues.push_back({path, "the routes of all upstreams that draw on " + path + " have more than 64 limits"});
}

void check_unknown(Issues& issues, const Config& config, const std::string& path, const std::string& name) {
  if (config.quotas.empty())
    return add(issues, path, " is '" + name + "', but there is no quota at all; write quotas: { " + name + ": { … } }");
  std::vector<std::string_view> names;
  std::string all;
  for (const auto& quota : config.quotas) {
    names.emplace_back(quota.name);
    all += (all.empty() ? "" : ", ") + quota.name;
  }
  const auto meant = nearest(name, names);
  add(issues, path,
      ": there is no quota '" + name + "'" +
          (meant ? "; did you mean '" + std::string(*meant) + "'?" : "; there are: " + all));
}

/// Of a Config that was made in code: of a file the reader has complained already, where each key stands.
void check_own(Issues& issues, const std::string& path, const UpstreamConfig& upstream) {
  const auto& limits = upstream.settings.limits;
  const auto instead = ", and stands beside quota: " + upstream.quota + ", which decides it for all its upstreams";
  const auto own = std::ranges::find(limits, "", &LimitConfig::route);
  if (own != limits.end())
    issues.push_back({path + ".quota", "the limit '" + std::string(limit_name(*own)) + "' of " + path +
                                           " is of all its requests" + instead});
  if (!upstream.settings.redis.empty()) add(issues, path + ".redis", " is '" + upstream.settings.redis + "'" + instead);
}

}  // namespace

void check_quotas(Issues& issues, const Config& config) {
  std::set<std::string_view> names;
  for (const auto& quota : config.quotas) {
    check_name(issues, config, quota, names);
    check_limits_of_routes(issues, config, quota);
  }
  for (const auto& upstream : config.upstreams) {
    if (upstream.quota.empty()) continue;
    const std::string path = "upstreams." + upstream.name;
    if (!quota_of(config, upstream)) check_unknown(issues, config, path + ".quota", upstream.quota);
    check_own(issues, path, upstream);
  }
}

}  // namespace penstock::config
