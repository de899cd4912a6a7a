// SPDX-License-Identifier: Apache-2.0
// How much later than booked requests leave, because connections are slow to be made: by so much a limit that looks
// back may yet move, as long as somebody who has a departure has not left. Serves the moment that a refusal names.
// Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "flow/limit.h"

namespace penstock::flow {

class Late {
 public:
  /// What is assumed where nobody has left in the last minute.
  static constexpr Time kAssumed = 1'000'000;

  /// One that has a departure and has not left. Whoever is dropped without left() never leaves.
  class Leaving {
   public:
    explicit Leaving(Late& late) : late_(late) { ++late_.leaving_; }
    ~Leaving() { --late_.leaving_; }
    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;

    void left(Time now, Time late) { late_.note(now, late); }

   private:
    Late& late_;
  };

  /// The most that anybody was late in the last minute, or up to two; nothing where all have left.
  Time to_expect(Time now) const {
    if (leaving_ == 0) return 0;
    Time most = -1;
    for (const Minute& minute : minutes_) {
      if (minute.number + 1 >= number(now)) most = std::max(most, minute.most);
    }
    return most < 0 ? kAssumed : most;
  }

 private:
  struct Minute {
    Time number = -2;  // counted from the clock's zero
    Time most = -1;
  };
  static Time number(Time now) { return now / 60'000'000; }

  void note(Time now, Time late) {
    Minute& minute = minutes_[static_cast<std::size_t>(number(now) % 2)];
    if (minute.number != number(now)) minute = {.number = number(now)};
    minute.most = std::max(minute.most, late);
  }

  std::array<Minute, 2> minutes_;
  std::size_t leaving_ = 0;
};

}  // namespace penstock::flow
