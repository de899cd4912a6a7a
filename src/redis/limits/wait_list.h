// SPDX-License-Identifier: Apache-2.0
// What the lanes of one upstream were told to wait for: the upstream's limits, where one entry serves whichever lane
// comes next, and groups that wait for limits of their own. Redis knows groups only by their keys. Says whether the
// upstream is in use. Pure. For shared_limiter.
#pragma once

#include <algorithm>
#include <limits>
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

  /// A lane asks.
  void asked(flow::Time now) { last_asked_ = now; }
  /// A lane waits, or has asked a short while ago.
  bool in_use(flow::Time now) const { return now - last_asked_ < kInUse || !empty(); }
  static constexpr flow::Time kInUse = 4'000'000;  ///< µs after the last ask

  /// A lane's ask was answered with `booking`: what the lane was told before no longer counts.
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
  /// No lane wants that departure any more. False: this process has no reservation in that line.
  bool give_up(Scope scope, std::string_view key) {
    if (scope == Scope::upstream) return std::exchange(has_reservation_, false);
    const auto known = groups_.find(key);
    if (known == groups_.end()) return false;
    groups_.erase(known);
    return true;
  }
  /// Reservations stay, but their times are dropped, since they came from other limits.
  void forget_times() {
    not_before_ = 0;
    for (auto& [key, one] : groups_) one.not_before = 0;
  }
  /// This process stands in no line.
  bool empty() const { return !has_reservation_ && groups_.empty(); }
  /// The name of the group with that key, if it waits for limits of its own.
  const std::string* group_of(std::string_view key) const {
    const auto known = groups_.find(key);
    return known == groups_.end() ? nullptr : &known->second.group;
  }
  /// The time before which no lane of that group was told to leave; 0: none.
  flow::Time not_before(std::string_view key) const {
    const auto known = groups_.find(key);
    return known == groups_.end() ? not_before_ : std::max(not_before_, known->second.not_before);
  }
  /// Drops everything. Returns the groups that waited for limits of their own.
  std::vector<std::string> forget() {
    std::vector<std::string> names;
    for (auto& [key, one] : groups_) names.push_back(std::move(one.group));
    groups_.clear();
    has_reservation_ = false;
    not_before_ = 0;
    return names;
  }
  /// What lanes were told to wait for no longer counts: all may ask again.
  void wake(flow::LimiterEvents& lanes) {
    const auto groups = forget();
    lanes.retry(Scope::upstream, {});
    for (const auto& group : groups) lanes.retry(Scope::group, group);
  }
  /// Redis calls the lanes of the whole upstream, or of the group with that key.
  void call(std::string_view key, flow::LimiterEvents& lanes) const {
    if (key.empty()) return lanes.retry(Scope::upstream, {});
    const std::string* waiting = group_of(key);
    if (!waiting) return;
    const std::string name = *waiting;  // its entry changes meanwhile
    lanes.retry(Scope::group, name);
  }

 private:
  struct One {
    std::string group;
    flow::Time not_before;
  };

  bool has_reservation_ = false;  // in the line of the upstream
  flow::Time not_before_ = 0;     // as last told for the upstream; 0: nothing
  base::TextMap<One> groups_;
  flow::Time last_asked_ = std::numeric_limits<flow::Time>::min() / 2;
};

}  // namespace penstock::redis
