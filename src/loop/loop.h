// SPDX-License-Identifier: Apache-2.0
// One event loop and its clock: libuv, wrapped so that ownership is in the types. Everything else in Penstock runs
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
class IterationEnd;

/// Something that lives on the loop without an owner of its own, until it dismisses itself or the loop ends.
class SelfOwned {
 public:
  virtual ~SelfOwned() = default;
};

class Loop {
 public:
  /// `clock` must outlive it; nothing: the system's.
  explicit Loop(const Clock* clock = nullptr);
  /// Closes what is left. Every object made on the loop must be gone before.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Runs until stop().
  void run();
  void stop();

  /// Of a loop with a clock of its own, instead of run(): one turn. Runs what was posted and the timers that are due,
  /// and ends the turn.
  void step();
  /// When step() has something to do: at once where something was posted or asked for the turn's end, at the next
  /// timer, or, nothing: not by time alone.
  std::optional<std::int64_t> next_step() const;

  /// Runs `task` in the loop's thread, soon, in order of posting.
  void post(std::move_only_function<void()> task);
  /// Runs what was posted and has not run yet: after run(), for the last words.
  void run_posted();
  void run_iteration_ends();  ///< likewise, what asked for the turn's end
  /// Runs `work` on this loop's own worker thread, one at a time, and then `done` in the loop's thread.
  void offload(std::move_only_function<void()> work, std::move_only_function<void()> done);

  /// Runs `task` at the end of every turn, before the loop waits again and after what turn_end.h asked for, in order of
  /// registration; for as long as `owner` lives, where one is given.
  void at_iteration_end(std::function<void()> task);
  void at_iteration_end(std::function<void()> task, std::weak_ptr<const void> owner);

  void adopt(std::unique_ptr<SelfOwned> resident);
  void dismiss(SelfOwned* resident);
  std::size_t self_owned() const;

  /// Microseconds, monotonic.
  std::int64_t now() const { return clock_ ? clock_->now() : system_now(); }
  /// The number of the turn under way, from 1 on.
  std::uint64_t turn() const;
  /// Microseconds since 1970, UTC.
  std::int64_t wall() const { return clock_ ? clock_->wall() : system_wall(); }

  uv_loop_s* uv();                  ///< for this room, transfer/ and redis/
  TimerQueue& timers();             ///< for timer.h
  HangupWatcher& hangup_watcher();  ///< for this room
  char* read_buffer();              ///< shared by all streams: what is read is handed on before the next read
  static constexpr std::size_t kReadBuffer = 64 * 1024;

 private:
  friend class IterationEnd;
  friend class ExpensiveWork;
  struct Impl;
  const Clock* const clock_;
  std::unique_ptr<Impl> impl_;
  std::int64_t expensive_time_ = 0;  // of this turn
};

}  // namespace penstock::loop
