// SPDX-License-Identifier: Apache-2.0
// One event loop and its clock: libuv, wrapped so that the types express ownership. Everything else in Penstock runs
// inside it. Only post() and stop() may be called from other threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "loop/clock.h"

struct uv_loop_s;

namespace penstock::loop {

class HangupWatcher;
class TimerQueue;
class IterationEnds;

/// A self-owned object: it lives on the loop without another owner, until it dismisses itself or the loop ends.
class SelfOwned {
 public:
  virtual ~SelfOwned() = default;
};

class Loop {
 public:
  /// `clock` must outlive the loop; null: the system's clocks.
  explicit Loop(const Clock* clock = nullptr);
  /// Finishes offloaded and posted tasks, and destroys self-owned objects. Every other object made on the loop must be
  /// gone before.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Runs until stop().
  void run();
  void stop();

  /// For a loop with a clock of its own, instead of run(): one iteration. Runs posted tasks and due timers, and ends
  /// the iteration.
  void step();
  /// When step() has something to do: now if tasks are posted or an IterationEnd was asked for; else the time of the
  /// next timer; nullopt: there is none.
  std::optional<std::int64_t> next_step() const;

  /// Runs `task` soon in the loop's thread, in order of posting.
  void post(std::move_only_function<void()> task);
  /// Runs the posted tasks that have not run yet: after run() has returned.
  void run_posted();
  void run_iteration_ends();  ///< likewise, the IterationEnds that were asked for
  /// Runs `work` on this loop's own worker thread, one at a time, and then `done` in the loop's thread.
  void offload(std::move_only_function<void()> work, std::move_only_function<void()> done);

  /// Runs `task` at the end of every iteration, after the IterationEnds and before the loop waits again, in order of
  /// registration; with `owner`, only as long as it lives.
  void at_iteration_end(std::function<void()> task);
  void at_iteration_end(std::function<void()> task, std::weak_ptr<const void> owner);

  void adopt(std::unique_ptr<SelfOwned> resident);
  void dismiss(SelfOwned* resident);
  std::size_t self_owned() const;

  /// Microseconds, monotonic.
  std::int64_t now() const { return clock_ ? clock_->now() : system_now(); }
  /// The number of the current iteration, from 1 on.
  std::uint64_t iteration() const;
  /// Microseconds since 1970, UTC.
  std::int64_t wall() const { return clock_ ? clock_->wall() : system_wall(); }

  uv_loop_s* uv();                  ///< for loop/ and transfer/
  IterationEnds& iteration_ends();  ///< for iteration_end.h
  TimerQueue& timers();             ///< for timer.h
  HangupWatcher& hangup_watcher();  ///< for loop/
  char* read_buffer();              ///< shared by all streams: each read is handed on before the next
  static constexpr std::size_t kReadBuffer = 64 * 1024;

 private:
  friend class ExpensiveWork;
  struct Impl;
  const Clock* const clock_;
  std::unique_ptr<Impl> impl_;
  std::int64_t expensive_time_ = 0;  // used in this iteration
};

}  // namespace penstock::loop
