// SPDX-License-Identifier: Apache-2.0
// See routes.h. One pass over the routes, in their order.
#include "proxy/route/routes.h"

#include <algorithm>
#include <cstddef>

#include "http/grammar.h"

namespace penstock::proxy {

namespace {

bool has_header(const RouteMatch& match, const http::Fields& fields) {
  if (match.header.empty()) return true;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto [name, value] = fields[i];
    const bool has_value = match.header_value.empty() || value == match.header_value;
    if (has_value && http::equal_ignoring_case(name, match.header)) return true;
  }
  return false;
}

template <typename Value>
void keep_first(const std::optional<Value>& value, const Value*& into) {
  if (value && !into) into = &*value;
}

}  // namespace

Routes::Routes(const UpstreamSettings& settings, std::string_view prefix) {
  entries_.reserve(settings.routes.size());
  for (const auto& route : settings.routes) {
    Entry& entry = entries_.emplace_back(Entry{.config = route,
                                               .path = base::PathPattern(route.match.path),
                                               .name_in_queue = std::string(prefix) + route.name});
    for (const auto& limit : settings.limits) {
      if (limit.route != route.name) continue;
      entry.has_limits = true;
      entry.holds = entry.holds || limit.mode != LimitConfig::Mode::shadow;
    }
  }
}

bool Routes::fits(const Entry& entry, std::string_view method, std::string_view path) {
  const auto& methods = entry.config.match.methods;
  return (methods.empty() || std::ranges::find(methods, method) != methods.end()) && entry.path.fits(path);
}

void Routes::add(const Entry& entry, RouteTerms& terms) {
  const auto& route = entry.config;
  if (terms.name.empty()) terms.name = route.name;
  if (entry.has_limits && terms.limits.empty()) {
    terms.name = route.name;
    terms.limits = entry.name_in_queue;
    terms.holds = entry.holds;
  }
  terms.weight = std::max(terms.weight, route.weight);
  keep_first(route.max_wait, terms.max_wait);
  keep_first(route.timeouts, terms.timeouts);
  keep_first(route.retry, terms.retry);
  keep_first(route.obey, terms.obey);
}

RouteTerms Routes::terms_of(std::string_view method, std::string_view path, const http::Fields& fields) const {
  RouteTerms terms;
  for (const Entry& entry : entries_) {
    if (fits(entry, method, path) && has_header(entry.config.match, fields)) add(entry, terms);
  }
  return terms;
}

bool Routes::fits_but_for_header(std::size_t index, std::string_view method, std::string_view path) const {
  return fits(entries_[index], method, path);
}

std::shared_ptr<const Routes> routes_of(const UpstreamSettings& settings, std::string_view prefix) {
  return settings.routes.empty() ? nullptr : std::make_shared<const Routes>(settings, prefix);
}

Duration longest_wait(const UpstreamSettings& settings) {
  Duration longest = settings.queue.max_wait;
  for (const auto& route : settings.routes) longest = std::max(longest, route.max_wait.value_or(Duration{0}));
  return longest;
}

}  // namespace penstock::proxy
