// SPDX-License-Identifier: Apache-2.0
// The limit kind `tokenBucket`: so many tokens come at fixed moments, and at most the capacity is kept. Starts full;
// the moments keep the phase of the first departure. Only for this room.
#pragma once

#include "flow/limit.h"
#include "penstock/limits.h"

namespace penstock::flow {

class TokenBucket final : public Limit {
 public:
  explicit TokenBucket(const TokenBucketConfig& config) : config_(config) {}

  bool admits(int weight) const override { return weight <= config_.capacity; }
  Instant frontier(int weight) const override;
  void commit(Instant at, int weight) override;
  void give_back(Instant at, int weight) override;
  Instant ahead(Instant now, std::int64_t units) const override;
  void shift(Instant by) override;
  Instant forgettable_at() const override;
  std::string state() const override;
  /// Of what is missing in this one, but not in the other, which has the same refills.
  std::string state_less(const TokenBucket& other) const;
  void heard(Instant since, std::int64_t missing) override { used_ = {.since = since, .tokens = missing}; }

 private:
  struct Used {
    Instant since = kAlways;  // the last refill that is counted; kAlways: none, and nothing is used
    std::int64_t tokens = 0;  // not those that are left: a changed capacity keeps what was used
  };
  Instant period() const { return static_cast<Instant>(config_.refill_frequency.count()); }
  Used used_at(Instant t) const;
  static std::string text(const Used& used);
  /// When so many tokens have come, by `each` a refill.
  Instant refilled(Instant since, std::int64_t tokens, std::int64_t each) const;

  const TokenBucketConfig& config_;
  Used used_;
};

}  // namespace penstock::flow
