// SPDX-License-Identifier: Apache-2.0
// Finds routes that fit nothing, fit the same, or cannot be kept.
#include <algorithm>
#include <optional>
#include <variant>

#include "config/checks.h"
#include "config/route_match.h"
#include "config/suggestion.h"
#include "config/units.h"

namespace penstock::config {

namespace {

constexpr std::size_t kMostRoutes = 64, kLongestRouteName = 64;

void check_methods(Issues& issues, const std::string& path, const std::vector<std::string>& methods) {
  for (std::size_t i = 0; i < methods.size(); ++i) {
    if (std::ranges::find(known_methods(), methods[i]) != known_methods().end()) continue;
    const auto place = methods.size() > 1 ? path + "[" + std::to_string(i) + "]" : path;
    const auto meant = nearest(methods[i], known_methods());
    add(issues, place,
        methods[i] == "CONNECT" ? ": a tunnel (CONNECT) has no route"
                                : ": there is no method '" + methods[i] + "'" +
                                      (meant ? "; did you mean '" + std::string(*meant) + "'?" : ""));
  }
}

void check_route_match(Issues& issues, const std::string& path, const RouteMatch& match) {
  if (match == RouteMatch{})
    return add(issues, path, " is empty: say which requests are meant, as in { path: /search }, or set it for all");
  check_methods(issues, path + ".method", match.methods);
  if (!match.path.empty()) {
    const auto read_again = parse_path_pattern(match.path);
    if (!read_again) add(issues, path + ".path", ": '" + match.path + "': " + read_again.error());
    if (read_again && *read_again != match.path)
      add(issues, path + ".path", ": '" + match.path + "' is not in its plain form");
  }
  if (match.header.empty() && match.header_value.empty()) return;
  if (!is_header_name(match.header)) add(issues, path + ".header", ": '" + match.header + "' is not a header's name");
}

bool is_showable(std::string_view text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c < ' ' || c == 0x7f || c == '"' || c == '\\'; });
}

void check_route_name(Issues& issues, const std::string& path, const std::string& name) {
  const bool fits = !name.empty() && name.size() <= kLongestRouteName && is_showable(name) && name.front() != ' ' &&
                    name.back() != ' ';
  if (fits) return;
  issues.push_back({path + ".name", "the name of a route is 1 to 64 characters without quotes and backslashes" +
                                        std::string(name.size() > kLongestRouteName ? "; give this one a name" : "")});
}

/// Those of the upstream govern each of its requests. Of the routes that fit all that this one fits, the first does.
bool governs(const UpstreamSettings& settings, const LimitConfig& limit, std::size_t index) {
  if (limit.route.empty()) return true;
  const auto adds_limits = [&](const RouteConfig& route) {
    return has_limits(settings, route.name) && covers(route.match, settings.routes[index].match);
  };
  const auto end = settings.routes.begin() + static_cast<std::ptrdiff_t>(index) + 1;
  const auto first = std::find_if(settings.routes.begin(), end, adds_limits);
  return first != end && first->name == limit.route;
}

void check_weight(Issues& issues, const std::string& path, const UpstreamSettings& settings, std::size_t index) {
  const auto& route = settings.routes[index];
  const auto weight = std::to_string(route.weight);
  if (route.weight < 1) return add(issues, path, " is " + weight + "; it must be at least 1");
  if (route.weight > settings.max_weight)
    return add(issues, path, " is " + weight + ", more than maxWeight, " + std::to_string(settings.max_weight));
  if (route.weight == 1) return;
  for (const auto& limit : settings.limits) {
    const bool counts_weight = limit.unit.empty() && limit.mode != LimitConfig::Mode::shadow;
    if (!counts_weight || !governs(settings, limit, index)) continue;
    const auto most = most_units(limit.kind, route.max_wait.value_or(settings.queue.max_wait));
    if (!most || *most >= route.weight) continue;
    return add(issues, path,
               " is " + weight + ", and the limit " + std::string(limit_name(limit)) + " lets at most " +
                   write_number(*most) + " units leave " +
                   (std::holds_alternative<PacerConfig>(limit.kind) ? "within queue.maxWait" : "together") +
                   ": all its requests would be refused");
  }
}

void check_same(Issues& issues, const std::string& path, const std::string& upstream,
                const std::vector<RouteConfig>& routes, std::size_t index) {
  const auto& route = routes[index];
  for (std::size_t i = 0; i < index; ++i) {
    const bool same =
        route.match != RouteMatch{} && covers(routes[i].match, route.match) && covers(route.match, routes[i].match);
    if (same) return add(issues, path + ".match", " is that of the route '" + routes[i].name + "': write both as one");
    if (routes[i].name == route.name)
      return issues.push_back(
          {path + ".name", "two routes of " + upstream + " are named '" + route.name + "'; give one a name"});
  }
}

}  // namespace

bool has_limits(const UpstreamSettings& settings, std::string_view route) {
  return std::ranges::any_of(settings.limits, [&](const LimitConfig& limit) { return limit.route == route; });
}

void check_routes(Issues& issues, const std::string& path, const UpstreamSettings& settings) {
  if (settings.routes.size() > kMostRoutes) add(issues, path + ".routes", " has more than 64 routes");
  for (std::size_t i = 0; i < settings.routes.size(); ++i) {
    const auto& route = settings.routes[i];
    const auto place = path + ".routes[" + std::to_string(i) + "]";
    check_route_match(issues, place + ".match", route.match);
    if (route.match != RouteMatch{}) check_route_name(issues, place, route.name);
    check_same(issues, place, path, settings.routes, i);
    check_weight(issues, place + ".weight", settings, i);
    if (route.max_wait) check_duration(issues, place + ".queue.maxWait", *route.max_wait, 0s, 24h);
    if (route.timeouts) check_timeouts(issues, place + ".timeouts", *route.timeouts);
    if (route.retry) check_retry(issues, place + ".retry", *route.retry);
  }
}

}  // namespace penstock::config
