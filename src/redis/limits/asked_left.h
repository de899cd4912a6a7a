// SPDX-License-Identifier: Apache-2.0
// When an ask is to bring all that is left of the limits of its route. Of a slidingWindow that costs more, so an ask in
// half a second does it: of the upstream's own limits the one that says that the process is there. It may be of another
// lane; then a process that loses Redis would not know what was left of a route. Pure. For upstream_calls.
#pragma once

#include <string>
#include <string_view>

#include "base/text_map.h"
#include "flow/limiter.h"

namespace penstock::redis {

class AskedLeft {
 public:
  static constexpr flow::Time kEvery = 500'000;  ///< µs

  /// Whether an ask of this route is to bring it, which is then noted. `in_any_case`: it does so anyway.
  bool due(flow::Time now, std::string_view route, bool in_any_case) {
    const auto known = asked_.find(route);
    if (known != asked_.end() && now - known->second < kEvery && !in_any_case) return false;
    if (known == asked_.end()) asked_.emplace(route, now);
    if (known != asked_.end()) known->second = now;
    return true;
  }
  void clear() { asked_.clear(); }

 private:
  base::TextMap<flow::Time> asked_;  // by route
};

}  // namespace penstock::redis
