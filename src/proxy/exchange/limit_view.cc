// SPDX-License-Identifier: Apache-2.0
// See limit_view.h.
#include "proxy/exchange/limit_view.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "proxy/exchange/upstream_view.h"

namespace penstock::proxy {

namespace {

/// The longest queues are compared by their limits, too, since many may be as long as each other.
constexpr std::size_t kMostCompared = 200;

struct Rank {
  std::size_t pending = 0;
  double fullness = 0;
  std::string_view name;
  bool operator>(const Rank& other) const {
    if (pending != other.pending) return pending > other.pending;
    return fullness != other.fullness ? fullness > other.fullness : name < other.name;
  }
};

double fullness_of(flow::Time now, const flow::LimitReader& reader, std::string_view group) {
  double fullest = 0;
  reader.read(now, group, [&fullest](flow::LimitIndex, const flow::LimitReading& reading) {
    if (reading.known) fullest = std::max(fullest, reading.fullness());
  });
  return fullest;
}

/// In the lanes of all its routes.
std::size_t pending_of(const flow::Lanes& lanes, std::string_view group) {
  std::size_t pending = 0;
  lanes.each_of_group(group, [&](const flow::Lane& lane) { pending += lane.queue.places(); });
  return pending;
}

/// Each group that has a lane, once.
std::vector<Rank> by_pending(const flow::Lanes& lanes) {
  std::vector<Rank> ranks;
  const bool one_lane_each = !lanes.any_routes();
  lanes.each([&](const flow::Lane& lane) {
    if (!lane.group().empty()) ranks.push_back({.pending = lane.queue.places(), .name = lane.group()});
  });
  if (one_lane_each) return ranks;
  std::ranges::sort(ranks, {}, &Rank::name);
  std::vector<Rank> groups;
  for (const Rank& rank : ranks) {
    if (groups.empty() || groups.back().name != rank.name) groups.push_back({.name = rank.name});
    groups.back().pending += rank.pending;
  }
  return groups;
}

void keep_first(std::vector<Rank>& ranks, std::size_t most) {
  const auto end = ranks.begin() + static_cast<std::ptrdiff_t>(std::min(most, ranks.size()));
  std::ranges::partial_sort(ranks, end, std::greater<Rank>());
  ranks.erase(end, ranks.end());
}

}  // namespace

LimitView::LimitView(const loop::Loop& loop, const std::vector<LimitConfig>& limits, std::vector<LimitConfig> shadow)
    : loop_(loop),
      configured_(std::make_unique<const std::vector<LimitConfig>>(limits)),
      not_seen_(limits.size()),
      shadow_(shadow.empty() ? nullptr : std::make_unique<ShadowWatch>(loop, std::move(shadow))) {
  for (const auto& limit : limits) {
    if (!limit.route.empty()) of_routes_.try_emplace(limit.route);
  }
}

void LimitView::change_shadow(flow::Time now, std::vector<LimitConfig> shadow) {
  if (shadow.empty()) return shadow_.reset();
  if (shadow_) return shadow_->change(now, std::move(shadow));
  shadow_ = std::make_unique<ShadowWatch>(loop_, std::move(shadow));
}

LimitView::Limits LimitView::change(Limits limits, std::span<const flow::LimitIndex> moved) {
  for (const auto& limit : *limits) {
    if (!limit.route.empty()) of_routes_.try_emplace(limit.route);
  }
  std::vector<Departed> not_seen;
  not_seen.reserve(limits->size());
  for (const auto& limit : *limits) not_seen.push_back(departed_in(limit));
  for (std::size_t i = 0; i < moved.size(); ++i) {
    if (moved[i] >= 0) not_seen[static_cast<std::size_t>(moved[i])] = not_seen_[i];
  }
  not_seen_ = std::move(not_seen);
  return std::exchange(configured_, std::move(limits));
}

/// Without effect for a route that has no limits any more.
void LimitView::count_in(std::string_view route, const flow::Load& load) {
  if (const auto known = of_routes_.find(route); known != of_routes_.end()) known->second.add(load);
}

const LimitView::Departed& LimitView::departed_in(const LimitConfig& limit) const {
  const auto known = limit.route.empty() ? of_routes_.end() : of_routes_.find(limit.route);
  return known == of_routes_.end() ? departed_ : known->second;
}

/// A request takes one permit, whatever its weight. Of costs those that were reserved.
std::uint64_t LimitView::units_in(std::size_t limit) const {
  const LimitConfig& config = (*configured_)[limit];
  const Departed& all = departed_in(config);
  const Departed& before = not_seen_[limit];
  if (!config.unit.empty()) return all.cost - before.cost;
  return std::holds_alternative<SemaphoreConfig>(config.kind) ? all.requests - before.requests
                                                              : all.units - before.units;
}

LimitSnapshot LimitView::shown(flow::LimitIndex limit, const flow::LimitReading& reading) const {
  return limit_snapshot((*configured_)[static_cast<std::size_t>(limit)], reading);
}

std::vector<LimitSnapshot> LimitView::limits(flow::Time now, const flow::LimitReader* reader) const {
  std::vector<LimitSnapshot> all;
  if (!reader) return all;
  reader->read(now, {}, [&](flow::LimitIndex limit, const flow::LimitReading& reading) {
    all.push_back(shown(limit, reading));
    all.back().units = units_in(static_cast<std::size_t>(limit));
  });
  if (shadow_) shadow_->show(now, all);
  return all;
}

std::vector<GroupSnapshot> LimitView::groups(flow::Time now, const flow::LimitReader* reader,
                                             const flow::Lanes& lanes) const {
  if (!reader) return {};
  std::vector<Rank> ranks = by_pending(lanes);
  keep_first(ranks, kMostCompared);
  const auto fullest = reader->fullest_groups(now, kShown);
  for (const auto& name : fullest) {
    const auto known = std::ranges::find(ranks, std::string_view(name), &Rank::name);
    if (known == ranks.end()) ranks.push_back({.pending = pending_of(lanes, name), .name = name});
  }
  for (Rank& rank : ranks) rank.fullness = fullness_of(now, *reader, rank.name);
  keep_first(ranks, kShown);
  std::vector<GroupSnapshot> groups;
  for (const Rank& rank : ranks) {
    groups.push_back({.name = std::string(rank.name), .pending = rank.pending});
    reader->read(now, rank.name, [&](flow::LimitIndex limit, const flow::LimitReading& reading) {
      groups.back().limits.push_back(shown(limit, reading));
    });
    if (shadow_) shadow_->show(now, rank.name, groups.back().limits);
  }
  return groups;
}

}  // namespace penstock::proxy
