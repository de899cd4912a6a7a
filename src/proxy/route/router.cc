// SPDX-License-Identifier: Apache-2.0
// See router.h. One look-up for the host and one for each parent domain; each finds a few rules, sorted by precedence
// when the router is made.
#include "proxy/route/router.h"

#include <algorithm>
#include <tuple>

namespace penstock::proxy {

namespace {

// A rule with a port wins over one without, then the longer path wins.
bool stronger(const Match& a, const Match& b) {
  return std::tuple(a.port.has_value(), a.path.size()) > std::tuple(b.port.has_value(), b.path.size());
}

// Matches whole segments: /v1 matches /v1 and /v1/x, not /v10.
bool below(std::string_view path, std::string_view prefix) {
  return path.starts_with(prefix) && (prefix.empty() || path.size() == prefix.size() || path[prefix.size()] == '/');
}

bool has_port(const Match& match, const http::Target& target) { return !match.port || *match.port == target.port; }

bool fits(const Match& match, const http::Target& target) {
  return has_port(match, target) && below(target.path(), match.path);
}

}  // namespace

Router::Router(const Config& config) : pass_unmatched_(config.pass_unmatched) {
  for (std::size_t i = 0; i < config.upstreams.size(); ++i) {
    const bool intercepted = config.upstreams[i].settings.https == Https::intercept;
    intercepts_ = intercepts_ || intercepted;
    for (const auto& match : config.upstreams[i].match) {
      (match.suffix ? suffixes_ : hosts_)[match.host].push_back({match, i + 1, intercepted});
    }
  }
  for (auto* rules : {&hosts_, &suffixes_}) {
    for (auto& [host, list] : *rules) {
      std::stable_sort(list.begin(), list.end(), [](auto& a, auto& b) { return stronger(a.match, b.match); });
    }
  }
}

template <typename Fits, typename Each>
void Router::visit(const http::Target& target, Fits fit, Each each) const {
  const auto visit_rules = [&](const Rules& rules, std::string_view key) {
    const auto found = rules.find(key);
    if (found == rules.end()) return true;
    return std::all_of(found->second.begin(), found->second.end(),
                       [&](const Rule& rule) { return !fit(rule.match, target) || each(rule); });
  };
  const std::string_view host = target.host;
  if (!visit_rules(hosts_, host) || target.literal || suffixes_.empty()) return;
  for (auto dot = host.find('.'); dot != std::string_view::npos; dot = host.find('.', dot + 1)) {
    if (!visit_rules(suffixes_, host.substr(dot + 1))) return;
  }
}

Route Router::route(const http::Target& target) const {
  Route route;
  visit(target, fits, [&](const Rule& rule) {
    route = {rule.entry, &rule.match};
    return false;
  });
  route.denied = !route.pattern && !pass_unmatched_;
  return route;
}

std::size_t Router::intercepting_entry(const http::Target& tunnel) const {
  if (!intercepts_) return 0;
  std::size_t entry = 0;
  visit(tunnel, has_port, [&](const Rule& rule) {
    entry = rule.intercepted ? rule.entry : 0;
    return !rule.intercepted && !rule.match.path.empty();  // a rule with a path leaves the rest to the next rule
  });
  return entry;
}

std::vector<Route> Router::candidates(const http::Target& target) const {
  std::vector<Route> all;
  visit(target, fits, [&](const Rule& rule) {
    all.push_back({rule.entry, &rule.match});
    return true;
  });
  return all;
}

std::string why(const Match& pattern) {
  std::string text = pattern.suffix ? "a host below " + pattern.host : "exact host";
  if (pattern.port) text += ", port " + std::to_string(*pattern.port);
  if (!pattern.path.empty()) text += ", path below " + pattern.path;
  return text;
}

}  // namespace penstock::proxy
