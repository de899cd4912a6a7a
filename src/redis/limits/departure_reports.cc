// SPDX-License-Identifier: Apache-2.0
// Only limits that look back on departures need to know which leave late.
#include "redis/limits/departure_reports.h"

#include <algorithm>
#include <utility>

#include "flow/limit_remap.h"

namespace penstock::redis {

namespace {

bool looks_back(const LimitConfig& limit) {
  const bool by_times =
      std::holds_alternative<SlidingWindowConfig>(limit.kind) || std::holds_alternative<WindowConfig>(limit.kind);
  return limit.shared && by_times;
}

bool looks_back_on_groups(const LimitConfig& limit) {
  return looks_back(limit) && limit.per == LimitConfig::Per::group;
}

bool looks_back_on_routes(const LimitConfig& limit) { return looks_back(limit) && !limit.route.empty(); }

bool learns(const LimitConfig& limit) { return limit.shared && std::holds_alternative<AdaptiveConfig>(limit.kind); }

}  // namespace

DepartureReports::DepartureReports(UpstreamCalls& calls, const Quarantine& quarantine, Recent& recent,
                                   const std::vector<LimitConfig>& limits)
    : calls_(calls),
      quarantine_(quarantine),
      recent_(recent),
      limits_(limits),
      shared_since_(limits.size()),
      late_(calls.shared().loop(),
            [this](flow::LaneKey lane, const LateReports::Moves& moves) {
              if (calls_.connected()) calls_.report_late(lane, moves, quarantine_.of(lane));
            }),
      learned_(calls_.shared().loop(), [this](std::string_view group, const ScriptArgs::Learned& learned) {
        if (calls_.connected()) calls_.learned(group, learned);
      }) {
  look_at_limits();
}

void DepartureReports::look_at_limits() {
  looks_back_on_groups_ = std::ranges::any_of(limits_, looks_back_on_groups);
  looks_back_on_routes_ = std::ranges::any_of(limits_, looks_back_on_routes);
  learns_ = std::ranges::any_of(limits_, learns);
}

void DepartureReports::give_back(flow::LaneKey lane, std::int64_t at, const flow::Load& load, flow::ConfigEpoch epoch) {
  calls_.give_back(lane, late_.take_back(told_by(lane), at, load), load, not_counting(lane, epoch));
}

/// What Redis was told of as late is told first, so that it stands where it is to be corrected.
void DepartureReports::settle(flow::LaneKey lane, const flow::Departure& departure, int cost) {
  if (cost == departure.cost || departure.unlimited || departure.in_redis <= 0) return;
  if (!calls_.args().counts_cost() || !calls_.connected()) return;
  late_.tell_now();
  if (cost > departure.cost) recent_.add(calls_.clock().to_script(calls_.now()), cost - departure.cost);
  calls_.settle(lane, departure, cost, not_counting(lane, departure.epoch));
}

/// A departure of which Redis was not told counts in no limit there.
void DepartureReports::refused(flow::LaneKey lane, const flow::Departure& departure) {
  if (!learns_ || departure.in_redis <= 0 || !calls_.connected()) return;
  calls_.refused(lane, departure.in_redis, not_counting(lane, departure.epoch));
}

/// Likewise.
void DepartureReports::learned(flow::LaneKey lane, const flow::Departure& departure, const flow::Report& report) {
  const auto& limit = limits_[static_cast<std::size_t>(report.limit)];
  if (!limit.shared || departure.in_redis <= 0 || !calls_.connected() || !calls_.clock().known()) return;
  const auto without = not_counting(lane, departure.epoch);
  if (std::ranges::find(without, report.limit) != without.end()) return;
  learned_.add(limit.per == LimitConfig::Per::group ? lane.group : std::string_view(),
               {report.limit, departure.in_redis, report.count, calls_.clock().to_script(report.resets)});
}

/// Moves it from exactly where Redis has it. The original time, mapped again by what is known of the clocks by now,
/// might fall into another window, and count twice. If Redis is lost within the millisecond of LateReports, it is never
/// told: there the departure counts as if it had left on time.
void DepartureReports::move(flow::LaneKey lane, flow::Departure& departure) {
  if (departure.in_redis <= 0 || !calls_.connected() || !calls_.clock().known()) return;
  if (std::ranges::none_of(limits_, looks_back)) return;
  const std::int64_t from = std::exchange(departure.in_redis, calls_.clock().to_script(departure.at));
  departure.late_in_redis += departure.in_redis - from;
  // In another window it counts once more, from when Redis hears of it; later than that does no harm.
  recent_.add(departure.in_redis + flow::kHorizon, largest(departure.load()));
  late_.add(told_by(lane), {from, departure.in_redis, departure.load()});
}

void DepartureReports::change(const std::vector<LimitConfig>& before, std::span<const flow::LimitIndex> moved,
                              flow::ConfigEpoch epoch) {
  const auto known = std::exchange(shared_since_, std::vector<flow::ConfigEpoch>(limits_.size(), epoch));
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].shared && moved[i] != flow::kNoLimit) shared_since_[static_cast<std::size_t>(moved[i])] = known[i];
  }
  look_at_limits();
  learned_.clear();
}

/// Moves of all groups and routes are told together, unless a limit looks back on those of each.
flow::LaneKey DepartureReports::told_by(flow::LaneKey lane) const {
  return flow::LaneKey(looks_back_on_groups_ ? lane.group : std::string_view(),
                       looks_back_on_routes_ ? lane.route : std::string_view());
}

/// The limits in which a departure of that config epoch does not count in Redis.
std::vector<flow::LimitIndex> DepartureReports::not_counting(flow::LaneKey lane, flow::ConfigEpoch epoch) const {
  std::vector<flow::LimitIndex> limits = quarantine_.of(lane);
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    if (shared_since_[i] > epoch) limits.push_back(static_cast<flow::LimitIndex>(i));
  }
  return limits;
}

}  // namespace penstock::redis
