// SPDX-License-Identifier: Apache-2.0
// Where event lines end up: a descriptor, written to by one thread that may wait for it, but never for longer than
// another thread allows. Lines that cannot be written are counted and forgotten. For event_log.cc only.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "penstock/error.h"

namespace penstock::observe {

/// A file descriptor, closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int release();
  int number_;
};

class EventOutput {
 public:
  /// `target`: stdout, stderr, or a file's path, which is created where it is missing.
  static std::expected<std::unique_ptr<EventOutput>, Error> open(const std::string& target);

  /// Whole lines. Waits while a pipe is full. The writer's thread only.
  void write(std::string_view lines);
  /// Opens the file anew; goes on with the old one where that fails. The writer's thread only.
  void reopen();

  /// From now on write() waits for `patience` at most, all calls together, and drops what is left. Any thread.
  void hurry(std::chrono::nanoseconds patience);
  /// Lines that could not be written. Any thread.
  std::uint64_t unwritten() const { return unwritten_.load(std::memory_order_relaxed); }

 private:
  EventOutput(std::string path, Descriptor sink, Descriptor wake);
  void adopt(Descriptor sink);
  std::size_t write_some(std::string_view bytes);
  bool wait_until_writable();
  int milliseconds_left() const;

  static constexpr std::int64_t kForever = INT64_MAX;

  std::string path_;  // empty: stdout or stderr, never opened anew
  Descriptor sink_;
  Descriptor wake_;                               // an eventfd: interrupts the wait when the hurry begins
  bool blocking_ = false;                         // a write could block: wait first, and write no more than surely fits
  bool torn_ = false;                             // the last line written lacks its end
  std::atomic<std::int64_t> deadline_{kForever};  // ns on the steady clock
  std::atomic<std::uint64_t> unwritten_{0};
};

}  // namespace penstock::observe
