// SPDX-License-Identifier: Apache-2.0
// The limits of one upstream that its process keeps apart from the others, because what Redis has under their keys is
// not ours: those of the whole upstream, and those of single groups. Pure. For redis_booker.
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
    std::string group;  ///< its name; empty: the limit is the upstream's own
    bool operator==(const Part&) const = default;
  };

  const std::vector<Part>& all() const { return all_; }
  bool contains(flow::LimitIndex limit, std::string_view group) const {
    return std::ranges::any_of(all_, [=](const Part& one) { return one.limit == limit && one.group == group; });
  }
  /// False: it is one of them already, or they are as many as are looked after.
  bool add(Part one) {
    if (all_.size() == kMost || contains(one.limit, one.group)) return false;
    all_.push_back(std::move(one));
    return true;
  }
  bool remove(const Part& one) { return std::erase(all_, one) > 0; }
  /// Limits have other numbers now: number_of(limit), kNoLimit where it is gone or not shared any more.
  template <typename NumberOf>
  void renumber(NumberOf number_of) {
    for (Part& one : all_) one.limit = number_of(one.limit);
    std::erase_if(all_, [](const Part& one) { return one.limit == flow::kNoLimit; });
  }
  /// Those that count for this group, the upstream's own among them.
  std::vector<flow::LimitIndex> of(std::string_view group) const {
    std::vector<flow::LimitIndex> limits;
    for (const Part& one : all_) {
      if (one.group.empty() || one.group == group) limits.push_back(one.limit);
    }
    return limits;
  }

 private:
  static constexpr std::size_t kMost = 64;  // each is tried once a second, and looked through on each ask

  std::vector<Part> all_;
};

}  // namespace penstock::redis
