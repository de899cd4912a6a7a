// SPDX-License-Identifier: Apache-2.0
// Two limits for tests, as simple as limits can be: a gap between departures, and a number of them in each window.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "flow/limit.h"

namespace penstock::flow {

class Spacing final : public Limit {
 public:
  explicit Spacing(Time gap) : gap_(gap) {}
  Time frontier(int) const override { return next_; }
  void commit(Time at, int) override { next_ = at + gap_; }
  void give_back(Time at, int) override {
    if (next_ == at + gap_) next_ = at;  // only the newest
  }

 private:
  Time gap_;
  Time next_ = 0;
};

class FixedWindow final : public Limit {
 public:
  FixedWindow(int reservoir, Time interval) : reservoir_(reservoir), interval_(interval) {}
  Time frontier(int weight) const override { return count_ + weight <= reservoir_ ? start_ : start_ + interval_; }
  void commit(Time at, int weight) override {
    const Time start = at / interval_ * interval_;
    if (start > start_) start_ = start, count_ = 0;
    count_ += weight;
  }
  void give_back(Time at, int weight) override {
    if (at / interval_ * interval_ == start_) count_ -= weight;
  }

 private:
  int reservoir_;
  Time interval_;
  Time start_ = 0;
  int count_ = 0;
};

template <typename... Kinds>
std::vector<std::unique_ptr<Limit>> limits(Kinds... kinds) {
  std::vector<std::unique_ptr<Limit>> all;
  (all.push_back(std::make_unique<Kinds>(std::move(kinds))), ...);
  return all;
}

}  // namespace penstock::flow
