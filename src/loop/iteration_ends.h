// SPDX-License-Identifier: Apache-2.0
// The tasks that were asked for at the end of the loop's iteration, in the order of asking. The loop runs them; each
// may withdraw before. For loop.cc and iteration_end.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace penstock::loop {

class IterationEnds {
 public:
  class Task {
   public:
    explicit Task(std::move_only_function<void()> call) : call_(std::move(call)) {}
    bool asked() const { return place_ != kNowhere; }

   private:
    friend class IterationEnds;
    static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
    std::size_t place_ = kNowhere;
    std::move_only_function<void()> call_;
  };

  /// The task must be withdrawn before it is destroyed.
  void ask(Task& task) {
    if (task.asked()) return;
    task.place_ = asked_.size();
    asked_.push_back(&task);
  }
  void withdraw(Task& task) {
    if (!task.asked()) return;
    asked_[task.place_] = nullptr;
    task.place_ = Task::kNowhere;
  }

  /// Runs all, also those asked for meanwhile. A task may destroy itself.
  void run() {
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      Task* const task = asked_[i];
      if (!task) continue;
      task->place_ = Task::kNowhere;
      task->call_();
    }
    asked_.clear();
  }

  /// False also while all have withdrawn that asked.
  bool any() const {
    return std::ranges::any_of(asked_, [](const Task* task) { return task != nullptr; });
  }
  bool empty() const { return asked_.empty(); }  ///< nothing has asked, withdrawn or not

 private:
  std::vector<Task*> asked_;  // withdrawn ones are null
};

}  // namespace penstock::loop
