// SPDX-License-Identifier: Apache-2.0
// The limits of one upstream that a process quarantines, because Redis has a foreign value under their keys: limits of
// the whole upstream, and those of single groups. Pure. For shared_limiter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "flow/limiter.h"

namespace penstock::redis {

class Quarantine {
 public:
  struct Part {
    flow::LimitIndex limit = flow::kNoLimit;
    std::string group;  ///< the group's name; empty: the upstream's own limit
    bool operator==(const Part&) const = default;
  };

  const std::vector<Part>& all() const { return all_; }
  bool contains(flow::LimitIndex limit, std::string_view group) const {
    return std::ranges::any_of(all_, [=](const Part& one) { return one.limit == limit && one.group == group; });
  }
  /// False: it is quarantined already, or there is no room for more.
  bool add(Part one) {
    if (all_.size() == kMost || contains(one.limit, one.group)) return false;
    all_.push_back(std::move(one));
    return true;
  }
  bool remove(const Part& one) { return std::erase(all_, one) > 0; }
  /// The limits have new numbers: number_of(limit), or kNoLimit if a limit is gone or no longer shared.
  template <typename NumberOf>
  void renumber(NumberOf number_of) {
    for (Part& one : all_) one.limit = number_of(one.limit);
    std::erase_if(all_, [](const Part& one) { return one.limit == flow::kNoLimit; });
  }
  /// The quarantined limits that apply to this group, including the upstream's own.
  std::vector<flow::LimitIndex> of(std::string_view group) const {
    std::vector<flow::LimitIndex> limits;
    for (const Part& one : all_) {
      if (one.group.empty() || one.group == group) limits.push_back(one.limit);
    }
    return limits;
  }

 private:
  static constexpr std::size_t kMost = 64;  // each is tried once a second, and searched on each ask

  std::vector<Part> all_;
};

}  // namespace penstock::redis
