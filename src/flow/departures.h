// SPDX-License-Identifier: Apache-2.0
// The departures booked for one lane in ascending order, and their units: taken from the front as they come due, given
// back from the rear. Internal to flow/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "flow/limiter.h"

namespace penstock::flow {

class Departures {
 public:
  bool empty() const { return first_ == all_.size(); }
  std::size_t size() const { return all_.size() - first_; }
  std::int64_t units() const { return units_; }
  const Departure& front() const { return all_[first_]; }
  const Departure& back() const { return all_.back(); }
  /// The departure that this many others come before.
  const Departure& operator[](std::size_t before) const { return all_[first_ + before]; }
  /// The first departure is due.
  bool due_by(Time now) const { return !empty() && front().at <= now; }

  /// Cheap if the departure is the latest so far, as it usually is.
  void add(const Departure& departure) {
    const auto begin = all_.begin() + static_cast<std::ptrdiff_t>(first_);
    const auto later = [](const Departure& a, const Departure& b) { return a.at < b.at; };
    all_.insert(std::upper_bound(begin, all_.end(), departure, later), departure);
    units_ += departure.weight;
  }
  Departure pop_front() {
    const Departure first = all_[first_++];
    units_ -= first.weight;
    if (2 * first_ >= all_.size()) close_up();
    return first;
  }
  Departure pop_back() {
    const Departure last = all_.back();
    units_ -= last.weight;
    all_.pop_back();
    return last;
  }

  /// Calls use(departure) for each; it must change neither the time nor the weight.
  template <typename Use>
  void each(Use use) {
    std::for_each(all_.begin() + static_cast<std::ptrdiff_t>(first_), all_.end(), use);
  }

 private:
  void close_up() {
    all_.erase(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }

  std::vector<Departure> all_;
  std::size_t first_ = 0;   // departures before this index are taken
  std::int64_t units_ = 0;  // of those that are not taken
};

}  // namespace penstock::flow
