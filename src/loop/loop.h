// SPDX-License-Identifier: Apache-2.0
// One event loop and its thread's clock: libuv, wrapped so that ownership is in the types. Everything else in Penstock
// runs inside it. Only post() and stop() may be called from other threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "penstock/error.h"

struct uv_loop_s;

namespace penstock::loop {

class TimerQueue;

class Loop {
 public:
  Loop();
  /// Closes what is left. All handles made on the loop must be gone.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Runs until stop().
  void run();
  void stop();

  /// Runs `task` in the loop's thread, soon, in order of posting.
  void post(std::move_only_function<void()> task);
  /// Runs `work` on libuv's pool and then `done` in the loop's thread. Not cancelled by anything.
  void offload(std::move_only_function<void()> work, std::move_only_function<void()> done);

  /// Runs `task` once, at the end of this turn, before the loop waits again. From the loop's thread.
  void defer(std::move_only_function<void()> task);
  /// Runs `task` at the end of every turn, after the deferred ones, in order of registration.
  void at_end_of_turn(std::function<void()> task);

  /// Microseconds, monotonic.
  std::int64_t now() const;
  /// Microseconds since 1970, UTC.
  static std::int64_t wall();

  uv_loop_s* uv();       ///< for this room, transfer/ and redis/
  TimerQueue& timers();  ///< for timer.h
  char* read_buffer();   ///< 64 KiB shared by all streams: what is read is handed on before the next read
  static constexpr std::size_t kReadBuffer = 64 * 1024;

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace penstock::loop
