// SPDX-License-Identifier: Apache-2.0
// A task that runs once at the end of the loop's iteration when asked for; asking twice is asking once. Destroying the
// object cancels it.
#pragma once

#include <cstddef>
#include <functional>

#include "loop/loop.h"

namespace penstock::loop {

class IterationEnd {
 public:
  IterationEnd(Loop& loop, std::move_only_function<void()> task);
  ~IterationEnd() { cancel(); }
  IterationEnd(const IterationEnd&) = delete;
  IterationEnd& operator=(const IterationEnd&) = delete;

  /// The task may destroy this object.
  void ask();
  void cancel();
  bool asked() const { return place_ != kNowhere; }

 private:
  friend class Loop;
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  Loop& loop_;
  std::size_t place_ = kNowhere;
  std::move_only_function<void()> task_;
};

}  // namespace penstock::loop
