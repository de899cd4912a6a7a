// SPDX-License-Identifier: Apache-2.0
// The limit kind `adaptive`: a pacer without a burst whose rate is part of its state. The rate grows while requests
// wait for it, and falls when the upstream refuses, along the window curve of CUBIC (RFC 9438) with units a second in
// place of the window. Internal to flow/; its twin is lua/adaptive.lua.
#pragma once

#include <algorithm>
#include <memory>

#include "flow/limit.h"
#include "penstock/limits.h"

namespace penstock::flow {

class Adaptive final : public Limit {
 public:
  explicit Adaptive(const AdaptiveConfig& config) : config_(config) {}

  std::unique_ptr<Limit> copy() const override { return std::make_unique<Adaptive>(*this); }
  Instant frontier(int) const override { return free_; }
  void commit(Instant at, int weight) override;
  void give_back(Instant at, int weight) override;
  /// A request that had left at `departed` was refused.
  void refused(Instant now, Instant departed) override;
  // Estimates of what is certain: the rate may grow to `max` meanwhile.
  Instant ahead(Instant now, std::int64_t units) const override {
    return std::max(now, free_) + takes(std::max<std::int64_t>(0, units));
  }
  Instant takes(std::int64_t units) const override { return static_cast<double>(units) * 1'000'000 / config_.max; }
  Instant frontier_behind(Instant now, std::int64_t units, int weight) const override;
  /// The next free moment, and the rate in millionths of a unit a second.
  void heard(Instant free, std::int64_t millionths) override;
  /// Goes on from what `all` has heard, if that is anything. Of CUBIC's curve, what is known here counts.
  void go_on_from(const Adaptive& all);
  double passes() const override;
  double room(Instant now, Instant till) const override;
  void shift(Instant by) override { free_ += by, last_ += by, cut_ += by; }
  Instant forgettable_at() const override;
  LimitReading read(Instant now) const override { return {.rate = rate(), .opens_in = std::max(0.0, free_ - now)}; }
  std::string state() const override;

  /// Nothing has left yet, and the rate is known: it goes on as if it had grown back to it.
  void begin(double rate, Instant free);
  /// Units a second.
  double rate() const;

 private:
  void grow(double seconds);

  const AdaptiveConfig& config_;
  Instant free_ = kAlways;  // the next free moment
  Instant last_ = kAlways;  // of the last departure
  Instant cut_ = kAlways;   // of the last decrease
  double rate_ = 0;         // 0: nothing was learned yet
  // Of CUBIC's curve: the plateau W_max, in units a second, 0 while nothing was refused; how long after a decrease the
  // curve reaches it, K; and for how much of the time since then requests have waited. In seconds.
  double peak_ = 0, reaches_peak_ = 0, grown_ = 0;
};

}  // namespace penstock::flow
