// SPDX-License-Identifier: Apache-2.0
// What one process remembers of its own departures at one upstream, wherever they were granted: by this it goes on
// alone after `whenDown`, hands in what Redis has lost, and keeps limits that are not shared. Pure.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "flow/booker.h"
#include "flow/local_booker.h"
#include "penstock/config.h"
#include "penstock/limits.h"
#include "redis/apart.h"

namespace penstock::redis {

class Shadow {
 public:
  /// `limits` must outlive it; whenever they have changed, change() is to be called.
  Shadow(const std::vector<LimitConfig>& limits, flow::Instant at_zero);

  void change(const std::vector<Apart::One>& apart);
  void set_clock(flow::Instant at_zero);
  /// Granted by Redis.
  void book(flow::Time at, std::string_view group, int weight, flow::Era era) { all_.book(at, group, weight, era); }
  void give_back(flow::Time now, std::string_view group, const flow::Departure& departure);
  /// It counts as booked for `booked`, or later.
  void left(std::string_view group, const flow::Departure& departure, flow::Time booked, flow::Time at);
  /// All departures, and the limits as they are in force: undivided, or the share of one process.
  flow::LocalBooker& all() { return all_; }
  const flow::LocalBooker& all() const { return all_; }

  /// From now on limits that are shared are divided by so many; from then on whole again.
  void go_alone(int processes);
  void come_back();
  /// The same of these alone; of all others no more.
  void set_apart(const std::vector<Apart::One>& limits, int processes);
  /// What is granted without Redis.
  void answer(flow::Time now, const flow::Ask& ask, WhenDown rule, flow::Booking& booking);

  /// Whether Redis knows of this departure.
  bool granted_alone(flow::Time at) const { return at <= alone_until_; }
  bool has_unknown() const { return all_unknown_ || unknown_; }
  /// Redis has lost everything.
  void all_is_unknown() { all_unknown_ = true; }
  /// Tells what Redis does not know, which counts as known from now on.
  void hand_in(const flow::LocalBooker::TellState& tell);

 private:
  void granted(const flow::Ask& ask, const flow::Departure& departure);
  void divide();

  const std::vector<LimitConfig>& limits_;
  flow::Instant at_zero_;
  flow::LocalBooker all_;
  std::unique_ptr<flow::LocalBooker> unknown_;  // granted alone since Redis was last told; none: nothing
  bool all_unknown_ = false;
  bool alone_ = false;
  std::vector<flow::LimitIndex> apart_;
  int processes_ = 1;
  flow::Time alone_until_;  // the latest departure granted alone
};

}  // namespace penstock::redis
