// SPDX-License-Identifier: Apache-2.0
// How many processes were seen at Redis. Pure. For processes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace penstock::redis {

/// Takes the maximum of the last four answers, which come a second apart: an answer given right after Redis has lost
/// its memory, or after its clock has jumped, counts only the processes that have called since.
class SeenProcesses {
 public:
  void note(int count) { last_[next_++ % last_.size()] = count; }
  /// 0: Redis has never told.
  int count() const { return *std::ranges::max_element(last_); }

 private:
  std::array<int, 4> last_{};
  std::size_t next_ = 0;
};

}  // namespace penstock::redis
