// SPDX-License-Identifier: Apache-2.0
// See beside.h.
#include "simulation/beside.h"

namespace penstock::simulation {

namespace {
const std::vector<LimitConfig> kEasy{{.kind = PacerConfig{.qps = 1'000}}};
}  // namespace

Beside::Beside(loop::Loop& loop, redis::LimiterHub& hub, const std::string& name, flow::Time period)
    : loop_(loop),
      period_(period),
      limiter_(hub.make_limiter(name, kEasy, static_cast<flow::LimiterEvents&>(*this))),
      next_(loop, [this] { ask(); }) {
  next_.start(loop.now() + period_);
}

void Beside::ask() {
  next_.start(loop_.now() + period_);
  if (asks_) return;
  flow::Booking booking;
  asks_ = !limiter_->ask(loop_.now(), {}, booking);
}

void Beside::answer(flow::LaneKey, const flow::Booking&) { asks_ = false; }

}  // namespace penstock::simulation
