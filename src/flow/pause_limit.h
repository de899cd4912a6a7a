// SPDX-License-Identifier: Apache-2.0
// A pause that an upstream asked for, for itself or one of its groups, as a limit that is not configured. Internal to
// flow/.
#pragma once

#include <algorithm>
#include <memory>

#include "flow/limit.h"

namespace penstock::flow {

class PauseLimit final : public Limit {
 public:
  std::unique_ptr<Limit> copy() const override { return std::make_unique<PauseLimit>(*this); }
  void extend(Instant until) { until_ = std::max(until_, until); }
  /// True: it was to end later.
  bool shorten(Instant latest) {
    const bool later = until_ > latest;
    until_ = std::min(until_, latest);
    return later;
  }
  Instant frontier(int) const override { return until_; }
  void commit(Instant, int) override {}
  void give_back(Instant, int) override {}
  Instant ahead(Instant now, std::int64_t) const override { return std::max(now, until_); }
  double room(Instant, Instant till) const override { return until_ > till ? 0 : kNever; }
  void shift(Instant by) override { until_ += by; }
  Instant forgettable_at() const override { return until_; }
  LimitReading read(Instant now) const override { return {.opens_in = std::max(0.0, until_ - now)}; }

 private:
  Instant until_ = kAlways;
};

}  // namespace penstock::flow
