// SPDX-License-Identifier: Apache-2.0
// Steps the loop until it has nothing to do at this moment; then the world is to wake it for its next timer.
#include "simulation/machine.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace penstock::simulation {

namespace {
constexpr int kMostSteps = 10'000;  // at one moment: a loop that never comes to rest is a defect of its own
}

Machine::Machine(World& world, Time wall_at_begin, Time offset, double drift_ppm)
    : world_(world),
      wall_at_begin_(wall_at_begin),
      offset_(offset),
      drift_ppm_(drift_ppm),
      life_(std::make_shared<Machine*>(this)),
      loop_(this) {}

Time Machine::in_world(std::int64_t at) const {
  auto world = static_cast<Time>(static_cast<double>(at - offset_) / (1 + drift_ppm_ / 1e6)) - 1;
  while (local(world) < at) ++world;
  return world;
}

void Machine::happen(World::Task task) {
  if (frozen() || !waiting_.empty()) return waiting_.push_back(std::move(task));
  task();
  run();
}

void Machine::freeze_until(Time end) {
  frozen_until_ = std::max(frozen_until_, end);
  world_.at(frozen_until_, [life = std::weak_ptr(life_)] {
    const auto alive = life.lock();
    if (!alive || (*alive)->frozen()) return;
    Machine& self = **alive;
    // It is left open whether timers or messages are noticed first.
    if (self.world_.random().happens(0.5)) self.run();
    for (auto& task : std::exchange(self.waiting_, {})) task();
    self.run();
  });
}

void Machine::run() {
  for (int steps = 0; steps < kMostSteps; ++steps) {
    const auto next = loop_.next_step();
    if (!next || *next > now()) return sleep();
    loop_.step();
  }
  std::abort();
}

void Machine::sleep() {
  const auto next = loop_.next_step();
  if (!next) return;
  const Time at = in_world(*next);
  if (wakes_at_ > world_.now() && wakes_at_ <= at) return;
  wakes_at_ = at;
  world_.at(at, [life = std::weak_ptr(life_), at] {
    const auto alive = life.lock();
    if (!alive || (*alive)->wakes_at_ != at) return;  // woken earlier in the meantime; a newer wake-up is scheduled
    (*alive)->wakes_at_ = -1;
    if (!(*alive)->frozen()) (*alive)->run();
  });
}

}  // namespace penstock::simulation
