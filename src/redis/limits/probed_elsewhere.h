// SPDX-License-Identifier: Apache-2.0
// The groups whose gates other processes probe, by the hashes that these tell. Forgets those that have to ask again, in
// amortised constant time. Pure. For pause_messages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text_map.h"
#include "flow/limit.h"

namespace penstock::redis {

class ProbedElsewhere {
 public:
  /// Another process probes for the group, which is to ask again at `until`.
  void note(flow::Time now, std::string_view hash, std::string group, flow::Time until) {
    if (groups_.size() >= 2 * after_sweep_) sweep(now);
    groups_[std::string(hash)] = {std::move(group), until};
  }
  /// It does so no more; or another's probe was answered: the group, if it waits for that.
  std::optional<std::string> take(std::string_view hash) {
    const auto found = groups_.find(hash);
    if (found == groups_.end()) return std::nullopt;
    std::optional<std::string> group = std::move(found->second.group);
    groups_.erase(found);
    return group;
  }
  /// At most twice those left by the last sweep, or 2 × kFew.
  std::size_t size() const { return groups_.size(); }

 private:
  static constexpr std::size_t kFew = 32;
  struct Group {
    std::string group;
    flow::Time until;
  };

  void sweep(flow::Time now) {
    std::erase_if(groups_, [now](const auto& one) { return one.second.until <= now; });
    after_sweep_ = std::max(kFew, groups_.size());
  }

  base::TextMap<Group> groups_;
  std::size_t after_sweep_ = kFew;
};

}  // namespace penstock::redis
