// SPDX-License-Identifier: Apache-2.0
// What passes between the daemon and systemd, or what speaks as it does: the sockets that it hands over, the states
// that it is told, the heartbeat that it may want. Where there is none, all of this does nothing. For commands only.
#pragma once

#include <condition_variable>
#include <expected>
#include <mutex>
#include <string>
#include <thread>

#include "penstock/proxy.h"

namespace penstock::app {

/// Listening sockets by what they are for; -1: none.
struct Sockets {
  int proxy = -1, admin = -1;
};
/// Those that were handed over to this process, by their names. They stand in the environment, which its children shall
/// not have: it is changed, so before any thread starts, and once.
std::expected<Sockets, std::string> take_sockets();
/// The same for whoever has no use for them.
void leave_sockets();

/// Where a service is to keep what it wants to have at its next start ($STATE_DIRECTORY); empty: nowhere.
std::string state_folder();

/// How it is; `status` is for `systemctl status`. Whoever listens is waited for.
void tell_ready(const std::string& status);
void tell_reloading();
void tell_stopping();

/// Says, as often as it is wanted, that the loop turns: from a thread of its own, which asks the loop first. So a loop
/// that stands still is found out, and one that runs never waits for who is told.
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
