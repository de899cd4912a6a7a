// SPDX-License-Identifier: Apache-2.0
// Asks a daemon for its status once a second, on a thread of its own: a daemon that keeps silent must not hold up keys.
// For `penstock top` only.
#pragma once

#include <chrono>
#include <condition_variable>
#include <expected>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/unique_fd.h"
#include "penstock/config.h"

namespace penstock::app {

/// The body of /status. The error is a sentence that names the port.
using StatusBody = std::expected<std::string, std::string>;
StatusBody ask_status(const Endpoint& admin);

class TopPoll {
 public:
  explicit TopPoll(const Endpoint& admin);
  /// Waits for nobody: what is asked just now is broken off.
  ~TopPoll();
  TopPoll(const TopPoll&) = delete;
  TopPoll& operator=(const TopPoll&) = delete;

  /// Readable once there is an answer that has not been taken.
  int fd() const { return news_.get(); }
  std::optional<StatusBody> take();

 private:
  void run();

  Endpoint admin_;
  base::UniqueFd news_;  // an eventfd
  std::mutex mutex_;     // of what follows
  std::condition_variable stop_wanted_, stopped_;
  std::optional<StatusBody> answer_;
  bool stop_ = false, ended_ = false;
  std::thread thread_;
};

}  // namespace penstock::app
