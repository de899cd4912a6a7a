// SPDX-License-Identifier: Apache-2.0
// A task that runs once at the end of the loop's iteration when asked for; asking twice is asking once. Destroying the
// object cancels it.
#pragma once

#include <functional>
#include <utility>

#include "loop/iteration_ends.h"
#include "loop/loop.h"

namespace penstock::loop {

class IterationEnd {
 public:
  IterationEnd(Loop& loop, std::move_only_function<void()> task)
      : all_(loop.iteration_ends()), task_(std::move(task)) {}
  ~IterationEnd() { cancel(); }
  IterationEnd(const IterationEnd&) = delete;
  IterationEnd& operator=(const IterationEnd&) = delete;

  /// The task may destroy this object.
  void ask() { all_.ask(task_); }
  void cancel() { all_.withdraw(task_); }
  bool asked() const { return task_.asked(); }

 private:
  IterationEnds& all_;
  IterationEnds::Task task_;
};

}  // namespace penstock::loop
