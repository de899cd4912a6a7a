// SPDX-License-Identifier: Apache-2.0
// The clients of one process: they ask, wait or give up, and ask again.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "simulation/journal.h"
#include "simulation/random.h"
#include "simulation/world.h"

namespace penstock::simulation {

class Load {
 public:
  /// What it needs of its process. The process may be gone: then nothing is done.
  struct Wants {
    std::function<void(std::uint64_t id)> arrive, leave;
  };

  Load(World& world, const Plan& plan, int member, Journal& journal, Wants wants);
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  /// The process has begun.
  void begin();
  /// A request of it is over, whatever the way.
  void over(std::uint64_t id);
  /// How long the upstream takes for one.
  Time flight();

 private:
  void ask();
  void next_arrival();
  bool asking() const;
  int any_group();

  World& world_;
  const Demand& demand_;
  const Time until_;
  const int member_;
  Journal& journal_;
  const Wants wants_;
  Random random_;
  std::vector<double> groups_;  // up to which part of all requests each goes
};

}  // namespace penstock::simulation
