// SPDX-License-Identifier: Apache-2.0
// What a request takes of its upstream's limits.
#pragma once

#include <cstdint>
#include <memory>

#include "flow/load.h"
#include "proxy/exchange/cost_reading.h"

namespace penstock::proxy {

struct RequestLoad {
  int weight = 1;                     ///< units in limits that count requests
  std::unique_ptr<CostReading> cost;  ///< null: its upstream reads nothing from bodies

  /// For enough of its body, before it entered its lane.
  std::int64_t waited_for_body() const { return cost ? cost->waited().count() : 0; }
  bool reads_body() const { return cost && cost->waits(); }
  flow::Load amount() const { return flow::Load(weight, cost ? cost->estimate() : 1); }
};

}  // namespace penstock::proxy
