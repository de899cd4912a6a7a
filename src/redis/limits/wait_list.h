// SPDX-License-Identifier: Apache-2.0
// What the lanes of one upstream were told to wait for: the upstream's limits, for whichever of them comes next, and
// those groups that wait for limits of their own. Redis knows the groups by their keys only. Pure. For redis_booker.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text_map.h"
#include "flow/limiter.h"

namespace penstock::redis {

class WaitList {
 public:
  using Scope = flow::Booking::Scope;

  /// A lane was answered so: what it was told before does not count any more.
  void answered(std::string_view group, std::string_view key, const flow::Booking& booking) {
    const bool waits = booking.stop == flow::Booking::Stop::turn && booking.not_before != 0;
    if (booking.scope == Scope::upstream || !waits) {
      has_reservation_ = waits;
      not_before_ = waits ? booking.not_before : 0;
    }
    if (waits && booking.scope == Scope::group) {
      groups_[std::string(key)] = {std::string(group), booking.not_before};
    } else {
      give_up(Scope::group, key);
    }
  }
  /// Nobody wants that any more. False: this process does not stand in that line.
  bool give_up(Scope scope, std::string_view key) {
    if (scope == Scope::upstream) return std::exchange(has_reservation_, false);
    const auto known = groups_.find(key);
    if (known == groups_.end()) return false;
    groups_.erase(known);
    return true;
  }
  /// The places in line stay, but their times are those of other limits.
  void forget_times() {
    not_before_ = 0;
    for (auto& [key, one] : groups_) one.not_before = 0;
  }
  /// It stands in no line.
  bool empty() const { return !has_reservation_ && groups_.empty(); }
  /// The group of that key, if it waits for limits of its own.
  const std::string* group_of(std::string_view key) const {
    const auto known = groups_.find(key);
    return known == groups_.end() ? nullptr : &known->second.group;
  }
  /// A moment before which no lane of that group was told to leave; 0: none.
  flow::Time not_before(std::string_view key) const {
    const auto known = groups_.find(key);
    return known == groups_.end() ? not_before_ : std::max(not_before_, known->second.not_before);
  }
  /// Nothing counts any more. The groups that waited for limits of their own.
  std::vector<std::string> forget() {
    std::vector<std::string> names;
    for (auto& [key, one] : groups_) names.push_back(std::move(one.group));
    *this = {};
    return names;
  }

 private:
  struct One {
    std::string group;
    flow::Time not_before;
  };

  bool has_reservation_ = false;  // of the upstream
  flow::Time not_before_ = 0;     // as last told of the upstream; 0: nothing
  base::TextMap<One> groups_;
};

}  // namespace penstock::redis
