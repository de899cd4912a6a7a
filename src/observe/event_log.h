// SPDX-License-Identifier: Apache-2.0
// Writes events as JSON lines, in order, through spdlog's asynchronous logger with a thread and a queue of its own. A
// slow or full disk never stalls the caller: the oldest lines are dropped and counted. Lines are written by hand,
// escaped; bytes that are not UTF-8 are replaced. All calls on the loop's thread unless stated otherwise.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "penstock/error.h"
#include "penstock/event.h"

namespace penstock::observe {

/// Appends one event as one JSON object and a line feed.
void write_json(std::string& out, const Event& event);

class EventLog {
 public:
  /// `target`: stdout, stderr, off, or a file's path (appended to).
  static std::expected<std::unique_ptr<EventLog>, Error> open(const std::string& target);
  ~EventLog();  ///< writes the queued lines, then ends the thread

  void record(const Event& event);
  /// Hands the lines of this iteration of the loop to the logger as one message. Call at the end of each iteration.
  void flush();
  /// For rotation: opens the file of that name as it is now, for reopen(); an empty descriptor for stdout, stderr and
  /// off. Any thread.
  static std::expected<base::UniqueFd, Error> open_anew(const std::string& target);
  /// Continues in `file`; what was recorded before goes to the old file. Never blocks.
  void reopen(base::UniqueFd file);
  /// Lines lost to a slow disk so far. Any thread.
  std::uint64_t dropped() const;

 private:
  struct Impl;
  explicit EventLog(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::observe
