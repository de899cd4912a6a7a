// SPDX-License-Identifier: Apache-2.0
// The booker that keeps limits in this process and answers at once. A departure is at the latest of the limits'
// frontiers; all of them commit it, or none does. Without limits every departure is now. For proxy/ and redis/.
// Each departure granted or booked is ended by one call of landed() or give_back(): a semaphore's permit hangs on it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
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

/// A group's limits never commit those of the upstream further than this beyond what these would have allowed.
inline constexpr Time kGroupReach = 5'000;

class LocalLimiter final : public Limiter {
 public:
  /// `at_zero` is the Instant at which the caller's clock shows 0; whole microseconds of it count.
  /// `era` is that of its first departures.
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

  /// expected() where others wait for the limits that are shared.
  Time expected(Time now, std::string_view group, int weight, std::int64_t units, std::int64_t others,
                const OtherProcesses& processes) const;
  /// A limit of the upstream's stands so with all that share it.
  void heard(LimitIndex limit, Instant since, std::int64_t much);

  bool knows(std::string_view group) const { return groups_.find(group) || anonymous_.until(group) > 0; }
  bool has_room_for(std::string_view group) const override {
    return groups_.size() + anonymous_.remembered() < kMostGroups || knows(group);
  }
  bool forgettable(Time now) const override;
  void change(Time now, const std::vector<LimitConfig>& limits) override;
  void count_existing(Time now, std::string_view group, std::size_t departures) override;

  /// change() at no particular time.
  void set_limits(std::vector<LimitConfig> limits);
  /// That of departures granted from now on.
  ConfigEpoch epoch() const { return epoch_; }
  /// Whether departures of that era count in this limit.
  bool counts(LimitIndex limit, ConfigEpoch epoch) const {
    return rules_[static_cast<std::size_t>(limit)]->since <= epoch;
  }
  /// A departure that was granted elsewhere: all limits in which its era counts commit it, whether or not they would
  /// have allowed it.
  void book(Time at, std::string_view group, int weight, ConfigEpoch epoch = 0);
  /// The same of one that nobody asked the limits for. Each limit counts it as far as that fills it, and is not in debt
  /// for what goes beyond.
  void book_unlimited(Time at, std::string_view group, int weight, ConfigEpoch epoch);
  struct Look {
    std::function<bool(LimitIndex limit)> counts;  ///< which limits are looked at; empty: all
    std::int64_t departures = 0, units = 0;        ///< those that other groups are about to take
  };
  /// Says what ask() would grant first, or why it would grant nothing; grants nothing.
  void look(Time now, const Ask& ask, Booking& booking, const Look& look);
  /// So much was left of a limit, as all processes know it; of a group, which is remembered from now on.
  void note_left(LimitIndex limit, std::string_view group, const Remaining& left);
  /// What was noted; null: nothing was.
  Remaining* left_of(LimitIndex limit, std::string_view group);
  /// Puts another limit in the place of each, and of each of a group that is remembered later; `left` may be changed.
  using Exchange =
      std::function<std::unique_ptr<Limit>(LimitIndex limit, std::unique_ptr<Limit> known, Remaining& left)>;
  void exchange(Exchange exchange);
  /// The other clock has moved. What is remembered stays where it was on that one.
  void set_clock(Instant at_zero) { at_zero_ = std::floor(at_zero); }
  /// It was wrong until now. What is remembered stays where it was on the loop's.
  void correct_clock(Instant at_zero);
  /// Tells Limit::state() of every limit that has any; of the upstream's own first, with an empty group.
  using TellState = std::function<void(LimitIndex limit, std::string_view group, const std::string& state)>;
  void states(const TellState& tell) const;
  /// Of one of them; empty: there is nothing to tell.
  std::string state(LimitIndex limit, std::string_view group) const;
  /// The same of what it has taken as the part of another.
  std::string taken(LimitIndex limit, std::string_view group) const;
  /// Groups of which something is remembered.
  std::size_t groups() const { return groups_.size(); }

 private:
  struct Rule {
    LimitConfig config;
    std::unique_ptr<Limit> limit;  // of a group: one that is never committed, for all groups that are not remembered
    Remaining left;                // of the upstream's own
    ConfigEpoch since = 0;         // earlier departures do not count in it
    bool is_new = true;            // since the last change, or with the booker
    bool looked_at = true;         // false only within look()
    bool counts_flights() const { return std::holds_alternative<SemaphoreConfig>(config.kind); }
    bool counts(ConfigEpoch epoch) const { return since <= epoch || counts_flights(); }
    /// Who departs counts in it; who goes on after a rest, with weight 0, in semaphores alone.
    bool sees(int weight) const { return weight > 0 || counts_flights(); }
    bool of_group() const { return config.per == LimitConfig::Per::group; }
    /// Whether departures beyond the limit hold up those that come when it would be free again.
    bool may_overdraw() const { return !counts_flights() && !std::holds_alternative<SlidingWindowConfig>(config.kind); }
  };
  struct Group {
    std::unique_ptr<std::unique_ptr<Limit>[]> limits;  // in the order of the rules that are of a group
    std::unique_ptr<Remaining[]> left;                 // likewise; nothing: nothing was noted
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

  /// use(limit, rule, index) for each, in the order of the file.
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

  bool exceeds_wait(Time now, int weight, Booking& booking) const;
  Departure departure(Time now, Moment moment, int weight) const;
  Frontiers frontiers(Moment base, const Group* group, int weight) const;
  bool find_next(Time now, const Group* group, int weight, Moment& last, Booking& booking) const;
  Moment after_guard(Moment moment, const Group* group) const;
  Instant taken_for(const Group* group, std::int64_t units) const;
  /// Of all limits; remembers the group from now on.
  Group* commit(Instant at, std::string_view name, Group* group, int weight, ConfigEpoch epoch, bool within = false);

  Instant estimate(Time now, const Group* group, int weight, Moment moment) const;
  void tell_wait(Time now, const Group* group, int weight, Moment moment, Time reach, Booking& booking) const;

  std::vector<std::unique_ptr<Rule>> rules_;  // in the order of the file; where they are, limits refer to them
  std::size_t group_rules_ = 0;
  Exchange exchange_;
  ConfigEpoch epoch_;
  Instant at_zero_;
  std::int64_t others_ = 0, others_units_ = 0;  // not 0 only within look()
  PauseLimit pause_;
  Pauses anonymous_;
  Groups<Group> groups_;
};

}  // namespace penstock::flow
