// SPDX-License-Identifier: Apache-2.0
// Whether the fields count by which an upstream serves a request and tells that nothing remains. They are wrong if a
// request of the same scope is served before the time that they named, though it was let go after they were known.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/expiring_map.h"
#include "flow/limiter.h"

namespace penstock::proxy {

class SpentWords {
 public:
  bool counts(flow::Time now) const { return now >= ignored_until_; }
  /// A scope is that of a pause. Nothing of it is to be served before `until`.
  void begin(flow::Time now, std::string_view scope, flow::Time until) {
    by_scope_.of(now, scope) = {.since = now, .until = until};
  }
  /// The answer to a request of that scope, which took off then, has such a field again. True: they are wrong, and
  /// ignored for an hour.
  bool disproved(flow::Time now, std::string_view scope, flow::Time took_off) {
    const auto* known = by_scope_.find(scope);
    if (!known || now >= known->until || took_off <= known->since + kStillLeaves) return false;
    ignored_until_ = now + kIgnored;
    by_scope_.clear();
    return true;
  }
  /// How many scopes are remembered.
  std::size_t remembered() const { return by_scope_.size(); }

 private:
  static constexpr flow::Time kIgnored = 3'600'000'000;
  static constexpr flow::Time kStillLeaves = 2 * flow::kHorizon;  // what was booked when the word came
  struct Word {
    flow::Time since = 0, until = 0;
  };

  flow::Time ignored_until_ = 0;
  base::ExpiringMap<Word> by_scope_;
};

}  // namespace penstock::proxy
