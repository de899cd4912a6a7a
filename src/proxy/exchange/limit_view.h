// SPDX-License-Identifier: Apache-2.0
// The limits of one upstream as people see them: how much of each is used, what has departed in each, and which groups
// are fullest. A departure costs two additions; all else is computed when somebody looks. Limits in shadow mode exist
// for people alone, so they are kept here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/text_map.h"
#include "flow/limiter.h"
#include "flow/scheduler.h"
#include "loop/loop.h"
#include "penstock/duration.h"
#include "penstock/limits.h"
#include "penstock/snapshot.h"
#include "proxy/exchange/shadow_watch.h"

namespace penstock::proxy {

class LimitView {
 public:
  /// How many groups are shown.
  static constexpr std::size_t kShown = 20;

  /// `limits`: those that hold requests; `shadow`: those in shadow mode.
  LimitView(const loop::Loop& loop, const std::vector<LimitConfig>& limits, std::vector<LimitConfig> shadow);

  /// They stay in place until change().
  const std::vector<LimitConfig>& configured() const { return *configured_; }
  /// These limits hold from now on. `moved` gives for each old one its new index. Returns the old ones, to which a
  /// limiter may still refer.
  using Limits = std::unique_ptr<const std::vector<LimitConfig>>;
  Limits change(Limits limits, std::span<const flow::LimitIndex> moved);

  /// Likewise for those in shadow mode.
  void change_shadow(flow::Time now, std::vector<LimitConfig> shadow);

  /// A request of this load takes off. The rest as of ShadowWatch.
  WouldWait departed(flow::LaneKey lane, const flow::Load& load, Duration most) {
    departed_.add(load);
    if (!lane.route.empty()) count_in(lane.route, load);
    return shadow_ ? shadow_->took_off(loop_.now(), lane, load, most) : WouldWait{};
  }
  bool forgettable(flow::Time now) const { return !shadow_ || shadow_->forgettable(now); }

  // `reader`: the limiter's.
  std::vector<LimitSnapshot> limits(flow::Time now, const flow::LimitReader* reader) const;
  /// Those with most pending; of those with as many, those whose limits are used most.
  std::vector<GroupSnapshot> groups(flow::Time now, const flow::LimitReader* reader, const flow::Lanes& lanes) const;

 private:
  struct Departed {
    std::uint64_t requests = 0, units = 0, cost = 0;
    void add(const flow::Load& load) {
      ++requests;
      units += static_cast<std::uint64_t>(load.weight);
      cost += static_cast<std::uint64_t>(load.cost);
    }
  };
  void count_in(std::string_view route, const flow::Load& load);
  /// By requests that the limit governs, whenever it came.
  const Departed& departed_in(const LimitConfig& limit) const;
  LimitSnapshot shown(flow::LimitIndex limit, const flow::LimitReading& reading) const;
  std::uint64_t units_in(std::size_t limit) const;

  const loop::Loop& loop_;
  Limits configured_;
  Departed departed_;                    // in all limits of the upstream
  base::TextMap<Departed> of_routes_;    // in those of each route that has some
  std::vector<Departed> not_seen_;       // of each limit: what had departed when it came
  std::unique_ptr<ShadowWatch> shadow_;  // null: there are none
};

}  // namespace penstock::proxy
