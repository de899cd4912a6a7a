// SPDX-License-Identifier: Apache-2.0
// See route_keys.h. A route is read into settings that start from those of its upstream, by the readers of these.
#include "config/route_keys.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "config/checks.h"
#include "config/key_table.h"
#include "config/limit_keys.h"
#include "config/refusal_keys.h"
#include "config/route_match.h"
#include "config/timeout_keys.h"

namespace penstock::config {

namespace {

struct Draft {
  RouteConfig route;
  UpstreamSettings settings;  // the upstream's, and what the route has instead; of limits the route's alone
  std::optional<int> max_concurrent;
};

std::string in_upper_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

void read_route_path(Reading& reading, const Spot& spot, RouteMatch& into) {
  const auto text = reading.text(spot, "a pattern such as /search or /guilds/{guild}");
  if (!text) return;
  auto pattern = parse_path_pattern(*text);
  if (!pattern) reading.complain(spot.node, named(spot.path) + ": '" + spot.node.text + "': " + pattern.error());
  into.path = std::move(pattern).value_or(*text);
}

void read_route_method(Reading& reading, const Spot& spot, RouteMatch& into) {
  constexpr std::string_view kExpected = "a method such as POST, or a list of them";
  if (spot.node.kind != Node::Kind::list) {
    if (auto text = reading.text(spot, kExpected)) into.methods.push_back(in_upper_case(*std::move(text)));
    return;
  }
  if (spot.node.items.empty()) reading.complain(spot.node, named(spot.path) + " is empty; leave it out for any method");
  for (std::size_t i = 0; i < spot.node.items.size(); ++i) {
    const Spot item{spot.node.items[i], spot.path + "[" + std::to_string(i) + "]"};
    reading.met(item.path, item.node);
    into.methods.push_back(in_upper_case(reading.text(item, kExpected).value_or("")));
  }
}

/// The value may be a credential, so no message repeats it.
void read_route_header(Reading& reading, const Spot& spot, RouteMatch& into) {
  const auto text = reading.text(spot, "NAME or NAME=value");
  if (!text) return;
  const auto equals = text->find('=');
  into.header = text->substr(0, equals);
  if (equals == std::string::npos) return;
  into.header_value = text->substr(equals + 1);
  if (into.header_value.empty())
    reading.complain(spot.node,
                     named(spot.path) + " has no value behind the =; write " + into.header + " alone for any value");
}

constexpr Key<RouteMatch> kRouteMatch[] = {
    {"path", read_route_path}, {"method", read_route_method}, {"header", read_route_header}};

void read_route_match(Reading& reading, const Spot& spot, Draft& into) {
  const auto before = reading.problems();
  read_keys(reading, spot, std::span<const Key<RouteMatch>>(kRouteMatch), into.route.match);
  if (reading.problems() > before) reading.excuse(spot.path);
}

void read_route_max_wait(Reading& reading, const Spot& spot, Draft& into) {
  read(reading, spot, into.settings.queue.max_wait);
  into.route.max_wait = into.settings.queue.max_wait;
}
constexpr Key<Draft> kRouteQueue[] = {{"maxWait", read_route_max_wait}};

constexpr Key<Draft> kRoute[] = {
    {"name", [](Reading& r, const Spot& spot, Draft& into) { read(r, spot, into.route.name); }},
    {"match", read_route_match,
     [](const std::string& path, std::vector<std::string>& into) { list_keys(kRouteMatch, path, into); }},
    {"weight", [](Reading& r, const Spot& spot, Draft& into) { read(r, spot, into.route.weight); }},
    {"rate", [](Reading& r, const Spot& spot, Draft& into) { read_rate(r, spot, into.settings); }},
    {"limits", [](Reading& r, const Spot& spot, Draft& into) { read_limits(r, spot, into.settings); }, list_limits},
    {"maxConcurrent", [](Reading& r, const Spot& spot, Draft& into) { read(r, spot, into.max_concurrent.emplace(1)); }},
    {"queue",
     [](Reading& r, const Spot& spot, Draft& into) {
       read_keys(r, spot, std::span<const Key<Draft>>(kRouteQueue), into);
     },
     [](const std::string& path, std::vector<std::string>& into) { list_keys(kRouteQueue, path, into); }},
    {"timeouts",
     [](Reading& r, const Spot& spot, Draft& into) {
       read_timeouts(r, spot, into.settings);
       into.route.timeouts = into.settings.timeouts;
     },
     list_timeouts},
    {"retry",
     [](Reading& r, const Spot& spot, Draft& into) {
       read_retry(r, spot, into.settings);
       into.route.retry = into.settings.retry;
     },
     list_retry},
    {"obey", [](Reading& r, const Spot& spot, Draft& into) {
       read(r, spot, into.settings.obey);
       into.route.obey = into.settings.obey;
     }}};

/// Its limits have its name, before their own and in front of it: so they are told apart from those of the upstream.
void add_route_limits(Draft& draft, UpstreamSettings& into) {
  const auto& route = draft.route.name;
  if (draft.max_concurrent) {
    draft.settings.limits.push_back({.kind = SemaphoreConfig{.capacity = *draft.max_concurrent},
                                     .name = std::string(kMaxConcurrent),
                                     .shared = false,
                                     .route = route});
  }
  for (auto& limit : draft.settings.limits) {
    limit.name = route + ":" + std::string(limit_name(limit));
    limit.route = route;
    into.limits.push_back(std::move(limit));
  }
}

void read_route(Reading& reading, const Spot& spot, UpstreamSettings& into) {
  Draft draft{.settings = into};
  draft.settings.limits.clear();
  if (spot.node.kind != Node::Kind::map && spot.node.kind != Node::Kind::broken)
    reading.complain(spot.node, named(spot.path) + " must hold routes, as in '- match: { path: /search }'");
  if (spot.node.kind == Node::Kind::map) read_keys(reading, spot, std::span<const Key<Draft>>(kRoute), draft);
  if (spot.node.kind != Node::Kind::map) reading.excuse(spot.path);
  if (!reading.has_met(spot.path + ".name"))
    draft.route.name = to_string(without_secrets(draft.route.match, into.redact));
  add_route_limits(draft, into);
  into.routes.push_back(std::move(draft.route));
}

}  // namespace

void read_routes(Reading& reading, const Spot& spot, UpstreamSettings& into) {
  if (spot.node.kind == Node::Kind::null || spot.node.kind == Node::Kind::broken) return;
  if (spot.node.kind != Node::Kind::list)
    return reading.complain(spot.node, named(spot.path) + " must be a list, as in '- match: { path: /search }'");
  for (std::size_t i = 0; i < spot.node.items.size(); ++i) {
    const Spot item{spot.node.items[i], spot.path + "[" + std::to_string(i) + "]"};
    reading.met(item.path, item.node);
    read_route(reading, item, into);
  }
}

void list_routes(const std::string& path, std::vector<std::string>& into) { list_keys(kRoute, path, into); }

}  // namespace penstock::config
