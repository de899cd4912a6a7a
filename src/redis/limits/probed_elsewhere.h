// SPDX-License-Identifier: Apache-2.0
// The groups whose gates other processes probe, by the hashes that these tell. Forgets those that have to ask again, in
// amortised constant time. Pure. For pause_messages.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/expiring_map.h"
#include "flow/limit.h"

namespace penstock::redis {

class ProbedElsewhere {
 public:
  /// Another process probes for the group, which is to ask again at `until`.
  void note(flow::Time now, std::string_view hash, std::string group, flow::Time until) {
    groups_.of(now, hash) = {std::move(group), until};
  }
  /// It does so no more; or another's probe was answered: the group, if it waits for that.
  std::optional<std::string> take(std::string_view hash) {
    auto one = groups_.take(hash);
    return one ? std::optional(std::move(one->group)) : std::nullopt;
  }
  std::size_t size() const { return groups_.size(); }

 private:
  struct Group {
    std::string group;
    flow::Time until = 0;
  };

  base::ExpiringMap<Group> groups_;
};

}  // namespace penstock::redis
