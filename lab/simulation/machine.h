// SPDX-License-Identifier: Apache-2.0
// One simulated process' clock and loop: what happens to it is done at its own time, unless it is frozen. Then it is
// done when it runs on, in the order in which it came.
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
  /// When the world shows what its own clock shows then.
  Time in_world(std::int64_t local) const;

  loop::Loop& loop() { return loop_; }
  /// Something happens to the process: the task is run, and whatever the loop has to do by then.
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
  std::deque<World::Task> waiting_;  // until it runs on
  Time wakes_at_ = -1;               // of the world; -1: not by itself
  std::shared_ptr<Machine*> life_;   // gone with this
  loop::Loop loop_;
};

}  // namespace penstock::simulation
