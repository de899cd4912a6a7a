// SPDX-License-Identifier: Apache-2.0
// The limit kind `counter`: at most so many units between two resets. This process is its own leader: a reset takes
// place when it is due, a period after the one before, though not before the latest departure that is booked. Only for
// this room.
#pragma once

#include <algorithm>

#include "flow/limit.h"
#include "penstock/limits.h"

namespace penstock::flow {

class Counter final : public Limit {
 public:
  explicit Counter(const CounterConfig& config) : config_(config) {}

  bool admits(int weight) const override { return weight <= config_.max; }
  void refresh(Instant now) override { state_ = state_at(now); }
  Instant frontier(int weight) const override;
  Instant reset_at() const override { return state_.reset + period(); }
  void commit(Instant at, int weight) override;
  void give_back(Instant at, int weight) override;
  Instant ahead(Instant now, std::int64_t units) const override;
  Instant forgettable_at() const override;
  std::string state() const override;

 private:
  struct State {
    Instant reset = kNever;    // when the latest was; kNever: there has not been any departure
    Instant latest = kAlways;  // departure booked
    std::int64_t count = 0;    // since the reset
  };
  Instant period() const { return static_cast<Instant>(config_.period.count()); }
  State state_at(Instant now) const;
  Instant next_reset(const State& state) const { return std::max(state.reset + period(), state.latest); }

  const CounterConfig& config_;
  State state_;
};

}  // namespace penstock::flow
