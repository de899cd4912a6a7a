// SPDX-License-Identifier: Apache-2.0
// Mostly about https, which goes through tunnels by default: what is inside a tunnel is not seen.
#include "config/warnings.h"

#include <algorithm>
#include <utility>

#include "config/checks.h"
#include "config/route_match.h"
#include "penstock/quotas.h"

namespace penstock::config {

namespace {

constexpr const char* kInstead = "; see https: originate, https: intercept and baseUrl";

/// Collects the warnings of one upstream, each with the path that it is about.
class Warnings {
 public:
  Warnings(std::vector<Issue>& all, const std::string& upstream) : all_(all), path_("upstreams." + upstream) {}

  void add(const std::string& key, const std::string& what) {
    all_.push_back({.path = path_ + key, .message = "warning: " + path_ + ": " + what});
  }

 private:
  std::vector<Issue>& all_;
  const std::string path_;
};

bool may_be_https(const Match& pattern) { return pattern.port != 80; }

void warn_of_group(Warnings& warnings, const std::optional<GroupRule>& group) {
  if (!group || group->by == GroupRule::By::host) return;
  warnings.add(".group",
               "https:// goes through tunnels, which show neither path nor fields: they are all in group '-' of " +
                   to_string(*group) + kInstead);
}

void warn_of_limits(Warnings& warnings, const UpstreamSettings& settings) {
  if (settings.limits.empty()) return;
  warnings.add("",
               "https:// goes through tunnels, and limits count these here, not requests: a client that keeps its "
               "connection sends any number of requests through one. https: intercept or https: originate governs "
               "each request; https: tunnel says that tunnels are meant");
}

void warn_of_paths(Warnings& warnings, const UpstreamConfig& upstream) {
  for (const auto& pattern : upstream.match) {
    if (pattern.path.empty() || !may_be_https(pattern)) continue;
    warnings.add(".match", "https:// goes through tunnels, which show no path: " + to_string(pattern) +
                               " is for http:// only" + kInstead);
  }
}

/// Of the routes with limits that fit a request, the first one's count.
void warn_of_routes(Warnings& warnings, const UpstreamSettings& settings) {
  const auto& routes = settings.routes;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    const auto hides = [&](const RouteConfig& earlier) {
      return has_limits(settings, earlier.name) && covers(earlier.match, routes[i].match);
    };
    const auto place = ".routes[" + std::to_string(i) + "]";
    const auto end = routes.begin() + static_cast<std::ptrdiff_t>(i);
    const auto earlier = std::find_if(routes.begin(), end, hides);
    if (has_limits(settings, routes[i].name) && earlier != end)
      warnings.add(place, "the limits of the route " + routes[i].name + " never count, for " + earlier->name +
                              " fits all its requests, and stands before it");
  }
}

void warn_of_routes_in_tunnels(Warnings& warnings, const UpstreamSettings& settings) {
  if (settings.routes.empty()) return;
  warnings.add(".routes", "https:// goes through tunnels, which have no route" + std::string(kInstead));
}

/// Warns of rules that do not apply to https, as it goes through tunnels.
void warn_of_tunnels(Warnings& warnings, const UpstreamConfig& upstream) {
  warn_of_paths(warnings, upstream);
  // A tunnel shows no path, so it never belongs to a pattern with one.
  const bool has_tunnels =
      std::ranges::any_of(upstream.match, [](const Match& m) { return m.path.empty() && may_be_https(m); });
  if (!has_tunnels) return;
  warn_of_limits(warnings, upstream.settings);
  warn_of_group(warnings, upstream.settings.group);
  warn_of_routes_in_tunnels(warnings, upstream.settings);
}

/// A pattern is compared with the URL that the application calls, where http:// means port 80.
void warn_of_port(Warnings& warnings, const UpstreamConfig& upstream) {
  for (const auto& pattern : upstream.match) {
    if (pattern.port != 443) continue;
    Match without = pattern;
    without.port.reset();
    warnings.add(".match", to_string(pattern) + " does not fit http://" + to_string(without) +
                               ", whose port becomes 443 only behind it; write " + to_string(without));
  }
}

/// Only a CONNECT can be intercepted, and only to an allowed port.
void warn_of_closed_ports(Warnings& warnings, const UpstreamConfig& upstream, const AccessConfig& access) {
  for (const auto& pattern : upstream.match) {
    if (!pattern.port || may_connect(access, *pattern.port)) continue;
    warnings.add(".match", to_string(pattern) + " is never intercepted, as " + std::to_string(*pattern.port) +
                               " is not in access.connectPorts");
  }
}

/// No warning for the default list, which the user did not write.
void warn_of_plain_ports(std::vector<Issue>& all, const AccessConfig& access) {
  if (access.plain_ports == AccessConfig{}.plain_ports) return;
  for (const auto port : access.plain_ports) {
    if (may_connect(access, port)) continue;
    all.push_back({.path = "access.plainPorts",
                   .message = "warning: access.plainPorts: " + std::to_string(port) +
                              " does nothing, as it is not in connectPorts"});
  }
}

void warn_of_unused_quotas(std::vector<Issue>& all, const Config& config) {
  for (const auto& quota : config.quotas) {
    if (std::ranges::find(config.upstreams, quota.name, &UpstreamConfig::quota) != config.upstreams.end()) continue;
    const auto path = "quotas." + quota.name;
    all.push_back({.path = path,
                   .message = "warning: " + path + ": no upstream draws on it; write quota: " + quota.name +
                              " in those that do"});
  }
}

}  // namespace

std::vector<Issue> find_warnings(const Config& config, const Said& said) {
  std::vector<Issue> all;
  const auto means_tunnels = [&](const std::string& upstream) {
    return said("upstreams." + upstream + ".https") || said("defaults.https");
  };
  for (UpstreamConfig upstream : config.upstreams) {
    upstream.settings = effective_settings(config, upstream);
    Warnings warnings(all, upstream.name);
    warn_of_routes(warnings, upstream.settings);
    switch (upstream.settings.https) {
      case Https::originate: warn_of_port(warnings, upstream); break;
      case Https::intercept: warn_of_closed_ports(warnings, upstream, config.access); break;
      case Https::tunnel:
        if (!means_tunnels(upstream.name)) warn_of_tunnels(warnings, upstream);
    }
  }
  Warnings of_star(all, "*");
  warn_of_routes(of_star, config.unmatched);
  if (Warnings& warnings = of_star; config.unmatched.https == Https::tunnel && !means_tunnels("*")) {
    warn_of_limits(warnings, config.unmatched);
    warn_of_group(warnings, config.unmatched.group);
    warn_of_routes_in_tunnels(warnings, config.unmatched);
  }
  warn_of_plain_ports(all, config.access);
  warn_of_unused_quotas(all, config);
  return all;
}

}  // namespace penstock::config
