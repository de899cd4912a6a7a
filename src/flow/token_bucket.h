// SPDX-License-Identifier: Apache-2.0
// The limit kind `tokenBucket`: `refill_amount` tokens come at fixed moments, and at most `capacity` are kept. Starts
// full; the moments keep the phase of the first departure. Internal to flow/.
#pragma once

#include <memory>
#include <vector>

#include "flow/limit.h"
#include "penstock/limits.h"

namespace penstock::flow {

class TokenBucket final : public Limit {
 public:
  explicit TokenBucket(const TokenBucketConfig& config) : config_(config) {}

  std::unique_ptr<Limit> copy() const override { return std::make_unique<TokenBucket>(*this); }
  bool admits(int weight) const override { return weight <= config_.capacity; }
  Instant frontier(int weight) const override;
  void commit(Instant at, int weight) override;
  void give_back(Instant at, int weight) override;
  void settle(Instant at, Instant now, int taken, int cost) override;
  Instant ahead(Instant now, std::int64_t units) const override;
  double passes() const override;
  double room(Instant now, Instant till) const override;
  void shift(Instant by) override;
  Instant forgettable_at() const override;
  LimitReading read(Instant now) const override;
  std::string state() const override;
  /// state() of the tokens that are missing in this bucket but not in `other`, which has the same refills.
  std::string state_less(const TokenBucket& other) const;
  void heard(Instant since, std::int64_t missing) override { used_ = {.since = since, .tokens = missing}; }

 private:
  struct Used {
    Instant since = kAlways;  // the last refill counted; kAlways: none yet, and no token is used
    std::int64_t tokens = 0;  // used, not left: they stay right when the capacity changes
  };
  /// From this moment on at least so many tokens were in use all the time.
  struct Low {
    Instant from;
    std::int64_t least;
  };
  void lower_to(std::int64_t tokens);
  void raise_from(Instant at);
  void take_back(Instant at, Instant now, std::int64_t tokens);
  Instant period() const { return static_cast<Instant>(config_.refill_frequency.count()); }
  Used used_at(Instant t) const;
  static std::string text(const Used& used);
  /// When this many tokens have come since `since`, at `each` tokens a refill.
  Instant refilled(Instant since, std::int64_t tokens, std::int64_t each) const;

  const TokenBucketConfig& config_;
  Used used_;
  std::vector<Low> lows_;  // both ascending; empty until a departure is corrected, and few afterwards
};

}  // namespace penstock::flow
