// SPDX-License-Identifier: Apache-2.0
// The limits of an upstream in the order of its configuration, also those of its routes and those that each group has
// for itself, and the pauses among them. Groups are remembered as long as their limits need it. Internal to flow/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "flow/groups.h"
#include "flow/lane_key.h"
#include "flow/limit.h"
#include "flow/limiter.h"
#include "flow/load.h"
#include "flow/pause_limit.h"
#include "penstock/limits.h"

namespace penstock::flow {

class LimitSet {
 public:
  struct Rule {
    LimitConfig config;
    std::unique_ptr<Limit> limit;  // `per: group`: one without departures, for all groups that are not remembered
    Remaining left;                // not for `per: group`
    ConfigEpoch since = 0;         // departures of earlier epochs do not count in it
    bool is_new = true;            // came with the last change, or with the limiter
    bool looked_at = true;         // false only between look_at() and look_at_all()
    bool counts_flights() const { return std::holds_alternative<SemaphoreConfig>(config.kind); }
    bool counts(ConfigEpoch epoch) const { return since <= epoch || counts_flights(); }
    /// Departures count in every limit; a tunnel that resumes, with weight 0, only in semaphores.
    bool sees(int weight) const { return weight > 0 || counts_flights(); }
    bool of_group() const { return config.per == LimitConfig::Per::group; }
    bool counts_cost() const { return !config.unit.empty(); }
    /// How many units a request takes of it.
    int amount(const Load& load) const { return counts_cost() ? load.cost : load.weight; }
    /// How many of them must be free when it leaves.
    int needs(const Load& load) const { return counts_cost() ? 1 : load.weight; }
    void commit(Limit& of_rule, Instant at, const Load& load) const {
      counts_cost() ? of_rule.commit_cost(at, load.cost) : of_rule.commit(at, load.weight);
    }
    /// It governs the requests of that route; empty: those without one.
    bool governs(std::string_view route) const { return penstock::governs(config, route); }
    /// It governs some requests alone, of a group or a route.
    bool narrow() const { return scope() != Booking::Scope::upstream; }
    bool refuses() const { return config.mode == LimitConfig::Mode::refuse; }
    Booking::Scope scope() const { return scope_of(config); }
    /// Whether departures beyond the limit delay later ones that would be allowed otherwise (a debt).
    bool may_overdraw() const {
      return !counts_flights() && (counts_cost() || !std::holds_alternative<SlidingWindowConfig>(config.kind));
    }
  };
  struct Group {
    std::unique_ptr<std::unique_ptr<Limit>[]> limits;  // one for each `per: group` rule, in their order
    std::unique_ptr<Remaining[]> left;                 // likewise; null: nothing was noted
    PauseLimit pause;
  };

  std::size_t size() const { return rules_.size(); }
  const Rule& rule(LimitIndex limit) const { return *rules_[static_cast<std::size_t>(limit)]; }
  Rule& rule(LimitIndex limit) { return *rules_[static_cast<std::size_t>(limit)]; }
  /// Whether there is a limit of the whole upstream.
  bool has_wide() const { return wide_rules_ > 0; }
  const PauseLimit& pause() const { return pause_; }

  /// The same limits in the same state, with the groups of these names alone. It refers to this one's parameters, and
  /// must not outlive it.
  LimitSet copy(std::span<const std::string_view> groups) const;

  /// Calls use(limit, rule, index) for each limit in the order of the configuration, whatever its route; null: of an
  /// unknown group.
  template <typename Use>
  void each_of_any_route(const Group* group, Use use) const {
    std::size_t of_group = 0;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      const Rule& rule = *rules_[i];
      const bool own = group && rule.of_group();
      use(own ? *group->limits[of_group++] : *rule.limit, rule, static_cast<LimitIndex>(i));
    }
  }
  /// The same for those that govern the requests of that route.
  template <typename Use>
  void each(const Group* group, std::string_view route, Use use) const {
    each_of_any_route(group, [&](Limit& limit, const Rule& rule, LimitIndex index) {
      if (rule.governs(route)) use(limit, rule, index);
    });
  }
  /// Of a group that is not known: one without departures.
  const Limit& limit(LimitIndex limit, std::string_view group) const;
  const Group* find(std::string_view name) const { return groups_.find(name); }
  std::size_t groups() const { return groups_.size(); }
  /// Brings the limits that govern this lane up to the time. Null: its group is not known.
  Group* refreshed(Instant at, LaneKey lane);
  /// Brings all limits up to the time.
  void refresh_all(Instant at);
  /// The same group; it is known from now on if any limit of the lane is `per: group`.
  Group* remembered(LaneKey lane, Group* known) {
    return !known && needs_group(lane.route) ? &remember(lane.group) : known;
  }
  /// Counts a departure in all limits in which its epoch counts. Returns remembered(lane, known).
  Group* commit(Instant at, LaneKey lane, Group* known, const Load& load, ConfigEpoch epoch) {
    known = remembered(lane, known);
    each(known, lane.route, [&](Limit& limit, const Rule& rule, LimitIndex) {
      if (rule.sees(load.weight) && rule.counts(epoch)) rule.commit(limit, at, load);
    });
    return known;
  }
  /// The same, but each limit counts it only up to what it allows, and keeps no debt for the excess.
  void commit_within(Instant at, LaneKey lane, Group* known, const Load& load, ConfigEpoch epoch);
  /// No departure of the group is before `until`; with an empty name: none at all.
  void extend_pause(std::string_view name, Group* known, Instant until);
  /// All pauses end at `latest` at the latest. True: some were to end later.
  bool shorten_pauses(Instant latest);
  bool forgettable(Instant at) const;
  /// The clock was corrected: all that is remembered happened later by this much.
  void shift(Instant by);

  /// These limits hold from now on. One with the name, kind, scope and route of an old one goes on from its state;
  /// departures before `epoch` do not count in others.
  void replace(std::vector<LimitConfig> limits, ConfigEpoch epoch);
  /// Whether these are the same limits, perhaps with other parameters.
  bool same_shape(const std::vector<LimitConfig>& limits) const;
  /// A semaphore came with the last change, or with the limiter: it does not know who holds its permits.
  bool has_new_semaphore() const;
  /// Replaces each limit by what `exchange` returns, also limits of groups that are remembered later.
  using Exchange =
      std::function<std::unique_ptr<Limit>(LimitIndex limit, std::unique_ptr<Limit> known, Remaining& left)>;
  void exchange(Exchange exchange);
  /// Only those limits that `counts` says are looked at until look_at_all(); empty: all.
  void look_at(const std::function<bool(LimitIndex limit)>& counts);
  void look_at_all() { look_at({}); }

  /// Of whose limits most is used, at most `most` groups, the fullest first. Of more than kMostRead the others are not
  /// looked at.
  std::vector<std::string> fullest(Instant at, std::size_t most) const;

  // How much was left of a limit for all processes.
  /// A group is remembered from now on.
  void note_left(LimitIndex limit, std::string_view group, const Remaining& left);
  /// What was noted; null if the group is not known or nothing was noted for it.
  Remaining* left_of(LimitIndex limit, std::string_view group);
  /// Calls use(limit, group, index) for each limit; those of no group first, with an empty group.
  template <typename Use>
  void each_of_all(Use use) const {
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (!rules_[i]->of_group()) use(*rules_[i]->limit, std::string_view(), static_cast<LimitIndex>(i));
    }
    groups_.each([&](std::string_view name, const Group& group) {
      for (std::size_t i = 0, n = 0; i < rules_.size(); ++i) {
        if (rules_[i]->of_group()) use(*group.limits[n++], name, static_cast<LimitIndex>(i));
      }
    });
  }

 private:
  Group& remember(std::string_view name);
  bool needs_group(std::string_view route) const;
  bool forgettable(Instant at, const Group& group) const;
  std::size_t place_in_group(LimitIndex limit) const;
  void replace_limits_of_groups(const std::vector<const Rule*>& before);

  static constexpr std::size_t kMostRead = 10'000;  // within a millisecond

  std::vector<std::unique_ptr<Rule>> rules_;  // limits keep references to them
  std::size_t group_rules_ = 0;
  std::size_t wide_rules_ = 0;  // those of the whole upstream
  Exchange exchange_;
  PauseLimit pause_;  // of the upstream
  Groups<Group> groups_;
};

/// The first of the limits that govern the route which never admits such a load; kNoLimit: none.
LimitIndex forbidding(const LimitSet& limits, const Load& load, std::string_view route);

}  // namespace penstock::flow
