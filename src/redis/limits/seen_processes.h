// SPDX-License-Identifier: Apache-2.0
// How many processes were seen at Redis. Pure. For processes.
#pragma once

#include <algorithm>
#include <array>

#include "flow/limit.h"

namespace penstock::redis {

/// Takes the maximum of the last four seconds in which Redis answered: an answer given right after Redis has lost its
/// memory, or after its clock has jumped, counts only the processes that have called since.
class SeenProcesses {
 public:
  void note(flow::Time now, int count) {
    if (last_[0] > 0 && now - since_ < kSecond) return void(last_[0] = std::max(last_[0], count));
    std::ranges::rotate(last_, last_.end() - 1);
    last_[0] = count;
    since_ = now;
  }
  /// 0: Redis has never told.
  int count() const { return *std::ranges::max_element(last_); }

 private:
  static constexpr flow::Time kSecond = 1'000'000;
  std::array<int, 4> last_{};  // the latest first
  flow::Time since_ = 0;       // when the latest second began
};

}  // namespace penstock::redis
