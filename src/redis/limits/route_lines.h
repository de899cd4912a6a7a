// SPDX-License-Identifier: Apache-2.0
// Which shared limits govern a lane, and in which lines this process stands for it. Both depend on the lane's route. A
// lane's group is the hash. For script_args. Pure.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "flow/lane_key.h"
#include "flow/limiter.h"
#include "penstock/limits.h"
#include "redis/limits/group_key.h"

namespace penstock::redis {

/// Names of routes, and so those of their limits, may be long and have any characters, so they stand in keys as hashes.
/// No other limit's name has an @.
std::string route_key(std::string_view name);

class RouteLines {
 public:
  void set_limits(const std::vector<LimitConfig>& limits);

  LaneLines lines_of(flow::LaneKey lane) const {
    const Route& its = route(lane.route);
    return {.line = {narrowed(lane).group, its.key}, .own = {lane.group, its.key}};
  }
  /// The lane without its group or its route, if no other line is meant by that.
  flow::LaneKey narrowed(flow::LaneKey lane) const {
    const Route& its = route(lane.route);
    if (its.name.empty()) return flow::LaneKey(lane.group);
    return flow::LaneKey(its.by_group ? lane.group : std::string_view(), its.name);
  }
  /// Some shared limit is of that route.
  bool has(std::string_view its_route) const { return !route(its_route).name.empty(); }
  /// Lanes of all groups stand in one line for the limits of that route.
  bool share_line(std::string_view its_route) const {
    const Route& its = route(its_route);
    return !its.name.empty() && !its.by_group;
  }
  /// The places in the configuration of the limits that govern the lane, in order: they have these numbers in a script
  /// that is called for the lane.
  const std::vector<flow::LimitIndex>& places_of(flow::LaneKey lane) const {
    const Route& its = route(lane.route);
    return lane.group.empty() ? its.places : its.places_with_group;
  }

 private:
  struct Route {
    std::string name;       // empty: of lanes without a route, or of one that no shared limit has
    std::string key;        // see route_key()
    bool by_group = false;  // a shared limit of its lanes is `per: group`
    std::vector<flow::LimitIndex> places, places_with_group;  // see places_of()
  };

  void add(const std::vector<LimitConfig>& limits, const std::string& name);
  /// The first, which has no name, if no shared limit has that route.
  const Route& route(std::string_view name) const {
    const auto found = name.empty() ? routes_.begin() : std::ranges::find(routes_, name, &Route::name);
    return found == routes_.end() ? routes_.front() : *found;
  }

  std::vector<Route> routes_{{}};
};

}  // namespace penstock::redis
