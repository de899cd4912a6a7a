// SPDX-License-Identifier: Apache-2.0
// Whether the fields count by which an upstream serves a request and tells that nothing remains. They are wrong if a
// request of the same scope is served before the time that they named, though it was let go after they were known.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/text_map.h"
#include "flow/limiter.h"

namespace penstock::proxy {

class SpentWords {
 public:
  bool counts(flow::Time now) const { return now >= ignored_until_; }
  /// A scope is that of a pause. Nothing of it is to be served before `until`.
  void begin(flow::Time now, std::string_view scope, flow::Time until) {
    if (by_scope_.size() >= 2 * after_sweep_) sweep(now);
    by_scope_.insert_or_assign(std::string(scope), Word{.since = now, .until = until});
  }
  /// The answer to a request of that scope, which took off then, has such a field again. True: they are wrong, and
  /// ignored for an hour.
  bool disproved(flow::Time now, std::string_view scope, flow::Time took_off) {
    const auto known = by_scope_.find(scope);
    if (known == by_scope_.end()) return false;
    const auto& [since, until] = known->second;
    if (now >= until || took_off <= since + kStillLeaves) return false;
    ignored_until_ = now + kIgnored;
    by_scope_.clear();
    return true;
  }
  /// How many scopes are remembered: at most twice those left by the last sweep, or 2 × kFew.
  std::size_t remembered() const { return by_scope_.size(); }

 private:
  static constexpr flow::Time kIgnored = 3'600'000'000;
  static constexpr flow::Time kStillLeaves = 2 * flow::kHorizon;  // what was booked when the word came
  static constexpr std::size_t kFew = 32;
  struct Word {
    flow::Time since, until;
  };

  void sweep(flow::Time now) {
    std::erase_if(by_scope_, [now](const auto& one) { return one.second.until <= now; });
    after_sweep_ = std::max(kFew, by_scope_.size());
  }

  flow::Time ignored_until_ = 0;
  base::TextMap<Word> by_scope_;
  std::size_t after_sweep_ = kFew;  // scopes left by the last sweep, at least kFew
};

}  // namespace penstock::proxy
