// SPDX-License-Identifier: Apache-2.0
// The shared semaphores of one upstream as they are configured. Each has a number that never changes; its place in the
// configuration may, and one that is gone keeps its number while this process holds its permits. Pure. For semaphores.
#pragma once

#include <algorithm>
#include <functional>
#include <variant>
#include <vector>

#include "flow/lane_key.h"
#include "flow/limiter.h"
#include "penstock/limits.h"

namespace penstock::redis {

class SemaphoreTable {
 public:
  struct Row {
    flow::LimitIndex number;
    flow::LimitIndex place;  ///< kNoLimit: gone
    LimitConfig config;
    bool is_new = true;   ///< since the last change
    bool changed = true;  ///< by the last change, in any way
    bool gone() const { return place == flow::kNoLimit; }
    bool of_group() const { return config.per == LimitConfig::Per::group; }
    flow::Time lease() const { return std::get<SemaphoreConfig>(config.kind).lease.count(); }
    std::int64_t capacity() const { return std::get<SemaphoreConfig>(config.kind).capacity; }
    bool governs(flow::LaneKey lane) const {
      return !(of_group() && lane.group.empty()) && penstock::governs(config, lane.route);
    }
    flow::Booking::Scope scope() const { return flow::scope_of(config); }
  };

  explicit SemaphoreTable(const std::vector<LimitConfig>& limits);

  /// Replaces the limits. A semaphore with the name, scope and route of one before stays the same; a new one gets a
  /// number that none had before. Of those that are gone, only those that are held are kept.
  void change(const std::vector<LimitConfig>& limits, const std::function<bool(flow::LimitIndex)>& is_held);

  bool any() const { return !rows_.empty() && !rows_.front().gone(); }
  /// All limits are shared semaphores: a lane with a permit may leave.
  bool permits_only() const { return permits_only_; }
  const Row& row(flow::LimitIndex number) const { return *std::ranges::find(rows_, number, &Row::number); }
  /// The number of the semaphore at this place.
  flow::LimitIndex at(flow::LimitIndex place) const;
  /// Calls `use` for each that applies to this lane, in the order of the configuration.
  template <typename Use>
  void each_of(flow::LaneKey lane, Use use) const {
    for (const Row& row : rows_) {
      if (row.gone()) break;
      if (row.governs(lane)) use(row);
    }
  }
  /// 0: there is none.
  flow::Time shortest_lease() const;

 private:
  std::vector<Row> rows_;         // in the limits' order; then those gone and not forgotten
  flow::LimitIndex next_number_;  // a number that none has had
  bool permits_only_;
};

}  // namespace penstock::redis
