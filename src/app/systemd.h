// SPDX-License-Identifier: Apache-2.0
// The exchange between the daemon and systemd, or a program that speaks its protocol: sockets handed over, states
// reported, and the heartbeat if wanted. Without systemd all of this does nothing. For commands only.
#pragma once

#include <condition_variable>
#include <expected>
#include <mutex>
#include <string>
#include <thread>

#include "penstock/proxy.h"

namespace penstock::app {

/// Listening sockets by their purpose; -1: none.
struct Sockets {
  int proxy = -1, admin = -1;
};
/// The sockets handed over to this process, by their names. They are listed in the environment, which is changed so
/// that children do not inherit the list: call once, before any thread starts.
std::expected<Sockets, std::string> take_sockets();
/// Removes them from the environment, for a command that does not use them.
void leave_sockets();

/// The folder in which a service keeps what its next start needs ($STATE_DIRECTORY); empty: none.
std::string state_folder();

/// Report the daemon's state; `status` is for `systemctl status`. They may wait for the receiver.
void tell_ready(const std::string& status);
void tell_reloading();
void tell_stopping();

/// Reports, as often as systemd wants, that the loop runs: from a thread of its own, which asks the loop first. So a
/// stuck loop is noticed, and a running one never waits for the receiver.
class Heartbeat {
 public:
  explicit Heartbeat(const Proxy& proxy);

 private:
  void live(const std::stop_token& end, const Proxy& proxy, Duration every);

  std::mutex mutex_;
  std::condition_variable_any ending_;
  std::jthread thread_;  // last: it uses the rest
};

}  // namespace penstock::app
