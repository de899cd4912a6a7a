// SPDX-License-Identifier: Apache-2.0
// What a request takes of limits: of those that count requests its weight, of those that count a cost its cost.
// Internal to flow/.
#pragma once

namespace penstock::flow {

struct Load {
  constexpr Load() = default;
  /// Most upstreams have no limit that counts the cost: there a weight says all.
  constexpr Load(int its_weight, int its_cost = 1) : weight(its_weight), cost(its_cost) {}
  int weight = 1;
  int cost = 1;  ///< at least 1; 1 where no limit counts it
  bool operator==(const Load&) const = default;
};

/// No limit takes one of these for less than the other.
constexpr bool as_heavy(const Load& one, const Load& other) {
  return one.weight >= other.weight && one.cost >= other.cost;
}

}  // namespace penstock::flow
