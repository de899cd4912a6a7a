// SPDX-License-Identifier: Apache-2.0
// What the lanes of one upstream were told to wait for: the upstream's limits, where one entry serves whichever lane
// comes next, and limits of groups and routes. Redis knows these only by the keys of their lines. Where lanes of
// several groups stand in one line, as those of a route do, its entry is theirs together; what holds one of them alone,
// such as a pause of its group, has an entry of the lane's own. Says whether the upstream is in use. Pure. For
// shared_limiter.
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
#include "redis/limits/group_key.h"

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
  void answered(flow::LaneKey lane, const LaneLines& lines, const flow::Booking& booking) {
    const bool waits = booking.stop == flow::Booking::Stop::turn && booking.not_before != 0;
    if (booking.scope == Scope::upstream || !waits) {
      has_reservation_ = waits;
      not_before_ = waits ? booking.not_before : 0;
    }
    const One told{flow::LaneName(lane), booking.scope, booking.not_before};
    if (waits && booking.scope == Scope::group) return void(lines_[std::string(lines.own)] = told);
    erase(lines.own);
    if (!waits || booking.scope == Scope::upstream) return void(erase(lines.line));
    lines_[std::string(lines.line)] = told;
  }
  /// That lane, with the scope of a route no lane of it, or with that of the upstream no lane at all wants a departure
  /// any more. False: this process has no reservation that was theirs alone.
  bool give_up(Scope scope, const LaneLines& lines) {
    if (scope == Scope::upstream) return std::exchange(has_reservation_, false);
    if (scope == Scope::group) return erase(lines.own) && !lines.shared();
    return lines.shared() && erase(lines.line);  // else each lane gives its own up
  }
  /// The limits have changed, and with them the lines of some lanes. The keys of lines in which this process may still
  /// have a reservation, though its lanes do not stand in them any more.
  template <typename LinesOf>
  std::vector<std::string> leave_former(LinesOf lines_of) {
    std::vector<std::string> former;
    std::erase_if(lines_, [&](const auto& entry) {
      const LaneLines now = lines_of(entry.second.lane);
      if (entry.first == std::string_view(now.line)) return false;
      former.push_back(entry.first);
      return true;
    });
    return former;
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
  /// What holds the lane the longest, and all that this scope stops: the time before which it was told that it does not
  /// leave; 0: none.
  struct Told {
    flow::Time not_before = 0;
    Scope scope = Scope::upstream;
  };
  Told told(const LaneLines& lines) const {
    Told latest{not_before_, Scope::upstream};
    for (const LineKey* line : {&lines.line, lines.shared() ? &lines.own : nullptr}) {
      const auto known = line ? lines_.find(std::string_view(*line)) : lines_.end();
      if (known == lines_.end() || known->second.not_before <= latest.not_before) continue;
      latest = {known->second.not_before, known->second.scope};
    }
    return latest;
  }
  flow::Time not_before(const LaneLines& lines) const { return told(lines).not_before; }
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
  /// As if each line were called of which lanes were told that they leave after `moment`.
  void call_later_than(flow::Time moment, flow::LimiterEvents& lanes) const {
    const auto lines = lines_;  // these change meanwhile
    if (not_before_ > moment) lanes.retry(Scope::upstream, {});
    for (const auto& [key, one] : lines) {
      if (one.not_before > moment) lanes.retry(one.scope, one.lane);
    }
  }

 private:
  using Time = flow::Time;
  struct One {
    flow::LaneName lane;  // the last of them that was told
    Scope scope;
    Time not_before;
  };

  bool erase(std::string_view key) {
    const auto known = lines_.find(key);
    if (known == lines_.end()) return false;
    lines_.erase(known);
    return true;
  }
  bool has_reservation_ = false;  // in the line of the upstream
  flow::Time not_before_ = 0;     // as last told for the upstream; 0: nothing
  base::TextMap<One> lines_;
  flow::Time last_asked_ = std::numeric_limits<flow::Time>::min() / 2;
};

}  // namespace penstock::redis
