// SPDX-License-Identifier: Apache-2.0
// The limit kind `window`: at most so many units in each window of time; windows are aligned to 1970. A weight that
// does not fit closes its window. Only for this room.
#pragma once

#include "flow/limit.h"
#include "penstock/limits.h"

namespace penstock::flow {

class Window final : public Limit {
 public:
  explicit Window(const WindowConfig& config) : config_(config) {}

  bool admits(int weight) const override { return weight <= config_.reservoir; }
  void refresh(Instant now) override;
  Instant frontier(int weight) const override;
  Instant after_guard(Instant t) const override;
  void commit(Instant at, int weight) override;
  void give_back(Instant at, int weight) override;
  void moved(Instant from, Instant to, int weight) override;
  Instant ahead(Instant now, std::int64_t units) const override;
  void shift(Instant by) override;
  Instant forgettable_at() const override;
  std::int64_t in_its_step(Instant now, std::int64_t units) const override;
  std::string state() const override;
  void heard(Instant start, std::int64_t count) override {
    start_ = latest_ = start, interval_ = interval(), count_ = count;
  }

 private:
  Instant interval() const { return static_cast<Instant>(config_.interval.count()); }
  Instant window_of(Instant t) const;
  /// With those that have left in the window of now, or in a later one.
  std::int64_t before(Instant now, std::int64_t units) const;
  /// Where in its window the unit leaves that has `count` before it.
  Instant place(std::int64_t count) const;

  const WindowConfig& config_;
  Instant start_ = kAlways;   // of the window that `count_` is of; an index would go astray with the interval
  Instant interval_ = 0;      // as it was then
  Instant latest_ = kAlways;  // departure that counts in it
  std::int64_t count_ = 0;
};

}  // namespace penstock::flow
