// SPDX-License-Identifier: Apache-2.0
// Keeps the limits of an upstream and of its groups while the configuration changes and groups come and go.
#include "flow/limit_set.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "flow/limit_remap.h"
#include "flow/make_limit.h"

namespace penstock::flow {

// ---- groups ---------------------------------------------------------------------------------------------------------

LimitSet::Group* LimitSet::refreshed(Instant at, LaneKey lane) {
  groups_.sweep([&](const Group& group) { return forgettable(at, group); });
  Group* group = groups_.find(lane.group);
  each(group, lane.route, [&](Limit& limit, const Rule&, LimitIndex) { limit.refresh(at); });
  return group;
}

void LimitSet::refresh_all(Instant at) {
  each_of_any_route(nullptr, [at](Limit& limit, const Rule&, LimitIndex) { limit.refresh(at); });
  groups_.each([this, at](std::string_view, Group& group) {
    for (std::size_t i = 0; i < group_rules_; ++i) group.limits[i]->refresh(at);
  });
}

bool LimitSet::needs_group(std::string_view route) const {
  const auto is_needed = [&](const auto& rule) { return rule->of_group() && rule->governs(route); };
  return group_rules_ > 0 && std::ranges::any_of(rules_, is_needed);
}

LimitSet::Group& LimitSet::remember(std::string_view name) {
  Group group{.limits = std::make_unique<std::unique_ptr<Limit>[]>(group_rules_)};
  for (std::size_t i = 0, n = 0; i < rules_.size(); ++i) {
    if (!rules_[i]->of_group()) continue;
    auto limit = make_limit(rules_[i]->config.kind, rules_[i]->counts_cost());
    Remaining none;
    group.limits[n++] = exchange_ ? exchange_(static_cast<LimitIndex>(i), std::move(limit), none) : std::move(limit);
  }
  return groups_.add(name, std::move(group));
}

const Limit& LimitSet::limit(LimitIndex limit, std::string_view group) const {
  const Group* known = rule(limit).of_group() ? groups_.find(group) : nullptr;
  return known ? *known->limits[place_in_group(limit)] : *rule(limit).limit;
}

void LimitSet::commit_within(Instant at, LaneKey lane, Group* known, const Load& load, ConfigEpoch epoch) {
  each(remembered(lane, known), lane.route, [&](Limit& limit, const Rule& rule, LimitIndex) {
    if (rule.may_overdraw() && limit.frontier(rule.needs(load)) > at) return;
    if (rule.sees(load.weight) && rule.counts(epoch)) rule.commit(limit, at, load);
  });
}

void LimitSet::extend_pause(std::string_view name, Group* known, Instant until) {
  if (name.empty()) return pause_.extend(until);
  (known ? *known : remember(name)).pause.extend(until);
}

bool LimitSet::shorten_pauses(Instant latest) {
  bool some = pause_.shorten(latest);
  groups_.each([&](std::string_view, Group& group) { some |= group.pause.shorten(latest); });
  return some;
}

bool LimitSet::forgettable(Instant at) const {
  const auto needed = [&](const auto& rule) { return !rule->of_group() && rule->limit->forgettable_at() > at; };
  if (pause_.forgettable_at() > at || std::ranges::any_of(rules_, needed)) return false;
  return groups_.all_of([&](const Group& group) { return forgettable(at, group); });
}

bool LimitSet::forgettable(Instant at, const Group& group) const {
  Instant from = group.pause.forgettable_at();
  for (std::size_t i = 0; i < group_rules_; ++i) {
    from = std::max(from, group.limits[i]->forgettable_at());
    if (group.left) from = std::max(from, group.left[i].until);
  }
  return from <= at;
}

void LimitSet::shift(Instant by) {
  pause_.shift(by);
  for (const auto& rule : rules_) {
    if (rule->limit) rule->limit->shift(by);
  }
  groups_.each([this, by](std::string_view, Group& group) {
    group.pause.shift(by);
    for (std::size_t i = 0; i < group_rules_; ++i) group.limits[i]->shift(by);
  });
}

// ---- a copy ---------------------------------------------------------------------------------------------------------

LimitSet LimitSet::copy(std::span<const std::string_view> groups) const {
  LimitSet other;
  for (const auto& rule : rules_) {
    other.rules_.push_back(std::make_unique<Rule>(Rule{.config = rule->config,
                                                       .limit = rule->limit->copy(),
                                                       .left = rule->left,
                                                       .since = rule->since,
                                                       .is_new = false}));
  }
  other.group_rules_ = group_rules_, other.wide_rules_ = wide_rules_;
  other.exchange_ = exchange_, other.pause_ = pause_;
  for (const std::string_view name : groups) {
    const Group* known = groups_.find(name);
    if (!known || other.groups_.find(name)) continue;
    Group group{
        .limits = std::make_unique<std::unique_ptr<Limit>[]>(group_rules_), .left = nullptr, .pause = known->pause};
    for (std::size_t i = 0; i < group_rules_; ++i) group.limits[i] = known->limits[i]->copy();
    other.groups_.add(name, std::move(group));
  }
  return other;
}

// ---- what is used ---------------------------------------------------------------------------------------------------

std::vector<std::string> LimitSet::fullest(Instant at, std::size_t most) const {
  std::vector<std::pair<double, std::string_view>> all;
  std::size_t looks = kMostRead;
  groups_.each([&](std::string_view name, const Group& group) {
    if (looks == 0) return;
    --looks;
    double fullness = 0;
    for (std::size_t i = 0; i < group_rules_; ++i) {
      fullness = std::max(fullness, group.limits[i]->read(at).fullness());
    }
    all.emplace_back(fullness, name);
  });
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size()));
  std::ranges::partial_sort(all, end, [](const auto& a, const auto& b) {
    return a.first > b.first || (a.first == b.first && a.second < b.second);
  });
  std::vector<std::string> names;
  for (auto one = all.begin(); one != end; ++one) names.emplace_back(one->second);
  return names;
}

// ---- what was left --------------------------------------------------------------------------------------------------

void LimitSet::note_left(LimitIndex limit, std::string_view group, const Remaining& left) {
  if (!rule(limit).of_group()) {
    rule(limit).left = left;
    return;
  }
  Group* const before = groups_.find(group);
  Group& known = before ? *before : remember(group);
  if (!known.left) known.left = std::make_unique<Remaining[]>(group_rules_);
  known.left[place_in_group(limit)] = left;
}

Remaining* LimitSet::left_of(LimitIndex limit, std::string_view group) {
  if (!rule(limit).of_group()) return &rule(limit).left;
  Group* known = groups_.find(group);
  return known && known->left ? &known->left[place_in_group(limit)] : nullptr;
}

/// The limit's index among the `per: group` limits.
std::size_t LimitSet::place_in_group(LimitIndex limit) const {
  const auto of_group = [](const auto& rule) { return rule->of_group(); };
  return static_cast<std::size_t>(std::count_if(rules_.begin(), rules_.begin() + limit, of_group));
}

// ---- other limits ---------------------------------------------------------------------------------------------------

void LimitSet::look_at(const std::function<bool(LimitIndex limit)>& counts) {
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    rules_[i]->looked_at = !counts || counts(static_cast<LimitIndex>(i));
  }
}

void LimitSet::exchange(Exchange exchange) {
  exchange_ = std::move(exchange);
  for (std::size_t i = 0, n = 0; i < rules_.size(); ++i) {
    Rule& rule = *rules_[i];
    const auto index = static_cast<LimitIndex>(i);
    rule.limit = exchange_(index, std::move(rule.limit), rule.left);
    if (!rule.of_group()) continue;
    groups_.each([&](std::string_view, Group& group) {
      Remaining left = group.left ? group.left[n] : Remaining{};
      group.limits[n] = exchange_(index, std::move(group.limits[n]), left);
      if (!group.left && left.until != kAlways) group.left = std::make_unique<Remaining[]>(group_rules_);
      if (group.left) group.left[n] = left;
    });
    ++n;
  }
}

bool LimitSet::same_shape(const std::vector<LimitConfig>& limits) const {
  return std::ranges::equal(rules_, limits, [](const auto& rule, const LimitConfig& other) {
    return same_limit(rule->config, other) && rule->config.shared == other.shared;
  });
}

bool LimitSet::has_new_semaphore() const {
  return std::ranges::any_of(rules_, [](const auto& rule) { return rule->is_new && rule->counts_flights(); });
}

void LimitSet::replace(std::vector<LimitConfig> limits, ConfigEpoch epoch) {
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
    rule.limit = make_limit(rule.config.kind, rule.counts_cost());
    rule.since = epoch;
  }
  rules_ = std::move(rules);
  wide_rules_ =
      static_cast<std::size_t>(std::ranges::count_if(rules_, [](const auto& rule) { return !rule->narrow(); }));
  replace_limits_of_groups(of_groups);
}

/// Limits of groups refer to their rules: those of removed rules must go, too.
void LimitSet::replace_limits_of_groups(const std::vector<const Rule*>& before) {
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
      limits[n] =
          from[n] == kNew ? make_limit(rule->config.kind, rule->counts_cost()) : std::move(group.limits[from[n]]);
      ++n;
    }
    group.limits = std::move(limits);
    group.left.reset();
  });
}

LimitIndex forbidding(const LimitSet& limits, const Load& load, std::string_view route) {
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const auto index = static_cast<LimitIndex>(i);
    const LimitSet::Rule& rule = limits.rule(index);
    if (rule.governs(route) && !rule.limit->admits(rule.needs(load))) return index;
  }
  return kNoLimit;
}

}  // namespace penstock::flow
