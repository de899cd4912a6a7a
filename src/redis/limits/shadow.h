// SPDX-License-Identifier: Apache-2.0
// What one process remembers of its own departures at one upstream, wherever they were granted: by this it goes on
// alone after `whenDown`, hands in what Redis has lost, and keeps limits that are not shared. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flow/limiter.h"
#include "flow/local_limiter.h"
#include "penstock/config.h"
#include "penstock/limits.h"
#include "redis/limits/quarantine.h"

namespace penstock::redis {

class Shadow {
 public:
  /// `limits` must outlive it; whenever they have changed, change() is to be called.
  Shadow(const std::vector<LimitConfig>& limits, flow::Instant at_zero);

  void change(flow::Time now, const std::vector<Quarantine::Part>& apart);
  void set_clock(flow::Instant at_zero);
  /// The clock by which it remembers, which is Redis' as far as that is known, and the loop's.
  std::int64_t by_memory(flow::Time time) const { return time + static_cast<std::int64_t>(at_zero_); }
  flow::Time by_loop(std::int64_t time) const { return time - static_cast<std::int64_t>(at_zero_); }
  /// Granted by Redis.
  void book(std::string_view group, flow::Departure& departure);
  void give_back(flow::Time now, std::string_view group, const flow::Departure& departure);
  flow::Departure report_late(std::string_view group, flow::Departure departure, flow::Time at);
  /// All departures, and the limits as they are in force: undivided, or the share of one process.
  flow::LocalLimiter& all() { return all_; }
  const flow::LocalLimiter& all() const { return all_; }

  /// So much is left of a limit, as Redis told last.
  void note_left(std::string_view group, flow::LimitIndex limit, const flow::Remaining& left);
  /// So many units were booked of a limit, and it was not said how many are left.
  void note_taken(std::string_view group, flow::LimitIndex limit, std::int64_t units);
  /// From now on each limit that is shared is kept by its part for one of so many, and what was left of it is divided,
  /// too; from then on it is whole again.
  void go_alone(flow::Time now, int processes);
  void come_back(flow::Time now);
  /// The same of these alone; of all others no more.
  void quarantine(flow::Time now, const std::vector<Quarantine::Part>& limits, int processes);
  /// What is granted without Redis.
  void answer(flow::Time now, const flow::Ask& ask, WhenDown rule, flow::Booking& booking);

  bool has_unknown() const { return all_unknown_ || (unknown_ && told_ == 0); }
  bool has_untold() const { return all_unknown_ || unknown_ || later_; }
  bool is_all_unknown() const { return all_unknown_; }
  /// Redis has lost everything.
  void all_is_unknown() { all_unknown_ = true; }
  /// Tells what Redis does not know, which counts as known once handed_in() says that it was heard. Where Redis may
  /// have lost everything: of each limit all, and of that what it never knew. Gives the telling its number.
  using Tell = std::function<void(flow::LimitIndex limit, std::string_view group, const std::string& state,
                                  const std::string& untold)>;
  std::uint64_t replay(const Tell& tell);
  /// What was not heard is to be told again. False: that telling does not count, for a later one has told the same.
  bool replayed(std::uint64_t telling, bool heard);

 private:
  void granted(const flow::Ask& ask, const flow::Departure& departure, bool unlimited);
  bool by_part(flow::LimitIndex limit) const;
  void divide(flow::Time now);
  template <typename Use>
  void each_untold(const flow::Departure& departure, Use use);
  void remember(flow::Departure& departure) const;
  flow::Departure as_remembered(flow::Departure departure) const;

  const std::vector<LimitConfig>& limits_;
  flow::Instant at_zero_;
  bool knows_clock_ = false;
  flow::LocalLimiter all_;
  std::unique_ptr<flow::LocalLimiter> unknown_;  // granted alone, of which Redis has not heard; none: nothing
  std::unique_ptr<flow::LocalLimiter> later_;    // of that, what was granted since it is being told
  std::uint64_t tellings_ = 0;                   // so far
  std::uint64_t told_ = 0;                       // the last of them, until it is answered; 0: it was
  bool told_all_ = false;                        // by that
  bool all_unknown_ = false;
  bool alone_ = false;
  std::vector<flow::LimitIndex> quarantine_;
  std::vector<std::shared_ptr<LimitConfig>> parts_;  // the limits of one process, for those that refer to them
  int processes_ = 1;
  flow::Time alone_until_;     // the latest departure granted alone
  flow::Time told_until_ = 0;  // the latest of those that are being told
};

}  // namespace penstock::redis
