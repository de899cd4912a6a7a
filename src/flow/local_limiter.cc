// SPDX-License-Identifier: Apache-2.0
// Composes the limits of one process: takes the latest frontier of all, then commits to all or to none.
#include "flow/local_limiter.h"

#include <algorithm>
#include <ranges>

#include "flow/limit_remap.h"
#include "flow/make_limit.h"

namespace penstock::flow {

using Stop = Booking::Stop;
using Scope = Booking::Scope;

namespace {
constexpr Time kHopeless = 1'000'000;  // retry interval of a request which no longer fits into a changed limit
constexpr Instant kImprecision = 0.001;
}  // namespace

/// The latest frontiers of the limits for one departure that is no earlier than a base.
struct LocalLimiter::Frontiers {
  Moment all;    ///< of all limits and the base; of equal ones the first in the configuration
  Moment wide;   ///< of the limits of the whole upstream and the base
  Moment group;  ///< of the limits of the group
  Moment refusing;
  Moment delaying;
  LimitIndex full = kNoLimit;  ///< the first without a permit
};

LocalLimiter::LocalLimiter(std::vector<LimitConfig> limits, Instant at_zero, ConfigEpoch epoch)
    : epoch_(epoch), at_zero_(std::floor(at_zero)) {
  replace_rules(std::move(limits));
}

// ---- an ask ---------------------------------------------------------------------------------------------------------

bool LocalLimiter::ask(Time now, const Ask& ask, Booking& booking) {
  if (can_never_grant(now, ask.weight, booking)) return true;
  Group* group = refreshed(now, ask.group);
  Moment last{instant(now)};
  while (booking.departures.size() < ask.count && find_next(now, group, ask.weight, last, booking)) {
    group = commit(last.at, ask.group, group, ask.weight, epoch_);
    booking.departures.push_back(departure(now, last, ask.weight));
  }
  return true;
}

void LocalLimiter::look(Time now, const Ask& ask, Booking& booking, const Look& look) {
  if (can_never_grant(now, ask.weight, booking)) return;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    rules_[i]->looked_at = !look.counts || look.counts(static_cast<LimitIndex>(i));
  }
  others_ = look.departures, others_units_ = look.units;
  Moment first{instant(now)};
  if (find_next(now, refreshed(now, ask.group), ask.weight, first, booking)) {
    booking.departures.push_back(departure(now, first, ask.weight));
  }
  for (const auto& rule : rules_) rule->looked_at = true;
  others_ = others_units_ = 0;
}

std::optional<Time> LocalLimiter::allowed_from(Time now, std::string_view group, int weight, ConfigEpoch epoch,
                                               const std::function<bool(LimitIndex limit)>& counts) {
  Moment latest{instant(now)};
  each_limit(refreshed(now, group), [&](const Limit& limit, const Rule& rule, LimitIndex index) {
    if (!counts(index) || !rule.sees(weight) || !rule.counts(epoch)) return;
    latest.raise(limit.full() ? kNever : limit.frontier(weight), index);
  });
  return latest.at == kNever ? std::nullopt : std::optional(time(latest.at));
}

/// A request that a changed limit can never admit waits, and asks again, until the limits change again.
bool LocalLimiter::can_never_grant(Time now, int weight, Booking& booking) const {
  const LimitIndex by = forbids(weight);
  if (by == kNoLimit) return false;
  booking.scope = Scope::group;
  booking.limited_by = by;
  booking.ask_again = booking.not_before = now + kHopeless;
  return true;
}

Departure LocalLimiter::departure(Time now, Moment moment, int weight) const {
  const Time at = time(moment.at);
  return {.at = at, .weight = weight, .limited_by = at > now ? moment.by : kNoLimit, .epoch = epoch_};
}

/// Moves `last` on to the next departure; or returns false and says in `booking` why there is none.
bool LocalLimiter::find_next(Time now, const Group* group, int weight, Moment& last, Booking& booking) const {
  const Frontiers found = frontiers(last, group, weight);
  if (found.refusing.at > instant(now) && found.refusing.at > found.delaying.at) {
    booking.stop = Stop::refused;
    booking.scope = rules_[found.refusing.by]->of_group() ? Scope::group : Scope::upstream;
    booking.limited_by = found.refusing.by;
    booking.ask_again = booking.not_before = time(estimate(now, group, weight, found.refusing));
    return false;
  }
  if (has_wide() && found.group.at > found.wide.at + static_cast<Instant>(kGroupReach) + kImprecision) {
    booking.scope = Scope::group;
    tell_wait(now, group, weight, found.group, kGroupReach, booking);
    return false;
  }
  const Moment next = weight > 0 ? after_guard(found.all, group) : found.all;
  if (rounded_up(next.at) > instant(now + kHorizon)) {
    const bool by_group = !has_wide() && (next.by >= 0 || found.group.at > found.wide.at);
    booking.scope = by_group ? Scope::group : Scope::upstream;
    tell_wait(now, group, weight, next, kHorizon, booking);
    return false;
  }
  if (found.full != kNoLimit) {
    const bool refuses = rules_[found.full]->config.mode == LimitConfig::Mode::refuse;
    booking.stop = refuses ? Stop::refused : Stop::permit;
    booking.scope = rules_[found.full]->of_group() ? Scope::group : Scope::upstream;
    booking.limited_by = found.full;
    booking.not_before = time(next.at);
    return false;
  }
  last = next;
  return true;
}

LocalLimiter::Frontiers LocalLimiter::frontiers(Moment base, const Group* group, int weight) const {
  Frontiers found{.all = base, .wide = base};
  each_limit(group, [&](const Limit& limit, const Rule& rule, LimitIndex index) {
    if (!rule.looked_at || !rule.sees(weight)) return;
    const bool behind_others = others_units_ > 0 && !rule.of_group();
    const Instant frontier =
        behind_others ? limit.frontier_behind(base.at, others_units_, weight) : limit.frontier(weight);
    found.all.raise(frontier, index);
    (rule.of_group() ? found.group : found.wide).raise(frontier, index);
    (rule.config.mode == LimitConfig::Mode::refuse ? found.refusing : found.delaying).raise(frontier, index);
    if (found.full == kNoLimit && limit.full(rule.of_group() ? 0 : others_)) found.full = index;
  });
  for (const PauseLimit* hold : {&pause_, group ? &group->hold : nullptr}) {
    if (!hold || weight == 0) continue;
    const Instant until = hold->frontier(weight);
    found.all.raise(until, kPause);
    (hold == &pause_ ? found.wide : found.group).raise(until, kPause);
    found.delaying.raise(until, kPause);
  }
  return found;
}

// A moment far enough from the edge of one window may be too near to another window's edge: hence several rounds.
LocalLimiter::Moment LocalLimiter::after_guard(Moment moment, const Group* group) const {
  if (moment.at == kNever) return moment;
  Instant before = kAlways;
  for (int rounds = 8; rounds > 0 && moment.at > before; --rounds) {
    before = moment.at;
    each_limit(group, [&](const Limit& limit, const Rule& rule, LimitIndex index) {
      if (rule.looked_at) moment.raise(limit.after_guard(moment.at), index);
    });
  }
  return moment;
}

void LocalLimiter::tell_wait(Time now, const Group* group, int weight, Moment moment, Time reach,
                             Booking& booking) const {
  booking.limited_by = moment.by;
  booking.not_before = time(estimate(now, group, weight, moment));
  booking.ask_again = booking.not_before - reach;
  if (moment.at != kNever) return;
  each_limit(group, [&](const Limit& limit, const Rule& rule, LimitIndex) {
    if (rule.looked_at && limit.frontier(weight) == kNever)
      booking.ask_again = std::max(booking.ask_again, time(limit.reset_at()));
  });
}

/// The moment; or, if it is kNever because only a reset will tell, an estimate.
Instant LocalLimiter::estimate(Time now, const Group* group, int weight, Moment moment) const {
  if (moment.at != kNever) return moment.at;
  Moment latest{instant(now)};
  each_limit(group, [&](const Limit& limit, const Rule& rule, LimitIndex index) {
    if (!rule.looked_at) return;
    const Instant frontier = limit.frontier(weight);
    latest.raise(frontier == kNever ? limit.ahead(instant(now), weight - 1) : frontier, index);
  });
  return latest.at;
}

// ---- what else happens ----------------------------------------------------------------------------------------------

LimitIndex LocalLimiter::forbids(int weight) const {
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    if (!rules_[i]->limit->admits(weight)) return static_cast<LimitIndex>(i);
  }
  return kNoLimit;
}

Time LocalLimiter::ahead(Time now, std::string_view group, std::int64_t units, std::int64_t others) const {
  return expected(now, group, 1, units, others, {});
}

/// How long the slowest limit takes for `units` that another limit lets leave at once.
Instant LocalLimiter::taken_for(const Group* group, std::int64_t units) const {
  Instant longest = 0;
  if (units > 0) {
    each_limit(group,
               [&](const Limit& limit, const Rule&, LimitIndex) { longest = std::max(longest, limit.takes(units)); });
  }
  return longest;
}

Time LocalLimiter::expected(Time now, std::string_view group, int weight, std::int64_t units, std::int64_t others,
                            const OtherProcesses& processes) const {
  Moment latest{instant(now)};
  const Group* known = groups_.find(group);
  each_limit(known, [&](const Limit& limit, const Rule& rule, LimitIndex index) {
    const std::int64_t own = rule.of_group() ? units : units + others;
    const OtherProcesses of_others = rule.config.shared ? processes : OtherProcesses{};
    const std::int64_t before = own + of_others.before(own) + weight - 1;
    const Instant at = limit.expected(instant(now), own, weight, of_others);
    latest.raise(at + taken_for(known, limit.in_its_step(instant(now), before)), index);
  });
  latest.raise(pause_.frontier(1), kPause);
  if (known) latest.raise(known->hold.frontier(1), kPause);
  return time(latest.at);
}

void LocalLimiter::heard(LimitIndex limit, Instant since, std::int64_t much) {
  Rule& rule = *rules_[static_cast<std::size_t>(limit)];
  if (!rule.of_group()) rule.limit->heard(since, much);
}

void LocalLimiter::give_back(Time now, std::string_view group, const Departure& departure) {
  each_limit(refreshed(now, group), [&](Limit& limit, const Rule& rule, LimitIndex) {
    if (rule.counts(departure.epoch)) limit.give_back(instant(departure.at), departure.weight);
  });
}

Departure LocalLimiter::report_late(std::string_view group, Departure departure, Time at) {
  const Group* known = refreshed(at, group);
  if (group_rules_ > 0 && !known) known = &remember(group);
  each_limit(known, [&](Limit& limit, const Rule& rule, LimitIndex) {
    if (rule.counts(departure.epoch)) limit.moved(instant(departure.at), instant(at), departure.weight);
  });
  departure.at = at;
  return departure;
}

bool LocalLimiter::landed(Time, std::string_view group) {
  bool freed = false;
  each_limit(groups_.find(group), [&](Limit& limit, const Rule& rule, LimitIndex) {
    limit.landed();
    freed |= std::holds_alternative<SemaphoreConfig>(rule.config.kind) && !limit.full();
  });
  return freed;
}

void LocalLimiter::cancel_wait(Time, Booking::Scope, std::string_view) {}

void LocalLimiter::pause(Time now, std::string_view group, Time until) {
  Group* known = refreshed(now, group);
  if (!group.empty() && !known) known = &remember(group);
  (group.empty() ? pause_ : known->hold).extend(instant(until));
}

void LocalLimiter::book(Time at, std::string_view group, int weight, ConfigEpoch epoch) {
  commit(instant(at), group, refreshed(at, group), weight, epoch);
}

void LocalLimiter::book_unlimited(Time at, std::string_view group, int weight, ConfigEpoch epoch) {
  commit(instant(at), group, refreshed(at, group), weight, epoch, true);
}

bool LocalLimiter::forgettable(Time now) const {
  const Instant at = instant(now);
  const auto needed = [&](const auto& rule) { return !rule->of_group() && rule->limit->forgettable_at() > at; };
  if (pause_.forgettable_at() > at || anonymous_.count(now) > 0 || std::ranges::any_of(rules_, needed)) return false;
  return groups_.all_of([&](const Group& group) { return forgettable_by(at, group); });
}

void LocalLimiter::correct_clock(Instant at_zero) {
  const Instant by = std::floor(at_zero) - at_zero_;
  at_zero_ += by;
  pause_.shift(by);
  for (const auto& rule : rules_) {
    if (rule->limit) rule->limit->shift(by);
  }
  groups_.each([this, by](std::string_view, Group& group) {
    group.hold.shift(by);
    for (std::size_t i = 0; i < group_rules_; ++i) group.limits[i]->shift(by);
  });
}

void LocalLimiter::states(const TellState& tell) const {
  const auto tell_one = [&](std::size_t index, std::string_view group, const Limit& limit) {
    if (const std::string state = limit.state(); !state.empty()) tell(static_cast<LimitIndex>(index), group, state);
  };
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    if (!rules_[i]->of_group()) tell_one(i, {}, *rules_[i]->limit);
  }
  groups_.each([&](std::string_view name, const Group& group) {
    for (std::size_t i = 0, n = 0; i < rules_.size(); ++i) {
      if (rules_[i]->of_group()) tell_one(i, name, *group.limits[n++]);
    }
  });
}

std::string LocalLimiter::state(LimitIndex wanted, std::string_view group) const {
  std::string state;
  each_limit(groups_.find(group), [&](const Limit& limit, const Rule&, LimitIndex index) {
    if (index == wanted) state = limit.state();
  });
  return state;
}

std::string LocalLimiter::taken(LimitIndex wanted, std::string_view group) const {
  std::string taken;
  each_limit(groups_.find(group), [&](const Limit& limit, const Rule&, LimitIndex index) {
    if (index == wanted) taken = limit.taken();
  });
  return taken;
}

void LocalLimiter::note_left(LimitIndex limit, std::string_view group, const Remaining& left) {
  Rule& rule = *rules_[static_cast<std::size_t>(limit)];
  if (!rule.of_group()) {
    rule.left = left;
    return;
  }
  Group* known = groups_.find(group);
  if (!known) known = &remember(group);
  if (!known->left) known->left = std::make_unique<Remaining[]>(group_rules_);
  known->left[place_in_group(limit)] = left;
}

Remaining* LocalLimiter::left_of(LimitIndex limit, std::string_view group) {
  Rule& rule = *rules_[static_cast<std::size_t>(limit)];
  if (!rule.of_group()) return &rule.left;
  Group* known = groups_.find(group);
  return known && known->left ? &known->left[place_in_group(limit)] : nullptr;
}

/// The limit's index among the `per: group` limits.
std::size_t LocalLimiter::place_in_group(LimitIndex limit) const {
  const auto of_group = [](const auto& rule) { return rule->of_group(); };
  return static_cast<std::size_t>(std::count_if(rules_.begin(), rules_.begin() + limit, of_group));
}

void LocalLimiter::exchange(Exchange exchange) {
  exchange_ = std::move(exchange);
  for (std::size_t i = 0, n = 0; i < rules_.size(); ++i) {
    Rule& rule = *rules_[i];
    const auto index = static_cast<LimitIndex>(i);
    rule.limit = exchange_(index, std::move(rule.limit), rule.left);
    if (!rule.of_group()) continue;
    groups_.each([&](std::string_view, Group& group) {
      Remaining none;
      group.limits[n] = exchange_(index, std::move(group.limits[n]), group.left ? group.left[n] : none);
    });
    ++n;
  }
}

LocalLimiter::Group* LocalLimiter::commit(Instant at, std::string_view name, Group* group, int weight,
                                          ConfigEpoch epoch, bool within) {
  if (group_rules_ > 0 && !group) group = &remember(name);
  each_limit(group, [&](Limit& limit, const Rule& rule, LimitIndex) {
    if (within && rule.may_overdraw() && limit.frontier(weight) > at) return;
    if (rule.sees(weight) && rule.counts(epoch)) limit.commit(at, weight);
  });
  return group;
}

// ---- changed limits -------------------------------------------------------------------------------------------------

void LocalLimiter::change(Time now, const std::vector<LimitConfig>& limits) {
  set_limits(limits);
  refreshed(now, {});
}

void LocalLimiter::set_limits(std::vector<LimitConfig> limits) {
  epoch_ += same_shape(limits) ? 0 : 1;
  replace_rules(std::move(limits));
}

void LocalLimiter::count_existing(Time now, std::string_view group, std::size_t departures) {
  const auto counts = [](const auto& rule) { return rule->is_new && rule->counts_flights(); };
  if (std::ranges::none_of(rules_, counts)) return;
  Group* known = refreshed(now, group);
  if (group_rules_ > 0 && !known) known = &remember(group);
  each_limit(known, [&](Limit& limit, const Rule& rule, LimitIndex) {
    if (rule.is_new) limit.count_existing(static_cast<std::int64_t>(departures));
  });
}

bool LocalLimiter::same_shape(const std::vector<LimitConfig>& limits) const {
  return std::ranges::equal(rules_, limits, [](const auto& rule, const LimitConfig& other) {
    return same_limit(rule->config, other) && rule->config.shared == other.shared;
  });
}

void LocalLimiter::replace_rules(std::vector<LimitConfig> limits) {
  std::vector<std::unique_ptr<Rule>> rules;
  std::vector<const Rule*> of_groups;
  for (const auto& rule : rules_) {
    if (rule->of_group()) of_groups.push_back(rule.get());
  }
  for (LimitConfig& config : limits) {
    const auto same = [&](const auto& rule) { return rule && same_limit(rule->config, config); };
    const auto known = std::ranges::find_if(rules_, same);
    const bool is_new = known == rules_.end();
    rules.push_back(is_new ? std::make_unique<Rule>() : std::move(*known));
    Rule& rule = *rules.back();
    rule.config = std::move(config);
    rule.is_new = is_new;
    if (!is_new) continue;
    rule.limit = make_limit(rule.config.kind);
    rule.since = epoch_;
  }
  rules_ = std::move(rules);
  replace_limits_of_groups(of_groups);
}

/// Limits of groups refer to their rules: those of removed rules must go, too.
void LocalLimiter::replace_limits_of_groups(const std::vector<const Rule*>& before) {
  constexpr auto kNew = static_cast<std::size_t>(-1);
  std::vector<std::size_t> from;
  for (const auto& rule : rules_) {
    if (!rule->of_group()) continue;
    const auto known = std::ranges::find(before, rule.get());
    from.push_back(known == before.end() ? kNew : static_cast<std::size_t>(known - before.begin()));
  }
  group_rules_ = from.size();
  if (std::ranges::equal(from, std::views::iota(std::size_t{0}, before.size()))) return;
  groups_.each([&](std::string_view, Group& group) {
    auto limits = std::make_unique<std::unique_ptr<Limit>[]>(group_rules_);
    std::size_t n = 0;
    for (const auto& rule : rules_) {
      if (!rule->of_group()) continue;
      limits[n] = from[n] == kNew ? make_limit(rule->config.kind) : std::move(group.limits[from[n]]);
      ++n;
    }
    group.limits = std::move(limits);
    group.left.reset();
  });
}

// ---- limits and groups ----------------------------------------------------------------------------------------------

template <typename Use>
void LocalLimiter::each_limit(const Group* group, Use use) const {
  std::size_t of_group = 0;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const Rule& rule = *rules_[i];
    const bool own = group && rule.of_group();
    use(own ? *group->limits[of_group++] : *rule.limit, rule, static_cast<LimitIndex>(i));
  }
}

LocalLimiter::Group& LocalLimiter::remember(std::string_view name) {
  Group group{.limits = std::make_unique<std::unique_ptr<Limit>[]>(group_rules_)};
  std::size_t n = 0;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    if (rules_[i]->of_group()) group.limits[n++] = new_limit_of_group(static_cast<LimitIndex>(i));
  }
  return groups_.add(name, std::move(group));
}

std::unique_ptr<Limit> LocalLimiter::new_limit_of_group(LimitIndex limit) const {
  auto made = make_limit(rules_[static_cast<std::size_t>(limit)]->config.kind);
  Remaining none;
  return exchange_ ? exchange_(limit, std::move(made), none) : std::move(made);
}

bool LocalLimiter::forgettable_by(Instant at, const Group& group) const {
  Instant forgettable = group.hold.forgettable_at();
  for (std::size_t i = 0; i < group_rules_; ++i) {
    forgettable = std::max(forgettable, group.limits[i]->forgettable_at());
    if (group.left) forgettable = std::max(forgettable, group.left[i].until);
  }
  return forgettable <= at;
}

LocalLimiter::Group* LocalLimiter::refreshed(Time now, std::string_view name) {
  const Instant at = instant(now);
  groups_.sweep([&](const Group& group) { return forgettable_by(at, group); });
  Group* group = groups_.find(name);
  each_limit(group, [&](Limit& limit, const Rule&, LimitIndex) { limit.refresh(at); });
  return group;
}

}  // namespace penstock::flow
