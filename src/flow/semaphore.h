// SPDX-License-Identifier: Apache-2.0
// The limit kind `semaphore`, kept in this process: at most `capacity` requests in flight. A request takes one permit,
// whatever its weight. Internal to flow/.
#pragma once

#include <memory>

#include "flow/limit.h"
#include "penstock/limits.h"

namespace penstock::flow {

class Semaphore final : public Limit {
 public:
  explicit Semaphore(const SemaphoreConfig& config) : config_(config) {}

  std::unique_ptr<Limit> copy() const override { return std::make_unique<Semaphore>(*this); }
  Instant frontier(int) const override { return kAlways; }
  bool full(std::int64_t others) const override { return held_ + others >= config_.capacity; }
  void commit(Instant, int) override { ++held_; }
  void give_back(Instant, int) override { landed(); }
  void landed() override { held_ -= held_ > 0 ? 1 : 0; }
  void count_existing(std::int64_t departures) override { held_ += departures; }
  Instant ahead(Instant now, std::int64_t) const override { return now; }
  LimitReading read(Instant) const override {
    return {.used = static_cast<double>(held_),
            .of = static_cast<double>(config_.capacity),
            .opens_in = full(0) ? std::nullopt : std::optional<Instant>(0)};
  }
  Instant forgettable_at() const override { return held_ > 0 ? kNever : kAlways; }

 private:
  const SemaphoreConfig& config_;
  std::int64_t held_ = 0;
};

}  // namespace penstock::flow
