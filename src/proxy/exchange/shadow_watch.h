// SPDX-License-Identifier: Apache-2.0
// The limits of one upstream that only count (`mode: shadow`): for how long each would have held what takes off, and
// what people see of them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "flow/shadow_limits.h"
#include "loop/loop.h"
#include "penstock/duration.h"
#include "penstock/limits.h"
#include "penstock/snapshot.h"

namespace penstock::proxy {

/// For how long a request would have waited, and for which limit.
struct WouldWait {
  Duration wait{0};
  std::string_view limit;  ///< empty: for none. Valid until the limits are changed
};

class ShadowWatch {
 public:
  /// All limits are in shadow mode.
  ShadowWatch(const loop::Loop& loop, std::vector<LimitConfig> limits);
  /// These hold from now on.
  void change(flow::Time now, std::vector<LimitConfig> limits);

  /// A request takes off. `most`: after so long a wait it would have been refused, and would not count.
  WouldWait took_off(flow::Time now, flow::LaneKey lane, const flow::Load& load, Duration most);

  /// Adds those of the upstream.
  void show(flow::Time now, std::vector<LimitSnapshot>& into) const;
  /// Adds those of that group.
  void show(flow::Time now, std::string_view group, std::vector<LimitSnapshot>& into) const;
  bool forgettable(flow::Time now) const { return limits_.forgettable(now); }

 private:
  struct Count {
    std::uint64_t units = 0, would_wait = 0;  // units of all that it governs
  };

  std::vector<LimitConfig> configured_;
  std::vector<Count> counts_;  // of each limit, since it is there
  flow::ShadowLimits limits_;
};

}  // namespace penstock::proxy
