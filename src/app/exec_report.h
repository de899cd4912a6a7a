// SPDX-License-Identifier: Apache-2.0
// `exec --report FILE`: the page of the admin port, frozen as the command has left it, in one file that opens from
// disk.
#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <optional>
#include <string>

#include "app/sent_history.h"
#include "penstock/config.h"
#include "penstock/event.h"
#include "penstock/snapshot.h"

namespace penstock::app {

/// Keeps the latest ends of requests, so a long run does not make it grow. Events may come from another thread than the
/// other calls, but not at the same time.
class ExecReport {
 public:
  static constexpr std::size_t kMostRequests = 200;

  /// What keeps FILE from being written, as far as that is known beforehand; nullopt: nothing.
  static std::optional<std::string> wrong_with(const std::string& file);

  void add(const Event& event);
  /// The last state of all, which `config` has led to.
  void keep(const Snapshot& last, const Config& config, const std::string& title);
  /// Writes FILE for its owner only, whole or not at all. A symbolic link is replaced, and not what it leads to. Does
  /// nothing where keep() was not called. The error is a sentence.
  std::expected<void, std::string> write(const std::string& file) const;

 private:
  std::string json() const;

  std::deque<std::string> ends_;  // as the event log has them
  std::uint64_t forgotten_ = 0;   // ends before these
  SentHistory sent_;
  std::string snapshot_, history_, title_;  // JSON; empty: keep() was not called
};

}  // namespace penstock::app
