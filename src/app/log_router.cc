// SPDX-License-Identifier: Apache-2.0
// See log_router.h.
#include "app/log_router.h"

#include <algorithm>
#include <utility>

#include "base/sip_hash.h"
#include "http/fields.h"
#include "penstock/quotas.h"

namespace penstock::app {

namespace {

constexpr std::string_view kOthers = "*:others", kHidden = "\u2026";

/// The port that an upstream's own name has, as in `api.example.com:8080`; 0: it is no such name.
std::uint16_t port_of(std::string_view name) {
  const auto authority = http::parse_authority(name);
  return authority ? authority->port : 0;
}

}  // namespace

LogRouter::LogRouter(const Config& config) : config_(config), router_(config) {
  for (std::size_t entry = 0; entry <= config.upstreams.size(); ++entry) {
    const auto* const quota = entry == 0 ? nullptr : quota_of(config, config.upstreams[entry - 1]);
    const auto& rule = quota ? quota->settings.group : settings_of(entry).group;
    groupings_.push_back(rule ? std::optional<proxy::Grouping>(std::in_place, *rule, flow::GroupHash{"", ""})
                              : std::nullopt);
  }
  for (const auto& upstream : config.upstreams) {
    by_name_[upstream.name] = static_cast<std::uint32_t>(upstreams_.size());
    upstreams_.push_back({.name = upstream.name, .settings = &upstream.settings});
  }
  for (const auto& quota : config.quotas) {
    auto& settings = of_quotas_.emplace_back(settings_of_queue(config, quota));
    // A Place has room for as many routes as may have limits, and others change nothing.
    std::erase_if(settings.routes, [&](const RouteConfig& route) {
      return std::ranges::find(settings.limits, route.name, &LimitConfig::route) == settings.limits.end();
    });
    upstreams_.push_back({.name = quota.name, .settings = &settings});
  }
}

/// All that draw on one quota are played as one, which has the quota's name.
std::uint32_t LogRouter::played_as(std::size_t entry) const {
  const auto* const quota = quota_of(config_, config_.upstreams[entry - 1]);
  const auto place =
      quota ? config_.upstreams.size() + static_cast<std::size_t>(quota - config_.quotas.data()) : entry - 1;
  return static_cast<std::uint32_t>(place);
}

const UpstreamSettings& LogRouter::settings_of(std::size_t entry) const {
  return entry == 0 ? config_.unmatched : config_.upstreams[entry - 1].settings;
}

bool LogRouter::set_quota(std::string_view name, const Rate& quota) {
  bool found = false;
  for (std::size_t i = 0; i < upstreams_.size(); ++i) {
    const bool is_played = i >= config_.upstreams.size() || config_.upstreams[i].quota.empty();
    if (!is_played || upstreams_[i].name != name) continue;
    upstreams_[i].quota = quota;
    found = true;
  }
  return found;
}

replay::Place LogRouter::place(const replay::EventLine& line) {
  http::Target target{.host = std::string(line.host), .literal = http::is_literal(line.host)};
  target.tunnel = line.tunnel;
  if (!line.tunnel) target.resource = line.path;
  const auto entry = entry_of(line, target);
  const std::uint64_t group = group_of(entry.value_or(0), line, target), route = route_of(entry.value_or(0), line);
  if (entry && *entry > 0) return {group, route, played_as(*entry)};
  return {group, route, unnamed(line, target, !entry)};
}

/// nullopt: none, and requests that no entry names are denied; or there are no such permits any more.
std::optional<std::size_t> LogRouter::entry_of(const replay::EventLine& line, http::Target& target) {
  const auto named = by_name_.find(line.upstream);
  if (named != by_name_.end() && named->second < config_.upstreams.size()) return named->second + 1;
  if (line.permit) return std::nullopt;  // there is no host by which another entry could be found
  const std::uint16_t port = port_of(line.upstream);
  proxy::Route route;
  for (const std::uint16_t tried : {std::uint16_t{443}, std::uint16_t{80}}) {
    target.port = port > 0 ? port : tried;
    target.scheme = target.tunnel ? "" : target.port == 443 ? "https" : "http";
    route = router_.route(target);
    if (route.pattern || port > 0) break;
  }
  if (!route.pattern && port == 0) target.port = 443;
  if (route.denied) return std::nullopt;
  routed_anew_ += route.entry > 0 ? 1 : 0;
  return route.entry;
}

std::uint32_t LogRouter::unnamed(const replay::EventLine& line, const http::Target& target, bool is_denied) {
  const bool has_own = port_of(line.upstream) > 0;
  const bool has_none = line.upstream.empty() && line.host.empty();
  std::string name =
      has_none ? "(no upstream)" : replay::printable(has_own || line.permit ? line.upstream : target.authority());
  if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
  if (upstreams_.size() >= config_.upstreams.size() + config_.quotas.size() + kMostUnnamed) name = kOthers;
  const auto [made, is_new] = by_name_.try_emplace(name, static_cast<std::uint32_t>(upstreams_.size()));
  if (is_new) upstreams_.push_back({.name = name, .settings = &config_.unmatched, .is_denied = is_denied});
  return made->second;
}

/// By its name: the log does not have the header that a route may ask for.
std::uint64_t LogRouter::route_of(std::size_t entry, const replay::EventLine& line) const {
  if (line.route.empty()) return 0;
  const bool shares = entry > 0 && !config_.upstreams[entry - 1].quota.empty();
  const auto& routes = shares ? upstreams_[played_as(entry)].settings->routes : settings_of(entry).routes;
  const auto name = (shares ? prefix_in_quota(config_.upstreams[entry - 1].name) : std::string()).append(line.route);
  const auto found = std::ranges::find(routes, name, &RouteConfig::name);
  const auto place = static_cast<std::uint64_t>(found - routes.begin()) + 1;
  return found == routes.end() || place > replay::Place::kMostRoutes ? 0 : place;
}

std::uint64_t LogRouter::group_of(std::size_t entry, const replay::EventLine& line, const http::Target& target) {
  const auto& grouping = groupings_[entry];
  if (!grouping) return 0;
  std::string room;
  std::string_view name = line.group;
  const auto by = grouping->by();
  if (by != GroupRule::By::header) {
    name = grouping->name(target, http::Fields{}, room);
    with_secret_path_ += by == GroupRule::By::path && line.path.contains(kHidden) ? 1 : 0;
  } else if (name.empty()) {
    ++without_header_;
  }
  return base::sip_hash({.first = 1, .second = 2}, name) | 1;  // never 0
}

}  // namespace penstock::app
