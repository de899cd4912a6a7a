// SPDX-License-Identifier: Apache-2.0
// Whether a dispatcher accepts no more requests, and who is to be told when it has none left. Only for the dispatcher.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

namespace penstock::proxy {

class Draining {
 public:
  void begin() { under_way_ = true; }
  void begin(std::move_only_function<void()> when_empty) { under_way_ = true, when_empty_ = std::move(when_empty); }
  bool under_way() const { return under_way_; }
  /// So many exchanges are left.
  void left(std::size_t exchanges) {
    if (exchanges == 0 && when_empty_) std::exchange(when_empty_, nullptr)();
  }

 private:
  bool under_way_ = false;
  std::move_only_function<void()> when_empty_;
};

}  // namespace penstock::proxy
