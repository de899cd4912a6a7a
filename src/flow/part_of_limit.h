// SPDX-License-Identifier: Apache-2.0
// One process' part of a shared limit, which it keeps while it cannot ask Redis what the others do. What was left of
// the limit when it last heard is divided, too. The whole limit is kept beside it, and remembers the process' own
// departures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "flow/limit.h"
#include "flow/token_bucket.h"
#include "penstock/limits.h"

namespace penstock::flow {

class PartOfLimit final : public Limit {
 public:
  /// `part` are the parameters of this process' part, and must outlive it at the same address; `left` is what was left
  /// of the whole limit, to be divided by `processes`. What other processes did before `now` is not known. `of_costs`:
  /// as for make_limit().
  PartOfLimit(std::unique_ptr<Limit> whole, const LimitConfig::Kind& part, const Remaining& left, int processes,
              Instant now, bool of_costs = false);
  /// What is left of the whole limit, as far as a process can tell that was alone until `now`: nothing until a new
  /// period begins. Where nothing is known of this period, what Redis has `told` stands, if that is newer.
  Remaining left_alone(Instant now, const Remaining& told = {}) const;
  std::unique_ptr<Limit> copy() const override { return std::unique_ptr<Limit>(new PartOfLimit(*this)); }
  /// Gives back the whole limit. Do not use this object afterwards.
  std::unique_ptr<Limit> release() { return std::move(whole_); }

  bool admits(int weight) const override { return part_->admits(weight); }
  void refresh(Instant now) override { whole_->refresh(now), part_->refresh(now); }
  Instant frontier(int weight) const override { return std::max(part_->frontier(weight), opens_for(weight)); }
  Instant reset_at() const override { return part_->reset_at(); }
  Instant after_guard(Instant t) const override { return part_->after_guard(t); }
  bool full(std::int64_t others) const override { return part_->full(others); }
  void commit(Instant at, int weight) override;
  void give_back(Instant at, int weight) override;
  void commit_cost(Instant at, int cost) override;
  void settle(Instant at, Instant now, int taken, int cost) override;
  bool moves() const override { return whole_->moves(); }
  void moved(Instant from, Instant to, int weight) override {
    whole_->moved(from, to, weight), part_->moved(from, to, weight);
  }
  void refused(Instant now, Instant departed) override {
    whole_->refused(now, departed), part_->refused(now, departed);
  }
  void landed() override { whole_->landed(), part_->landed(); }
  void count_existing(std::int64_t departures) override {
    whole_->count_existing(departures), part_->count_existing(departures);
  }
  Instant ahead(Instant now, std::int64_t units) const override {
    return std::max(part_->ahead(now, units), opens_for(units + 1));
  }
  Instant frontier_behind(Instant now, std::int64_t units, int weight) const override {
    return std::max(part_->frontier_behind(now, units, weight), opens_for(units + weight));
  }
  Instant expected(Instant now, std::int64_t units, int weight, const OtherProcesses& others) const override {
    return std::max(part_->expected(now, units, weight, others), opens_for(units + weight));
  }
  std::int64_t in_its_step(Instant now, std::int64_t units) const override { return part_->in_its_step(now, units); }
  Instant takes(std::int64_t units) const override { return part_->takes(units); }
  void shift(Instant by) override;
  Instant forgettable_at() const override {
    return std::max({whole_->forgettable_at(), part_->forgettable_at(), until_});
  }
  LimitReading read(Instant now) const override;
  std::string state() const override;
  std::string taken() const override;

 private:
  PartOfLimit(const PartOfLimit& other);
  Instant opens_for(std::int64_t units) const { return units > units_ ? until_ : kAlways; }
  void begin(const PacerConfig& part, std::int64_t units, Instant until);
  void begin(const TokenBucketConfig& part, std::int64_t units, Instant until);
  void begin(const AdaptiveConfig& part, std::int64_t units, Instant until);
  void begin(const SemaphoreConfig& part, std::int64_t units, Instant until);
  template <typename Count>
  void begin(const Count& part, std::int64_t units, Instant until);

  std::unique_ptr<Limit> whole_, part_;
  std::unique_ptr<TokenBucket> untouched_;  // the part as it would be without any departure
  const LimitConfig::Kind& kind_;
  Instant now_;
  Instant until_ = kAlways;  // before this, at most units_ may leave
  std::int64_t units_ = 0;
};

}  // namespace penstock::flow
