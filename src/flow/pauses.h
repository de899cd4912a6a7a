// SPDX-License-Identifier: Apache-2.0
// The pauses that an upstream asked for, by group: a map that forgets pauses that are over, in amortised constant time.
// Also used by proxy/ and redis/, with names or with hashes as keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/text_map.h"
#include "flow/limit.h"

namespace penstock::flow {

class Pauses {
 public:
  /// Of several pauses of a group, the one that ends last counts.
  void extend(Time now, std::string_view group, Time until) {
    if (ends_.size() >= 2 * after_sweep_) sweep(now);
    const auto known = ends_.find(group);
    Time& its_end = known == ends_.end() ? ends_[std::string(group)] : known->second;
    its_end = std::max(its_end, until);
  }
  /// Forgets the group's pause, and gives its end, if one is remembered.
  std::optional<Time> take(std::string_view group) {
    const auto known = ends_.find(group);
    if (known == ends_.end()) return std::nullopt;
    const Time until = known->second;
    ends_.erase(known);
    return until;
  }
  /// Each ends at `latest` at the latest. True: some were to end later.
  bool shorten(Time latest) {
    bool some = false;
    for (auto& [group, until] : ends_) some |= until > latest, until = std::min(until, latest);
    return some;
  }
  /// When the group's pause ends. May be past; 0: no pause is remembered.
  Time until(std::string_view group) const {
    const auto known = ends_.find(group);
    return known == ends_.end() ? 0 : known->second;
  }
  /// The later end of the group's pause and of the whole upstream's, whose key is the empty group.
  Time until_with_all(std::string_view group) const {
    if (ends_.empty()) return 0;
    return group.empty() ? until(group) : std::max(until(group), until({}));
  }
  bool empty() const { return ends_.empty(); }
  /// How many pauses are not over.
  std::size_t count(Time now) const {
    return static_cast<std::size_t>(std::ranges::count_if(ends_, [now](auto& pause) { return pause.second > now; }));
  }
  /// Calls use(group, until) for each pause that is not over.
  template <typename Use>
  void each(Time now, Use use) const {
    for (const auto& [group, until] : ends_) {
      if (until > now) use(group, until);
    }
  }
  /// How many entries are kept: at most twice those left by the last sweep, or 2 × kFew.
  std::size_t remembered() const { return ends_.size(); }

 private:
  static constexpr std::size_t kFew = 32;

  void sweep(Time now) {
    std::erase_if(ends_, [now](const auto& pause) { return pause.second <= now; });
    after_sweep_ = std::max(kFew, ends_.size());
  }

  base::TextMap<Time> ends_;
  std::size_t after_sweep_ = kFew;  // entries left by the last sweep, at least kFew
};

}  // namespace penstock::flow
