// SPDX-License-Identifier: Apache-2.0
// The asks of one upstream that Redis has not answered yet, oldest first, with one timer for all: none waits longer
// than the time-out. Each knows what it has claimed and reserved, and which limits it told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flow/lane_key.h"
#include "flow/limiter.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "redis/limits/semaphores.h"
#include "redis/limits/shadow.h"

namespace penstock::redis {

struct Asking {
  std::string group;
  std::string route = {};
  std::size_t count = 1;
  int weight = 1;
  std::int64_t more = 0;         ///< units beyond these that this process wants of the same line's limits
  Shadow::Remembered base = {};  ///< limits kept in this process allow nothing before this time
  bool reserved = false;         ///< these limits keep a departure for it meanwhile
  flow::Time until = 0;
  bool late = false;                           ///< it was answered without Redis
  bool called = false;                         ///< lanes were told to ask again while it was under way
  Semaphores::Claims claims = {};              ///< of spare permits
  flow::Time told = 0;                         ///< when it told of semaphores
  std::vector<flow::LimitIndex> without = {};  ///< quarantined limits
  flow::ConfigEpoch epoch = 0;                 ///< config epoch of what it is granted
  /// If the limits have changed since it was sent: present places of the numbers in its reply.
  std::optional<std::vector<flow::LimitIndex>> former_places = {};
  std::string former_line = {};  ///< likewise, the line in which the lane stood then
  int cost = 1;

  flow::LaneKey lane() const { return flow::LaneKey(group, route); }
  flow::Load load() const { return flow::Load(weight, cost); }
  flow::Ask ask() const { return {.group = group, .route = route, .count = count, .weight = weight, .cost = cost}; }
};

class PendingAsks {
 public:
  /// `too_late` is called from the loop for each ask that was not taken in time; such an ask can still be taken.
  PendingAsks(loop::Loop& loop, flow::Time timeout, std::function<void(const Asking&)> too_late);

  using Id = std::uint64_t;
  Id add(flow::Time now, Asking asking);
  Asking& find(Id id) { return *pending_asks_[id - first_]; }
  template <typename Use>
  void each(Use use) {
    for (auto& asking : pending_asks_) {
      if (asking) use(*asking);
    }
  }
  /// Lanes that is_meant() names were told to ask again.
  template <typename IsMeant>
  void called(IsMeant is_meant) {
    each([&](Asking& asking) { asking.called |= is_meant(asking.lane()); });
  }
  /// The limits change; `places_of` gives those of all numbers in replies so far to a lane, and `moved` maps places to
  /// new ones.
  using PlacesOf = std::function<std::vector<flow::LimitIndex>(flow::LaneKey lane)>;
  void change(const PlacesOf& places_of, std::span<const flow::LimitIndex> moved);
  /// Removes an ask whose answer came. To be called once for each.
  Asking take(Id id);

 private:
  void look_at_clock();
  void sleep();

  loop::Loop& loop_;
  const flow::Time timeout_;
  const std::function<void(const Asking&)> too_late_;
  std::deque<std::optional<Asking>> pending_asks_;  // taken ones are empty
  Id first_ = 0;                                    // the number of the first ask
  Id not_late_ = 0;                                 // the number of the first ask that may not be late yet
  loop::Timer timer_;
};

}  // namespace penstock::redis
