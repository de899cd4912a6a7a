// SPDX-License-Identifier: Apache-2.0
// The limit kind `counter`: at most `max` units between two resets. This process is its own leader: a reset takes
// place a period after the one before, though not before the latest booked departure. Internal to flow/.
#pragma once

#include <algorithm>
#include <memory>

#include "flow/limit.h"
#include "penstock/limits.h"

namespace penstock::flow {

class Counter final : public Limit {
 public:
  /// `carries`: it counts costs, and what is too many counts in the next period.
  explicit Counter(const CounterConfig& config, bool carries = false) : config_(config), carries_(carries) {}

  std::unique_ptr<Limit> copy() const override { return std::make_unique<Counter>(*this); }
  bool admits(int weight) const override { return weight <= config_.max; }
  void refresh(Instant now) override { state_ = state_at(now); }
  Instant frontier(int weight) const override;
  Instant reset_at() const override { return state_.reset + period(); }
  void commit(Instant at, int weight) override;
  void give_back(Instant at, int weight) override;
  Instant ahead(Instant now, std::int64_t units) const override;
  double passes() const override;
  double room(Instant now, Instant till) const override;
  void shift(Instant by) override;
  Instant forgettable_at() const override;
  std::int64_t in_its_step(Instant now, std::int64_t units) const override {
    return std::min(units, before(state_at(now), units) % config_.max);
  }
  LimitReading read(Instant now) const override;
  std::string state() const override;
  void heard(Instant reset, std::int64_t count) override { state_ = {.reset = reset, .count = count}; }

 private:
  struct State {
    Instant reset = kNever;    // time of the latest reset; kNever: there was no departure yet
    Instant latest = kAlways;  // the latest departure booked
    std::int64_t count = 0;    // units since the reset
  };
  Instant period() const { return static_cast<Instant>(config_.period.count()); }
  State state_at(Instant now) const;
  /// What counts after so many resets.
  std::int64_t carried(std::int64_t count, Instant resets) const {
    const auto most = static_cast<Instant>(config_.max);
    return carries_ ? static_cast<std::int64_t>(std::max(0.0, static_cast<Instant>(count) - resets * most)) : 0;
  }
  std::int64_t before(const State& state, std::int64_t units) const {
    return (carries_ ? state.count : std::min<std::int64_t>(state.count, config_.max)) + units;
  }
  Instant next_reset(const State& state) const { return std::max(state.reset + period(), state.latest); }

  const CounterConfig& config_;
  const bool carries_;
  State state_;
};

}  // namespace penstock::flow
