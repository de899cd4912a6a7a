// SPDX-License-Identifier: Apache-2.0
// Where event lines end up: a descriptor, written to by one thread that may wait for it, but never for longer than
// another thread allows. Lines that cannot be written are counted and forgotten. For event_log.cc only.
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
  /// `target`: stdout, stderr, or a file's path, which is created where it is missing.
  static std::expected<std::unique_ptr<EventOutput>, Error> open(const std::string& target);

  /// The same file once more, or what is there by now; nothing for stdout and stderr. Any thread.
  static std::expected<base::UniqueFd, Error> open_anew(const std::string& target);

  /// Whole lines. Waits while a pipe is full. The writer's thread only.
  void write(std::string_view lines);
  /// What reopen() shall go on with. Any thread.
  void offer(base::UniqueFd next);
  /// Goes on with what was offered. The writer's thread only.
  void reopen();

  /// From now on write() waits for `patience` at most, all calls together, and no longer than `silence` for the next
  /// bytes to be taken; then it drops what is left. Any thread, once.
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
  base::UniqueFd wake_;                           // an eventfd: interrupts the wait when the hurry begins
  bool blocking_ = false;                         // a write could block: wait first, and write no more than surely fits
  bool torn_ = false;                             // the last line written lacks its end
  std::atomic<std::int64_t> deadline_{kForever};  // ns on the steady clock
  std::atomic<int> silence_{0};                   // ms, while there is a deadline
  std::atomic<std::uint64_t> unwritten_{0};
  std::mutex offering_;
  base::UniqueFd offered_;
};

}  // namespace penstock::observe
