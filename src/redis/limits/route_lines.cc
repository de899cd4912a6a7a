// SPDX-License-Identifier: Apache-2.0
// One entry for each route that a shared limit names, and one for all others.
#include "redis/limits/route_lines.h"

#include <cstddef>

#include "base/sip_hash.h"
#include "flow/group_hash.h"

namespace penstock::redis {

std::string route_key(std::string_view name) {
  const auto digits = flow::GroupHash::digits_of(base::sip_hash({}, name));
  return "@" + std::string(digits.data(), digits.size());
}

void RouteLines::set_limits(const std::vector<LimitConfig>& limits) {
  routes_.clear();
  add(limits, {});
  for (const LimitConfig& limit : limits) {
    if (limit.shared && std::ranges::find(routes_, limit.route, &Route::name) == routes_.end())
      add(limits, limit.route);
  }
}

void RouteLines::add(const std::vector<LimitConfig>& limits, const std::string& name) {
  Route& its = routes_.emplace_back(Route{.name = name, .key = name.empty() ? std::string() : route_key(name)});
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const LimitConfig& limit = limits[i];
    if (!limit.shared || !governs(limit, name)) continue;
    const bool of_group = limit.per == LimitConfig::Per::group;
    its.by_group |= of_group;
    its.places_with_group.push_back(static_cast<flow::LimitIndex>(i));
    if (!of_group) its.places.push_back(static_cast<flow::LimitIndex>(i));
  }
}

}  // namespace penstock::redis
