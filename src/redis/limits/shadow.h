// SPDX-License-Identifier: Apache-2.0
// A process's memory of its own departures at one upstream, whether Redis or `whenDown` granted them. By it the process
// goes on alone, hands in what Redis has lost, and keeps limits that are not shared. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flow/limiter.h"
#include "flow/local_limiter.h"
#include "penstock/config.h"
#include "penstock/limits.h"
#include "redis/limits/recent.h"
#include "redis/limits/untold.h"

namespace penstock::redis {

class Shadow {
 public:
  /// `limits` must outlive the shadow; change() must be called whenever they have changed. `memory`: departures that
  /// were counted before, without Redis.
  Shadow(const std::vector<LimitConfig>& limits, flow::Instant at_zero,
         std::unique_ptr<flow::LocalLimiter> memory = nullptr);
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;
  /// For another owner, who has other limits from now on.
  void refer_to(flow::Time now, const std::vector<LimitConfig>& limits);
  /// Gives up what it remembers, by undivided limits. Only the destructor may be called afterwards.
  std::unique_ptr<flow::LocalLimiter> release(flow::Time now);

  /// `by_part`: limits that are kept by one process's part from now on, as in divide_some().
  void change(flow::Time now, std::vector<flow::LimitIndex> by_part);
  void set_clock(flow::Instant at_zero);
  /// A time as it is remembered: it stays the same on the memory's clock, or on the loop's clock if Redis' clock was
  /// not known yet.
  struct Remembered {
    flow::Time at = 0;           ///< on the loop's clock
    std::int64_t in_memory = 0;  ///< on the memory's clock; 0: Redis' clock was not known
  };
  Remembered remembered(flow::Time at) const { return {at, knows_clock_ ? by_memory(at) : 0}; }
  flow::Time recalled(const Remembered& one) const { return one.in_memory != 0 ? by_loop(one.in_memory) : one.at; }
  /// Books a departure that Redis granted.
  void book(flow::LaneKey lane, flow::Departure& departure);
  void give_back(flow::Time now, flow::LaneKey lane, const flow::Departure& departure);
  void refused(flow::Time now, flow::LaneKey lane, const flow::Departure& departure);
  void learned(flow::Time now, flow::LaneKey lane, const flow::Departure& departure, const flow::Report& report);
  flow::Departure report_late(flow::LaneKey lane, flow::Departure departure, flow::Time at);
  bool settle(flow::Time now, flow::LaneKey lane, const flow::Departure& departure, int cost);
  /// All departures, with the limits as they are in force: undivided, or one process's part.
  flow::LocalLimiter& all() { return *all_; }
  /// How many units were granted lately.
  Recent& recent() { return recent_; }
  const flow::LocalLimiter& all() const { return *all_; }

  /// Notes what is left of a limit, as Redis told last.
  void note_left(std::string_view group, flow::LimitIndex limit, const flow::Remaining& left);
  /// Notes that so many units were booked in a limit, when Redis did not tell how many are left.
  void note_taken(std::string_view group, flow::LimitIndex limit, std::int64_t units);
  /// From now on each shared limit is kept by one process's part, and what was left of it is divided, too. come_back()
  /// makes the limits whole again.
  void go_alone(flow::Time now, int processes);
  void come_back(flow::Time now);
  /// The same for these limits only: all others are whole again, unless the process is alone.
  void divide_some(flow::Time now, std::vector<flow::LimitIndex> limits, int processes);
  /// Grants departures without Redis.
  void answer(flow::Time now, const flow::Ask& ask, WhenDown rule, flow::Booking& booking);

  bool has_unknown() const { return untold_.is_due(); }
  bool has_untold() const { return untold_.any(); }
  bool is_all_unknown() const { return untold_.is_all(); }
  /// Redis has lost everything.
  void all_is_unknown() { untold_.add_all(); }
  /// Tells what Redis does not know; this counts as known once replayed() says that it was heard. If Redis may have
  /// lost everything, tells the whole state of each limit, and the part of it that Redis never knew. Returns the number
  /// of this telling.
  std::uint64_t replay(const Untold::Tell& tell) { return untold_.tell(tell); }
  /// The outcome of a telling; if it was not heard, all is told again. False: it does not count, because a later
  /// telling has told the same.
  bool replayed(std::uint64_t telling, bool heard) { return untold_.told(telling, heard); }

 private:
  /// Converts between the clock of the memory, which is Redis' clock as far as known, and the loop's clock.
  std::int64_t by_memory(flow::Time time) const { return time + static_cast<std::int64_t>(at_zero_); }
  flow::Time by_loop(std::int64_t time) const { return time - static_cast<std::int64_t>(at_zero_); }
  bool by_part(flow::LimitIndex limit) const;
  void divide(flow::Time now);
  void remember(flow::Departure& departure) const;
  flow::Departure as_remembered(flow::Departure departure) const;

  const std::vector<LimitConfig>* limits_;
  flow::Instant at_zero_;
  bool knows_clock_ = false;
  std::unique_ptr<flow::LocalLimiter> all_;
  Recent recent_;
  Untold untold_;
  bool alone_ = false;
  std::vector<flow::LimitIndex> by_part_;            // by divide_some()
  std::vector<std::shared_ptr<LimitConfig>> parts_;  // one process's limits, shared with the limits that use them
  int processes_ = 1;
};

}  // namespace penstock::redis
