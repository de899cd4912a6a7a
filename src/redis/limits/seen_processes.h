// SPDX-License-Identifier: Apache-2.0
// How many processes were seen at Redis. Pure. For booking_office.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace penstock::redis {

/// The most of the last answers, which come a second apart: one that Redis gives right after it has lost its memory, or
/// after its clock has jumped, counts those alone that have called since.
class SeenProcesses {
 public:
  void note(int count) { last_[next_++ % last_.size()] = count; }
  /// 0: nobody has ever said.
  int count() const { return *std::ranges::max_element(last_); }

 private:
  std::array<int, 4> last_{};
  std::size_t next_ = 0;
};

}  // namespace penstock::redis
