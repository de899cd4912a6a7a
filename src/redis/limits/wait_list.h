// SPDX-License-Identifier: Apache-2.0
// What the lanes of one upstream were told to wait for: the upstream's limits, where one entry serves whichever lane
// comes next, and groups and routes that wait for limits of their own. Redis knows these only by the keys of their
// lines. Says whether the upstream is in use. Pure. For shared_limiter.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text_map.h"
#include "flow/lane_key.h"
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
  void answered(flow::LaneKey lane, std::string_view key, const flow::Booking& booking) {
    const bool waits = booking.stop == flow::Booking::Stop::turn && booking.not_before != 0;
    if (booking.scope == Scope::upstream || !waits) {
      has_reservation_ = waits;
      not_before_ = waits ? booking.not_before : 0;
    }
    if (waits && booking.scope != Scope::upstream) {
      lines_[std::string(key)] = {flow::LaneName(lane), booking.scope, booking.not_before};
    } else {
      give_up(Scope::group, key);
    }
  }
  /// No lane wants that departure any more. False: this process has no reservation in that line.
  bool give_up(Scope scope, std::string_view key) {
    if (scope == Scope::upstream) return std::exchange(has_reservation_, false);
    const auto known = lines_.find(key);
    if (known == lines_.end()) return false;
    lines_.erase(known);
    return true;
  }
  /// The same for all lanes of a route that wait for its limits. Those in whose lines this process has a reservation.
  std::vector<flow::LaneName> give_up_route(std::string_view route) {
    std::vector<flow::LaneName> lanes;
    std::erase_if(lines_, [&](const auto& line) {
      const bool is_meant = line.second.scope == Scope::route && line.second.lane.route == route;
      if (is_meant) lanes.push_back(line.second.lane);
      return is_meant;
    });
    return lanes;
  }
  /// Reservations stay, but their times are dropped, since they came from other limits.
  void forget_times() {
    not_before_ = 0;
    for (auto& [key, one] : lines_) one.not_before = 0;
  }
  /// This process stands in no line.
  bool empty() const { return !has_reservation_ && lines_.empty(); }
  /// A lane waits in the line with that key.
  bool waits(std::string_view key) const { return lines_.contains(key); }
  /// The time before which no lane of that line was told to leave; 0: none.
  flow::Time not_before(std::string_view key) const {
    const auto known = lines_.find(key);
    return known == lines_.end() ? not_before_ : std::max(not_before_, known->second.not_before);
  }
  /// Drops everything. What lanes were told to wait for no longer counts: all may ask again.
  void wake(flow::LimiterEvents& lanes) {
    const auto lines = std::exchange(lines_, {});
    has_reservation_ = false;
    not_before_ = 0;
    lanes.retry(Scope::upstream, {});
    for (const auto& [key, one] : lines) lanes.retry(one.scope, one.lane);
  }
  /// Redis calls the lanes of the whole upstream, or those of the line with that key.
  void call(std::string_view key, flow::LimiterEvents& lanes) const {
    if (key.empty()) return lanes.retry(Scope::upstream, {});
    const auto known = lines_.find(key);
    if (known == lines_.end()) return;
    const One one = known->second;  // its entry changes meanwhile
    lanes.retry(one.scope, one.lane);
  }

 private:
  struct One {
    flow::LaneName lane;
    Scope scope;
    flow::Time not_before;
  };

  bool has_reservation_ = false;  // in the line of the upstream
  flow::Time not_before_ = 0;     // as last told for the upstream; 0: nothing
  base::TextMap<One> lines_;
  flow::Time last_asked_ = std::numeric_limits<flow::Time>::min() / 2;
};

}  // namespace penstock::redis
