// SPDX-License-Identifier: Apache-2.0
// Which old limit of an upstream goes on as which new one when its configuration changes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "flow/limiter.h"
#include "penstock/limits.h"

namespace penstock::flow {

/// True if one limit goes on from the state of the other: kind, scope, route, unit and name are the same, all else may
/// differ.
inline bool same_limit(const LimitConfig& a, const LimitConfig& b) {
  return a.kind.index() == b.kind.index() && a.per == b.per && a.route == b.route && a.unit == b.unit &&
         limit_name(a) == limit_name(b);
}

/// For each old limit its index among the new ones; kNoLimit: it is gone.
inline std::vector<LimitIndex> limit_remap(const std::vector<LimitConfig>& before,
                                           const std::vector<LimitConfig>& after) {
  std::vector<LimitIndex> moved;
  for (const LimitConfig& limit : before) {
    const auto found = std::ranges::find_if(after, [&](const auto& other) { return same_limit(limit, other); });
    moved.push_back(found == after.end() ? kNoLimit : static_cast<LimitIndex>(found - after.begin()));
  }
  return moved;
}

/// The new index of an old limit, by a limit_remap(). Negative values stay as they are.
inline LimitIndex renumbered(LimitIndex limit, std::span<const LimitIndex> moved) {
  if (limit < 0) return limit;
  const auto index = static_cast<std::size_t>(limit);
  return index < moved.size() ? moved[index] : kNoLimit;
}

}  // namespace penstock::flow
