// SPDX-License-Identifier: Apache-2.0
// The limiter that keeps all limits in this process and answers at once. A departure is at the latest of the limits'
// frontiers; all limits commit it, or none does. Without limits every departure is now. Used by proxy/ and redis/.
// One call of landed() or give_back() must end each departure granted or booked: it holds a semaphore's permit.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/departure_search.h"
#include "flow/limit_set.h"
#include "flow/limiter.h"
#include "flow/pauses.h"
#include "flow/rehearsed_limiter.h"
#include "penstock/limits.h"

namespace penstock::flow {

/// Reads the limits of a LocalLimiter.
class LocalReader final : public LimitReader {
 public:
  /// Both must outlive this.
  LocalReader(const LimitSet& limits, const LimitClock& clock) : limits_(limits), clock_(clock) {}
  void read(Time now, std::string_view group, const TellReading& tell) const override;
  std::vector<std::string> fullest_groups(Time now, std::size_t most) const override {
    return limits_.fullest(clock_.instant(now), most);
  }

 private:
  const LimitSet& limits_;
  const LimitClock& clock_;
};

class LocalLimiter final : public Limiter {
 public:
  /// `at_zero` is the Instant at which the caller's clock shows 0, rounded down to whole microseconds.
  /// `epoch` is the epoch of its first departures.
  explicit LocalLimiter(std::vector<LimitConfig> limits = {}, Instant at_zero = 0, ConfigEpoch epoch = 0);

  bool ask(Time now, const Ask& ask, Booking& booking) override;
  LimitIndex forbids(const Load& load, std::string_view route = {}) const override;
  /// Units before it are taken to cost what the load does.
  Time expected(Time now, LaneKey lane, const Load& load, std::int64_t units, const OtherUnits& others) const override {
    return expected(now, lane, Load(1, load.cost), units + load.weight - 1, others, {});
  }
  Time ahead(Time now, LaneKey lane, std::int64_t units, const OtherUnits& others) const override;
  std::unique_ptr<RehearsedLimiter> rehearsal(Time, std::span<const std::string_view> groups) const override {
    return std::make_unique<RehearsedLimiter>(limits_.copy(groups), clock_, epoch_);
  }
  void give_back(Time now, LaneKey lane, const Departure& departure) override;
  Departure report_late(LaneKey lane, Departure departure, Time at) override;
  bool settle(Time now, LaneKey lane, const Departure& departure, int cost) override;
  void refused(Time now, LaneKey lane, const Departure& departure) override;
  void learned(Time now, LaneKey lane, const Departure& departure, const Report& report) override;
  bool landed(Time now, LaneKey lane) override;
  void cancel_wait(Time now, Booking::Scope scope, LaneKey lane) override;
  void pause(Time now, std::string_view group, Time until) override;
  bool shorten_pauses(Time now, Time latest) override;

  LocalReader* reader() override { return &reader_; }

  /// The same while other processes wait for the limits that are shared.
  Time expected(Time now, LaneKey lane, const Load& load, std::int64_t units, const OtherUnits& others,
                const OtherProcesses& processes) const;
  /// The state that a limit of the whole upstream or of a route has among all processes, see Limit::heard().
  void heard(LimitIndex limit, Instant since, std::int64_t much);
  /// Likewise, of a slidingWindow.
  void heard(LimitIndex limit, std::span<const Instant> times, const ByStrangers& strangers);

  bool has_room_for(std::string_view group) const override {
    return limits_.groups() < kMostGroups || limits_.find(group);
  }
  bool forgettable(Time now) const override;
  void change(Time now, const std::vector<LimitConfig>& limits) override;
  void count_existing(Time now, LaneKey lane, std::size_t departures) override;

  /// As change(), but does not bring the new limits up to a time. What was due by `now` happens by the old ones.
  void set_limits(std::vector<LimitConfig> limits, std::optional<Time> now = std::nullopt);
  /// The epoch of departures granted from now on.
  ConfigEpoch epoch() const { return epoch_; }
  /// What of a departure is beyond what a limit allows: it delays later ones, or is forgotten.
  enum class Excess : std::uint8_t { is_debt, is_dropped };
  /// Records a departure granted elsewhere: all limits in which its epoch counts commit it, even if they would not have
  /// allowed it. Granted without regard to the limits, each counts it at most until it is full (`is_dropped`).
  void book(Time at, LaneKey lane, const Load& load, ConfigEpoch epoch = 0, Excess excess = Excess::is_debt);
  struct Look {
    std::function<bool(LimitIndex limit)> counts;  ///< which limits are considered; empty: all
    DepartureSearch::Others others = {};           ///< what other lanes are about to take
  };
  /// The earliest time at which the limits that `counts` says allow a departure, however near to an edge that is; only
  /// limits in which its epoch counts. nullopt: no time is known (a counter is not reset yet, or a permit is missing).
  std::optional<Time> allowed_from(Time now, LaneKey lane, const Load& load, ConfigEpoch epoch,
                                   const std::function<bool(LimitIndex limit)>& counts);
  /// Tells what ask() would grant first, or why it would grant nothing; grants nothing itself.
  void look(Time now, const Ask& ask, Booking& booking, const Look& look);
  /// Notes how much was left of a limit for all processes. A group is remembered from now on.
  void note_left(LimitIndex limit, std::string_view group, const Remaining& left) {
    limits_.note_left(limit, group, left);
  }
  /// What was noted; null if the group is not known or nothing was noted for it.
  Remaining* left_of(LimitIndex limit, std::string_view group) { return limits_.left_of(limit, group); }
  /// Replaces each limit by what `exchange` returns, also limits of groups that are remembered later. `exchange` may
  /// change `left`.
  void exchange(LimitSet::Exchange exchange) { limits_.exchange(std::move(exchange)); }
  /// The limits' clock has moved against the loop's: remembered times stay the same on the limits' clock.
  void set_clock(Instant at_zero) { clock_ = {std::floor(at_zero)}; }
  /// The limits' clock was wrong until now: remembered times stay the same on the loop's clock.
  void correct_clock(Instant at_zero);
  /// Tells Limit::state() of every limit that has one; those of no group first, with an empty group.
  using TellState = std::function<void(LimitIndex limit, std::string_view group, const std::string& state)>;
  void states(const TellState& tell) const;
  const LimitSet& limits() const { return limits_; }

 private:
  bool can_never_grant(Time now, const Ask& ask, Booking& booking) const;

  LimitSet limits_;
  LimitClock clock_;
  ConfigEpoch epoch_;
  LocalReader reader_{limits_, clock_};
};

}  // namespace penstock::flow
