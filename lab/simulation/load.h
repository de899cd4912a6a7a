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
  /// What the load calls in its process. If the process is gone, these do nothing.
  struct Wants {
    std::function<void(std::uint64_t id)> arrive, leave;
  };

  Load(World& world, const Plan& plan, int member, Journal& journal, Wants wants);
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  /// The process has begun.
  void begin();
  /// A request has ended, in whatever way.
  void over(std::uint64_t id);
  /// How long the next request that takes off waits for its connection.
  Time opening();
  /// How long the upstream takes for one request.
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
  int opened_ = 0;              // connections
  std::vector<double> groups_;  // the fraction of all requests that goes to each group or those before it
};

}  // namespace penstock::simulation
