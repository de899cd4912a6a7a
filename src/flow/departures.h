// SPDX-License-Identifier: Apache-2.0
// The departures booked for one lane, ascending: taken from the front as their times come, given back from the rear.
// Only for this room.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "flow/limit.h"

namespace penstock::flow {

class Departures {
 public:
  bool empty() const { return first_ == times_.size(); }
  std::size_t size() const { return times_.size() - first_; }
  Time front() const { return times_[first_]; }

  /// Cheap for the latest so far, which is the rule.
  void add(Time at) {
    const auto begin = times_.begin() + static_cast<std::ptrdiff_t>(first_);
    times_.insert(std::upper_bound(begin, times_.end(), at), at);
  }
  void pop_front() {
    ++first_;
    if (2 * first_ >= times_.size()) close_up();
  }
  Time pop_back() {
    const Time at = times_.back();
    times_.pop_back();
    return at;
  }

 private:
  void close_up() {
    times_.erase(times_.begin(), times_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }

  std::vector<Time> times_;
  std::size_t first_ = 0;  // those before it are taken
};

}  // namespace penstock::flow
