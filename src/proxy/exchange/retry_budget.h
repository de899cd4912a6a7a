// SPDX-License-Identifier: Apache-2.0
// How many requests to one upstream may be sent again after a failure: a share of those that came in the last ten
// seconds, and ten beside. So an upstream that is down gets hardly more requests than one that is well. Pure.
#pragma once

#include <array>
#include <cstdint>

namespace penstock::proxy {

class RetryBudget {
 public:
  static constexpr std::int64_t kFree = 10;

  /// A request has come. Times in microseconds.
  void came(std::int64_t now) { ++second_of(now).came; }
  /// Takes one repeat, if the requests that came allow it by that share. False: they do not.
  bool take(std::int64_t now, int percent) {
    Second& current = second_of(now);
    std::int64_t came = 0, repeats = 0;
    for (const Second& one : seconds_) {
      if (one.number <= current.number - kSeconds) continue;
      came += one.came;
      repeats += one.repeats;
    }
    if (100 * (repeats + 1 - kFree) > percent * came) return false;
    ++current.repeats;
    return true;
  }

 private:
  static constexpr std::int64_t kSeconds = 10;
  struct Second {
    std::int64_t number = -kSeconds;  // since the clock's start
    std::int64_t came = 0, repeats = 0;
  };
  Second& second_of(std::int64_t now) {
    const std::int64_t number = now / 1'000'000;
    Second& one = seconds_[static_cast<std::size_t>(number % kSeconds)];
    if (one.number != number) one = {.number = number};
    return one;
  }

  std::array<Second, kSeconds> seconds_;
};

}  // namespace penstock::proxy
