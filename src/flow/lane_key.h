// SPDX-License-Identifier: Apache-2.0
// What names a lane: its group, and the route of its requests. Pauses and gates are of groups, whatever the route;
// limits may be of a route, see LimitConfig::route.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace penstock::flow {

/// Both are empty for the requests of an upstream without groups and routes. A route that no limit has, because a new
/// configuration has none of that name, is as none.
struct LaneKey {
  constexpr LaneKey() = default;
  constexpr explicit LaneKey(std::string_view its_group, std::string_view its_route = {})
      : group(its_group), route(its_route) {}
  /// Not explicit, so that tests may write "a" for a lane. Other texts are taken for one only where that is said.
  template <std::size_t size>
  constexpr LaneKey(const char (&its_group)[size]) : group(its_group) {}

  std::string_view group;
  std::string_view route;
  auto operator<=>(const LaneKey&) const = default;
};

/// The same, with texts of its own.
struct LaneName {
  LaneName() = default;
  explicit LaneName(LaneKey key) : group(key.group), route(key.route) {}
  operator LaneKey() const { return LaneKey(group, route); }

  std::string group;
  std::string route;
  auto operator<=>(const LaneName&) const = default;
};

struct LaneHash {
  std::size_t operator()(LaneKey lane) const noexcept {
    const std::size_t group = std::hash<std::string_view>()(lane.group);
    return lane.route.empty() ? group : group ^ (std::hash<std::string_view>()(lane.route) * kOdd);
  }
  static constexpr std::size_t kOdd = 0x9E3779B97F4A7C15;  // so that a group and a route of one name do not cancel out
};

/// For maps with names as keys, in which keys are looked up.
struct LaneOrder {
  using is_transparent = void;
  bool operator()(LaneKey one, LaneKey other) const { return one < other; }
};

}  // namespace penstock::flow
