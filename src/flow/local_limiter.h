// SPDX-License-Identifier: Apache-2.0
// The limiter that keeps all limits in this process and answers at once. A departure is at the latest of the limits'
// frontiers; all limits commit it, or none does. Without limits every departure is now. Used by proxy/ and redis/.
// One call of landed() or give_back() must end each departure granted or booked: it holds a semaphore's permit.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "flow/groups.h"
#include "flow/limiter.h"
#include "flow/pause_limit.h"
#include "flow/pauses.h"
#include "penstock/limits.h"

namespace penstock::flow {

/// A departure of a group is granted only if the group's frontier is at most this long (µs) after the upstream's: so
/// the limits of the upstream never commit further ahead than this because of a group.
inline constexpr Time kGroupReach = 5'000;

class LocalLimiter final : public Limiter {
 public:
  /// `at_zero` is the Instant at which the caller's clock shows 0, rounded down to whole microseconds.
  /// `epoch` is the epoch of its first departures.
  explicit LocalLimiter(std::vector<LimitConfig> limits = {}, Instant at_zero = 0, ConfigEpoch epoch = 0);

  bool ask(Time now, const Ask& ask, Booking& booking) override;
  LimitIndex forbids(int weight) const override;
  using Limiter::expected;
  Time ahead(Time now, std::string_view group, std::int64_t units, std::int64_t others) const override;
  void give_back(Time now, std::string_view group, const Departure& departure) override;
  Departure report_late(std::string_view group, Departure departure, Time at) override;
  bool landed(Time now, std::string_view group) override;
  void cancel_wait(Time now, Booking::Scope scope, std::string_view group) override;
  void pause(Time now, std::string_view group, Time until) override;
  void pause_anonymous(Time now, std::string_view group, Time until) override { anonymous_.extend(now, group, until); }
  Time anonymous_paused_until(std::string_view group) const override { return anonymous_.until_with_all(group); }

  /// expected() while other processes wait for the limits that are shared.
  Time expected(Time now, std::string_view group, int weight, std::int64_t units, std::int64_t others,
                const OtherProcesses& processes) const;
  /// The state that a limit of the whole upstream has among all processes, see Limit::heard().
  void heard(LimitIndex limit, Instant since, std::int64_t much);

  bool knows(std::string_view group) const { return groups_.find(group) || anonymous_.until(group) > 0; }
  bool has_room_for(std::string_view group) const override {
    return groups_.size() + anonymous_.remembered() < kMostGroups || knows(group);
  }
  bool forgettable(Time now) const override;
  void change(Time now, const std::vector<LimitConfig>& limits) override;
  void count_existing(Time now, std::string_view group, std::size_t departures) override;

  /// As change(), but does not bring the limits up to a time.
  void set_limits(std::vector<LimitConfig> limits);
  /// The epoch of departures granted from now on.
  ConfigEpoch epoch() const { return epoch_; }
  /// Whether departures of that epoch count in this limit.
  bool counts(LimitIndex limit, ConfigEpoch epoch) const {
    return rules_[static_cast<std::size_t>(limit)]->since <= epoch;
  }
  /// Records a departure granted elsewhere: all limits in which its epoch counts commit it, even if they would not have
  /// allowed it.
  void book(Time at, std::string_view group, int weight, ConfigEpoch epoch = 0);
  /// The same for a departure granted without regard to the limits. Each limit counts it at most until it is full, and
  /// keeps no debt for the excess.
  void book_unlimited(Time at, std::string_view group, int weight, ConfigEpoch epoch);
  struct Look {
    std::function<bool(LimitIndex limit)> counts;  ///< which limits are considered; empty: all
    std::int64_t departures = 0, units = 0;        ///< what other groups are about to take
  };
  /// The earliest time at which the limits that `counts` says allow a departure, however near to an edge that is; only
  /// limits in which its epoch counts. nullopt: no time is known (a counter is not reset yet, or a permit is missing).
  std::optional<Time> allowed_from(Time now, std::string_view group, int weight, ConfigEpoch epoch,
                                   const std::function<bool(LimitIndex limit)>& counts);
  /// Tells what ask() would grant first, or why it would grant nothing; grants nothing itself.
  void look(Time now, const Ask& ask, Booking& booking, const Look& look);
  /// Notes how much was left of a limit for all processes. A group is remembered from now on.
  void note_left(LimitIndex limit, std::string_view group, const Remaining& left);
  /// What was noted; null if the group is not known or nothing was noted for it.
  Remaining* left_of(LimitIndex limit, std::string_view group);
  /// Replaces each limit by what `exchange` returns, also limits of groups that are remembered later. `exchange` may
  /// change `left`.
  using Exchange =
      std::function<std::unique_ptr<Limit>(LimitIndex limit, std::unique_ptr<Limit> known, Remaining& left)>;
  void exchange(Exchange exchange);
  /// The limits' clock has moved against the loop's: remembered times stay the same on the limits' clock.
  void set_clock(Instant at_zero) { at_zero_ = std::floor(at_zero); }
  /// The limits' clock was wrong until now: remembered times stay the same on the loop's clock.
  void correct_clock(Instant at_zero);
  /// Tells Limit::state() of every limit that has one; those of the upstream first, with an empty group.
  using TellState = std::function<void(LimitIndex limit, std::string_view group, const std::string& state)>;
  void states(const TellState& tell) const;
  /// Limit::state() of one limit; empty: there is none.
  std::string state(LimitIndex limit, std::string_view group) const;
  /// Limit::taken() of one limit.
  std::string taken(LimitIndex limit, std::string_view group) const;
  /// How many groups are remembered.
  std::size_t groups() const { return groups_.size(); }

 private:
  struct Rule {
    LimitConfig config;
    std::unique_ptr<Limit> limit;  // `per: group`: one without departures, for all groups that are not remembered
    Remaining left;                // only for `per: upstream`
    ConfigEpoch since = 0;         // departures of earlier epochs do not count in it
    bool is_new = true;            // came with the last change, or with the limiter
    bool looked_at = true;         // false only within look()
    bool counts_flights() const { return std::holds_alternative<SemaphoreConfig>(config.kind); }
    bool counts(ConfigEpoch epoch) const { return since <= epoch || counts_flights(); }
    /// Departures count in every limit; a tunnel that resumes, with weight 0, only in semaphores.
    bool sees(int weight) const { return weight > 0 || counts_flights(); }
    bool of_group() const { return config.per == LimitConfig::Per::group; }
    /// Whether departures beyond the limit delay later ones that would be allowed otherwise (a debt).
    bool may_overdraw() const { return !counts_flights() && !std::holds_alternative<SlidingWindowConfig>(config.kind); }
  };
  struct Group {
    std::unique_ptr<std::unique_ptr<Limit>[]> limits;  // one for each `per: group` rule, in their order
    std::unique_ptr<Remaining[]> left;                 // likewise; null: nothing was noted
    PauseLimit hold;
  };
  struct Moment {
    Instant at = kAlways;
    LimitIndex by = kNoLimit;
    void raise(Instant other, LimitIndex other_by) {
      if (other > at) at = other, by = other_by;
    }
  };
  struct Frontiers;

  Instant instant(Time t) const { return at_zero_ + static_cast<Instant>(t); }
  Time time(Instant t) const { return static_cast<Time>(rounded_up(t - at_zero_)); }

  /// Calls use(limit, rule, index) for each limit in the order of the configuration.
  template <typename Use>
  void each_limit(const Group* group, Use use) const;
  bool has_wide() const { return group_rules_ < rules_.size(); }
  bool same_shape(const std::vector<LimitConfig>& limits) const;
  std::size_t place_in_group(LimitIndex limit) const;
  std::unique_ptr<Limit> new_limit_of_group(LimitIndex limit) const;
  void replace_rules(std::vector<LimitConfig> limits);
  void replace_limits_of_groups(const std::vector<const Rule*>& before);
  Group& remember(std::string_view name);
  Group* refreshed(Time now, std::string_view name);
  bool forgettable_by(Instant at, const Group& group) const;

  bool can_never_grant(Time now, int weight, Booking& booking) const;
  Departure departure(Time now, Moment moment, int weight) const;
  Frontiers frontiers(Moment base, const Group* group, int weight) const;
  bool find_next(Time now, const Group* group, int weight, Moment& last, Booking& booking) const;
  Moment after_guard(Moment moment, const Group* group) const;
  Instant taken_for(const Group* group, std::int64_t units) const;
  /// Commits a departure to all limits; the group is remembered from now on. `within`: as book_unlimited().
  Group* commit(Instant at, std::string_view name, Group* group, int weight, ConfigEpoch epoch, bool within = false);

  Instant estimate(Time now, const Group* group, int weight, Moment moment) const;
  void tell_wait(Time now, const Group* group, int weight, Moment moment, Time reach, Booking& booking) const;

  std::vector<std::unique_ptr<Rule>> rules_;  // in the order of the configuration; limits keep references to them
  std::size_t group_rules_ = 0;
  Exchange exchange_;
  ConfigEpoch epoch_;
  Instant at_zero_;
  std::int64_t others_ = 0, others_units_ = 0;  // from Look; 0 outside of look()
  PauseLimit pause_;
  Pauses anonymous_;
  Groups<Group> groups_;
};

}  // namespace penstock::flow
