// SPDX-License-Identifier: Apache-2.0
// The asks of one upstream that Redis has not answered yet, oldest first, and one timer for them: none waits longer
// than the time-out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "flow/limiter.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "redis/limits/semaphores.h"

namespace penstock::redis {

struct Asking {
  std::string group;
  std::size_t count = 1;
  int weight = 1;
  std::int64_t more = 0;  ///< units beyond these that its process wants of the limits of the same line
  std::int64_t base = 0;  ///< what this process keeps by itself allows nothing before, by the clock of its memory
  bool reserved = false;  ///< and keep a departure for it meanwhile
  flow::Time until = 0;
  bool late = false;                           ///< it was answered without Redis
  bool called = false;                         ///< those who wait were told to ask again, while it was under way
  Semaphores::Claims claims = {};              ///< of spare permits
  std::vector<flow::LimitIndex> without = {};  ///< limits that are apart
  flow::ConfigEpoch epoch = 0;                 ///< of what it is granted
  bool former = false;                         ///< the limits have changed since it was sent
  std::vector<flow::LimitIndex> places = {};   ///< then: what the numbers in its answer are now

  flow::Ask ask() const { return {.group = group, .count = count, .weight = weight}; }
};

class PendingAsks {
 public:
  /// `too_late` is told of each that was not taken in time, from the loop; it can still be taken.
  PendingAsks(loop::Loop& loop, flow::Time timeout, std::function<void(const Asking&)> too_late);

  using Id = std::uint64_t;
  Id add(flow::Time now, Asking asking);
  Asking& find(Id id) { return *pending_asks_[id - first_]; }
  /// use(asking) for each.
  template <typename Use>
  void each(Use use) {
    for (auto& asking : pending_asks_) {
      if (asking) use(*asking);
    }
  }
  /// Its answer came. Once for each.
  Asking take(Id id);

 private:
  void look_at_clock();
  void sleep();

  loop::Loop& loop_;
  const flow::Time timeout_;
  const std::function<void(const Asking&)> too_late_;
  std::deque<std::optional<Asking>> pending_asks_;  // those that were taken are empty
  Id first_ = 0;                                    // the number of the first
  Id not_late_ = 0;                                 // and of the first whose time has not come
  loop::Timer timer_;
};

}  // namespace penstock::redis
