// SPDX-License-Identifier: Apache-2.0
// Where event lines end up: a descriptor, written to by one thread, which may wait for it, but never longer than
// another thread allows. Lines that cannot be written are counted and dropped. For event_log.cc only.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "penstock/error.h"

namespace penstock::observe {

class EventOutput {
 public:
  /// `target`: stdout, stderr, or a file's path; a missing file is created.
  static std::expected<std::unique_ptr<EventOutput>, Error> open(const std::string& target);

  /// Opens the target's path once more, as it is now; an empty descriptor for stdout and stderr. Any thread.
  static std::expected<base::UniqueFd, Error> open_anew(const std::string& target);

  /// Writes whole lines. Waits while a pipe is full. The writer's thread only.
  void write(std::string_view lines);
  /// Sets the descriptor that reopen() switches to. Any thread.
  void offer(base::UniqueFd next);
  /// Switches to the offered descriptor, if any. The writer's thread only.
  void reopen();

  /// From now on all write() calls together wait for `patience` at most, and no longer than `silence` for the next
  /// bytes to be taken; then the rest is dropped. Any thread, once.
  void hurry(std::chrono::nanoseconds patience, std::chrono::milliseconds silence);
  /// Lines that could not be written. Any thread.
  std::uint64_t unwritten() const { return unwritten_.load(std::memory_order_relaxed); }

 private:
  EventOutput(base::UniqueFd sink, base::UniqueFd wake);
  void adopt(base::UniqueFd sink);
  std::size_t write_some(std::string_view bytes);
  bool wait_until_writable();
  int milliseconds_left() const;

  static constexpr std::int64_t kForever = INT64_MAX;

  base::UniqueFd sink_;
  base::UniqueFd wake_;                           // an eventfd: interrupts the wait when hurry() is called
  bool blocking_ = false;                         // a write could block: poll first, and write at most PIPE_BUF
  bool torn_ = false;                             // the last line written is incomplete
  std::atomic<std::int64_t> deadline_{kForever};  // ns on the steady clock
  std::atomic<int> silence_{0};                   // ms; used while there is a deadline
  std::atomic<std::uint64_t> unwritten_{0};
  std::mutex offering_;
  base::UniqueFd offered_;
};

}  // namespace penstock::observe
