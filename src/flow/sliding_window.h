// SPDX-License-Identifier: Apache-2.0
// The limit kind `slidingWindow`: at most `max` units in any stretch of time as long as `interval`. Keeps the times of
// the last departures, 8 bytes a unit. Internal to flow/.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/copied_ptr.h"
#include "flow/limit.h"
#include "penstock/limits.h"

namespace penstock::flow {

class SlidingWindow final : public Limit {
 public:
  explicit SlidingWindow(const SlidingWindowConfig& config) : config_(config) {}

  std::unique_ptr<Limit> copy() const override { return std::make_unique<SlidingWindow>(*this); }
  bool admits(int weight) const override { return weight <= config_.max; }
  void refresh(Instant now) override;
  /// Each unit so far counts so many times: as many others have left beside each.
  void repeat(std::int64_t times);
  /// Among all processes these units, and no others, have left so far: ascending times.
  using Limit::heard;
  void heard(std::span<const Instant> times, const ByStrangers& strangers);
  Instant frontier(int weight) const override;
  void commit(Instant at, int weight) override;
  void give_back(Instant at, int weight) override;
  void commit_cost(Instant at, int cost) override;
  void settle(Instant at, Instant now, int taken, int cost) override;
  bool moves() const override { return true; }
  void moved(Instant from, Instant to, int weight) override;
  void learn(Instant now, const Counted& counted) override;
  Instant ahead(Instant now, std::int64_t units) const override;
  /// With other processes waiting, each is expected to get an equal part of `max`.
  Instant expected(Instant now, std::int64_t units, int weight, const OtherProcesses& others) const override;
  double passes() const override;
  double room(Instant now, Instant till) const override;
  void shift(Instant by) override;
  Instant forgettable_at() const override;
  LimitReading read(Instant now) const override;
  std::string state() const override;

 private:
  /// The configured interval plus two guards: one departure may leave late, and the next punctually.
  Instant interval() const { return static_cast<Instant>(config_.interval.count()) + 2 * kGuard; }
  std::int64_t size() const { return static_cast<std::int64_t>(times_.size() - first_); }
  Instant time(std::int64_t n) const { return times_[first_ + static_cast<std::size_t>(n)]; }
  /// When what strangers have taken allows so many more units.
  Instant foreign_allows(std::int64_t units) const;
  /// Units that left at `from` or later.
  std::int64_t since(Instant from) const;
  /// From when on the n-th unit may have left, with those before it.
  Instant free_for(std::int64_t n) const { return n < config_.max ? kAlways : time(n - config_.max) + interval(); }
  Instant ahead_within(Instant now, std::int64_t units, std::int64_t most) const;
  void drop_first();

  const SlidingWindowConfig& config_;
  std::vector<Instant> times_;  // whole microseconds, ascending
  std::size_t first_ = 0;       // times before this index are dropped
  bool heavy_ = false;          // one of the departures had a weight over 1
  struct Foreign : ByStrangers {
    Instant told = kAlways;  // when the request left whose answer told so
  };
  base::CopiedPtr<Foreign> foreign_;  // null: nothing was learned
};

}  // namespace penstock::flow
