// SPDX-License-Identifier: Apache-2.0
// Until when groups rest that an upstream asked to: a map that forgets the pauses that are over, at no more than the
// cost of remembering them. For proxy/ and redis/, which call a group as each likes: by its name, or by its hash.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/text_map.h"
#include "flow/limit.h"

namespace penstock::flow {

class Pauses {
 public:
  /// Of several pauses of a group the one that ends last counts.
  void extend(Time now, std::string_view group, Time until) {
    if (ends_.size() >= 2 * after_sweep_) sweep(now);
    const auto known = ends_.find(group);
    Time& its_end = known == ends_.end() ? ends_[std::string(group)] : known->second;
    its_end = std::max(its_end, until);
  }
  /// 0: it never paused. May be past.
  Time until(std::string_view group) const {
    const auto known = ends_.find(group);
    return known == ends_.end() ? 0 : known->second;
  }
  /// Of a pause of the group, or of the whole upstream, which is that of the empty group.
  Time until_with_all(std::string_view group) const {
    if (ends_.empty()) return 0;
    return group.empty() ? until(group) : std::max(until(group), until({}));
  }
  bool empty() const { return ends_.empty(); }
  /// How many are not over.
  std::size_t count(Time now) const {
    return static_cast<std::size_t>(std::ranges::count_if(ends_, [now](auto& pause) { return pause.second > now; }));
  }
  /// use(group, until) for each that is not over.
  template <typename Use>
  void each(Time now, Use use) const {
    for (const auto& [group, until] : ends_) {
      if (until > now) use(group, until);
    }
  }
  /// How many are remembered: those that are not over at most twice, or a few.
  std::size_t remembered() const { return ends_.size(); }

 private:
  static constexpr std::size_t kFew = 32;

  void sweep(Time now) {
    std::erase_if(ends_, [now](const auto& pause) { return pause.second <= now; });
    after_sweep_ = std::max(kFew, ends_.size());
  }

  base::TextMap<Time> ends_;
  std::size_t after_sweep_ = kFew;  // so many were left
};

}  // namespace penstock::flow
