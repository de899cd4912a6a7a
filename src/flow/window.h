// SPDX-License-Identifier: Apache-2.0
// The limit kind `window`: at most `reservoir` units in each window of time; windows are aligned to 1970. A weight that
// does not fit leaves in the next window, and closes this one. Internal to flow/.
#pragma once

#include <memory>

#include "base/copied_ptr.h"
#include "flow/limit.h"
#include "penstock/limits.h"

namespace penstock::flow {

class Window final : public Limit {
 public:
  explicit Window(const WindowConfig& config) : config_(config) {}

  std::unique_ptr<Limit> copy() const override { return std::make_unique<Window>(*this); }
  bool admits(int weight) const override { return weight <= config_.reservoir; }
  void refresh(Instant now) override;
  Instant frontier(int weight) const override;
  Instant after_guard(Instant t) const override;
  void commit(Instant at, int weight) override;
  void give_back(Instant at, int weight) override;
  void commit_cost(Instant at, int cost) override;
  void settle(Instant at, Instant now, int taken, int cost) override;
  bool moves() const override { return true; }
  void moved(Instant from, Instant to, int weight) override;
  void learn(Instant now, const Counted& counted) override;
  Instant ahead(Instant now, std::int64_t units) const override;
  double passes() const override;
  double room(Instant now, Instant till) const override;
  void shift(Instant by) override;
  Instant forgettable_at() const override;
  std::int64_t in_its_step(Instant now, std::int64_t units) const override;
  LimitReading read(Instant now) const override;
  std::string state() const override;
  void heard(Instant start, std::int64_t count) override {
    start_ = latest_ = start, interval_ = interval(), count_ = count, more_.reset();
  }

 private:
  Instant interval() const { return static_cast<Instant>(config_.interval.count()); }
  Instant window_of(Instant t) const;
  /// The start of the present window that has all of `count_`, whatever the interval was.
  Instant start_at(Instant now) const;
  /// Units of the window that are taken: ours, and those of strangers as far as known.
  std::int64_t gone() const { return count_ + (more_ ? more_->foreign : 0); }
  /// `units` plus the units that have left in the current window, or in a later one.
  std::int64_t before(Instant now, std::int64_t units) const;
  /// Units that do not fit into the window count in the next ones.
  void carry_over(std::int64_t units);
  /// The offset in its window at which a unit leaves that has `count` units before it.
  Instant place(std::int64_t count) const;

  const WindowConfig& config_;
  Instant start_ = kAlways;   // start of the window of `count_`; an index would be wrong after a changed interval
  Instant interval_ = 0;      // the interval of that window
  Instant latest_ = kAlways;  // the latest departure in that window
  std::int64_t count_ = 0;
  struct More {
    std::int64_t foreign = 0;  // units taken by strangers in that window, as far as known
    Instant told = kAlways;    // when the request left whose answer told so; kAlways: nothing was learned
    std::int64_t debt = 0;     // of `count_`, what did not fit into an earlier window
    Instant from = kAlways;    // the start of that window
  };
  base::CopiedPtr<More> more_;  // null: as one that says nothing; most windows have none
};

}  // namespace penstock::flow
