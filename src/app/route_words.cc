// SPDX-License-Identifier: Apache-2.0
// See route_words.h.
#include "app/route_words.h"

#include <algorithm>

#include "config/route_match.h"
#include "config/units.h"

namespace penstock::app {

namespace {

using config::write_duration;

/// ", weight 5, maxWait 2m, timeouts of its own".
std::string set_by(const RouteConfig& route) {
  std::string text;
  if (route.weight != 1) text += ", weight " + std::to_string(route.weight);
  if (route.max_wait) text += ", maxWait " + write_duration(*route.max_wait);
  if (route.timeouts) text += ", its own timeouts";
  if (route.retry) text += ", its own retry";
  if (route.obey) text += ", obey " + to_string(*route.obey);
  return text;
}

bool has_limits(const UpstreamSettings& settings, const RouteConfig& route) {
  return std::ranges::find(settings.limits, route.name, &LimitConfig::route) != settings.limits.end();
}

std::string count_of(std::size_t number, const std::string& what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

}  // namespace

std::string route_in_words(const RouteConfig& route, const std::vector<std::string>& redact) {
  const auto match = to_string(config::without_secrets(route.match, redact));
  return "route " + route.name + (route.name == match ? "" : ": " + match) + set_by(route);
}

std::vector<std::string> route_lines(const UpstreamSettings& settings, std::string_view method, std::string_view path) {
  if (settings.routes.empty()) return {};
  const proxy::Routes routes(settings);
  const auto terms = routes.terms_of(method, path, {});
  std::vector<std::string> lines;
  lines.push_back(terms.name.empty() ? "none fits" : std::string(terms.name));
  lines[0] += terms.weight == 1 ? "" : ", weight " + std::to_string(terms.weight);
  if (terms.max_wait) lines[0] += ", maxWait " + write_duration(*terms.max_wait);
  for (std::size_t i = 0; i < settings.routes.size(); ++i) {
    const auto& route = settings.routes[i];
    if (!routes.fits_but_for_header(i, method, path)) continue;
    const bool counts = route.name == terms.limits;
    if (!route.match.header.empty()) {
      lines.push_back("with " + route.match.header + (route.match.header_value.empty() ? "" : " of its value") + ": " +
                      route_in_words(route, settings.redact) + (has_limits(settings, route) ? ", its own limits" : ""));
    } else if (route.name != terms.name) {
      lines.push_back("fits " + route_in_words(route, settings.redact) +
                      (has_limits(settings, route) && !counts ? "; its limits do not count" : ""));
    }
  }
  return lines;
}

std::string routes_in_short(const std::string& upstream, const UpstreamSettings& settings) {
  if (settings.routes.empty()) return {};
  const auto with =
      std::ranges::count_if(settings.routes, [&](const auto& route) { return has_limits(settings, route); });
  const auto limits = std::ranges::count_if(settings.limits, [](const auto& limit) { return !limit.route.empty(); });
  return "upstreams." + upstream + ": " + count_of(settings.routes.size(), "route") + ", " + std::to_string(with) +
         " with limits of their own (" + count_of(static_cast<std::size_t>(limits), "limit") + ")";
}

}  // namespace penstock::app
