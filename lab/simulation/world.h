// SPDX-License-Identifier: Apache-2.0
// Virtual time: tasks and the moments at which they happen, in order. One thread; nothing here looks at a real clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "simulation/plan.h"
#include "simulation/random.h"

namespace penstock::simulation {

class World {
 public:
  using Task = std::move_only_function<void()>;

  explicit World(std::uint64_t seed) : random_(seed) {}
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Microseconds since the run's begin.
  Time now() const { return now_; }
  Random& random() { return random_; }
  std::uint64_t events() const { return events_; }

  /// Never earlier than now; tasks due at the same moment happen in the order of these calls.
  void at(Time when, Task task) {
    tasks_.push_back({std::max(when, now_), next_++, std::move(task)});
    std::ranges::push_heap(tasks_, later);
  }
  void run_until(Time end) {
    while (!tasks_.empty() && tasks_.front().when <= end) {
      std::ranges::pop_heap(tasks_, later);
      Entry entry = std::move(tasks_.back());
      tasks_.pop_back();
      now_ = entry.when;
      ++events_;
      entry.task();
    }
    now_ = end;
  }

 private:
  struct Entry {
    Time when;
    std::uint64_t number;
    Task task;
  };
  static bool later(const Entry& a, const Entry& b) { return a.when != b.when ? a.when > b.when : a.number > b.number; }

  Random random_;
  Time now_ = 0;
  std::uint64_t next_ = 0, events_ = 0;
  std::vector<Entry> tasks_;
};

}  // namespace penstock::simulation
