// SPDX-License-Identifier: Apache-2.0
// The pauses that an upstream asked for, by group: a map that forgets pauses that are over, in amortised constant time.
// Also used by proxy/ and redis/, with names or with hashes as keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/expiring_map.h"
#include "flow/limit.h"

namespace penstock::flow {

class Pauses {
 public:
  /// Of several pauses of a group, the one that ends last counts.
  void extend(Time now, std::string_view group, Time until) {
    Time& its_end = ends_.of(now, group).until;
    its_end = std::max(its_end, until);
  }
  /// Forgets the group's pause, and gives its end, if one is remembered.
  std::optional<Time> take(std::string_view group) {
    const auto pause = ends_.take(group);
    return pause ? std::optional(pause->until) : std::nullopt;
  }
  /// Each ends at `latest` at the latest. True: some were to end later.
  bool shorten(Time latest) {
    bool some = false;
    for (auto& [group, pause] : ends_) some |= pause.until > latest, pause.until = std::min(pause.until, latest);
    return some;
  }
  /// When the group's pause ends. May be past; 0: no pause is remembered.
  Time until(std::string_view group) const {
    const auto* known = ends_.find(group);
    return known ? known->until : 0;
  }
  /// The later end of the group's pause and of the whole upstream's, whose key is the empty group.
  Time until_with_all(std::string_view group) const {
    if (ends_.empty()) return 0;
    return group.empty() ? until(group) : std::max(until(group), until({}));
  }
  bool empty() const { return ends_.empty(); }
  /// How many pauses are not over.
  std::size_t count(Time now) const {
    return static_cast<std::size_t>(std::ranges::count_if(ends_, [now](auto& one) { return one.second.until > now; }));
  }
  /// Calls use(group, until) for each pause that is not over.
  template <typename Use>
  void each(Time now, Use use) const {
    for (const auto& [group, pause] : ends_) {
      if (pause.until > now) use(group, pause.until);
    }
  }
  /// How many entries are kept.
  std::size_t remembered() const { return ends_.size(); }

 private:
  struct Pause {
    Time until = 0;
  };
  base::ExpiringMap<Pause> ends_;
};

}  // namespace penstock::flow
