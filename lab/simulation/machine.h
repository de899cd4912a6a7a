// SPDX-License-Identifier: Apache-2.0
// The clock and the loop of one simulated process. Events happen at the process' own time; while it is frozen they
// wait, and happen in the order in which they came when it runs on.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "loop/clock.h"
#include "loop/loop.h"
#include "simulation/world.h"

namespace penstock::simulation {

class Machine final : public loop::Clock {
 public:
  /// Its clock shows `offset` at the run's begin, and gains `drift_ppm` microseconds a second.
  Machine(World& world, Time wall_at_begin, Time offset, double drift_ppm);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  std::int64_t now() const override { return local(world_.now()); }
  std::int64_t wall() const override { return wall_at_begin_ + now() - offset_; }
  /// The world's time at which its own clock shows `local`.
  Time in_world(std::int64_t local) const;

  loop::Loop& loop() { return loop_; }
  /// An event of the process: runs the task, then whatever the loop has to do by then.
  void happen(World::Task task);
  void freeze_until(Time end);
  bool frozen() const { return world_.now() < frozen_until_; }

 private:
  std::int64_t local(Time world) const {
    return offset_ + world + static_cast<std::int64_t>(static_cast<double>(world) * drift_ppm_ / 1e6);
  }
  void run();
  void sleep();

  World& world_;
  const Time wall_at_begin_, offset_;
  const double drift_ppm_;
  Time frozen_until_ = 0;
  std::deque<World::Task> waiting_;  // tasks that wait until it runs on
  Time wakes_at_ = -1;               // the world's time; -1: no wake-up is scheduled
  std::shared_ptr<Machine*> life_;   // expires with this Machine
  loop::Loop loop_;
};

}  // namespace penstock::simulation
