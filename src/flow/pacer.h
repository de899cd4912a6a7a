// SPDX-License-Identifier: Apache-2.0
// The limit kind `pacer`: a leaky bucket used as a queue. In any stretch of time it lets pass at most what the rate
// allows, plus one burst, plus the largest weight. Internal to flow/.
#pragma once

#include <algorithm>
#include <memory>

#include "flow/limit.h"
#include "penstock/limits.h"

namespace penstock::flow {

class Pacer final : public Limit {
 public:
  explicit Pacer(const PacerConfig& config) : config_(config) {}

  std::unique_ptr<Limit> copy() const override { return std::make_unique<Pacer>(*this); }
  Instant frontier(int weight) const override;
  void commit(Instant at, int weight) override;
  void give_back(Instant at, int weight) override;
  void settle(Instant at, Instant now, int taken, int cost) override;
  Instant ahead(Instant now, std::int64_t units) const override;
  /// Whatever a departure weighs, only those behind it wait for its units.
  Instant frontier_behind(Instant now, std::int64_t units, int) const override { return ahead(now, units); }
  Instant expected(Instant now, std::int64_t units, int, const OtherProcesses& others) const override {
    return ahead(now, units + others.before(units));
  }
  double passes() const override;
  double room(Instant now, Instant till) const override;
  void shift(Instant by) override;
  Instant forgettable_at() const override;
  Instant takes(std::int64_t units) const override {
    return time_of(static_cast<double>(std::max<std::int64_t>(0, units - config_.max_burst)));
  }
  LimitReading read(Instant now) const override;
  std::string state() const override;
  void heard(Instant free, std::int64_t level) override {
    last_ = free, debt_ = 0, level_ = static_cast<double>(level);
  }

 private:
  /// Units in the burst's bucket at `t`: more than fit, if `max_burst` was larger before.
  double held_at(Instant t) const;
  double level_at(Instant t) const { return std::min<double>(held_at(t), config_.max_burst); }
  /// How long this many units take at the rate.
  Instant time_of(double units) const { return units * 1'000'000 / config_.qps; }

  const PacerConfig& config_;
  /// The next free moment at the current rate.
  Instant next() const { return last_ + time_of(debt_); }

  Instant last_ = kAlways;  // time of the last departure
  double debt_ = 0;         // its paced units
  double level_ = 0;        // units in the burst's bucket at the next free moment
};

}  // namespace penstock::flow
