// SPDX-License-Identifier: Apache-2.0
// Further upstreams of a process, so that it uses every node of a cluster. Each has a pacer, and asks for a departure
// now and then. Nothing is judged of them: what matters is what they share with the one upstream that is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "flow/limiter.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "redis/limits/limiter_hub.h"

namespace penstock::simulation {

class Beside final : flow::LimiterEvents {
 public:
  /// All must outlive it.
  Beside(loop::Loop& loop, redis::LimiterHub& hub, const std::string& name, flow::Time period);
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

 private:
  void answer(flow::LaneKey lane, const flow::Booking& booking) override;
  void retry(flow::Booking::Scope, flow::LaneKey) override {}
  void cut(flow::Booking::Scope, flow::LaneKey, std::size_t) override {}
  void ask();

  loop::Loop& loop_;
  const flow::Time period_;  // of its asks
  bool asks_ = false;
  std::unique_ptr<flow::Limiter> limiter_;
  loop::Timer next_;
};

}  // namespace penstock::simulation
