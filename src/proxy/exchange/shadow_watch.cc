// SPDX-License-Identifier: Apache-2.0
// See shadow_watch.h.
#include "proxy/exchange/shadow_watch.h"

#include <cstddef>
#include <utility>

#include "flow/limit_remap.h"
#include "proxy/exchange/upstream_view.h"
#include "proxy/route/grouping.h"

namespace penstock::proxy {

ShadowWatch::ShadowWatch(const loop::Loop& loop, std::vector<LimitConfig> limits)
    : configured_(std::move(limits)),
      counts_(configured_.size()),
      limits_(configured_, flow::instant_at_zero(loop.wall(), loop.now())) {}

void ShadowWatch::change(flow::Time now, std::vector<LimitConfig> limits) {
  std::vector<Count> counts(limits.size());
  const auto moved = flow::limit_remap(configured_, limits);
  for (std::size_t i = 0; i < moved.size(); ++i) {
    if (moved[i] >= 0) counts[static_cast<std::size_t>(moved[i])] = counts_[i];
  }
  counts_ = std::move(counts);
  configured_ = std::move(limits);
  limits_.change(now, configured_);
}

WouldWait ShadowWatch::took_off(flow::Time now, flow::LaneKey lane, const flow::Load& load, Duration most) {
  if (!limits_.has_room_for(lane.group)) lane.group = kOtherGroups;
  const auto held = limits_.took_off(now, lane, load, most.count());
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (governs(configured_[i], lane.route))
      counts_[i].units += static_cast<std::uint64_t>(configured_[i].unit.empty() ? load.weight : load.cost);
  }
  if (held.by == flow::kNoLimit) return {};
  const auto by = static_cast<std::size_t>(held.by);
  ++counts_[by].would_wait;
  return {.wait = Duration{held.wait}, .limit = limit_name(configured_[by])};
}

void ShadowWatch::show(flow::Time now, std::vector<LimitSnapshot>& into) const {
  limits_.reader().read(now, {}, [&](flow::LimitIndex limit, const flow::LimitReading& reading) {
    const auto index = static_cast<std::size_t>(limit);
    LimitSnapshot& shown = into.emplace_back(limit_snapshot(configured_[index], reading));
    shown.units = counts_[index].units;
    shown.would_wait = counts_[index].would_wait;
  });
}

void ShadowWatch::show(flow::Time now, std::string_view group, std::vector<LimitSnapshot>& into) const {
  limits_.reader().read(now, group, [&](flow::LimitIndex limit, const flow::LimitReading& reading) {
    into.push_back(limit_snapshot(configured_[static_cast<std::size_t>(limit)], reading));
  });
}

}  // namespace penstock::proxy
