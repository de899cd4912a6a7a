// SPDX-License-Identifier: Apache-2.0
// Looks at the running proxy from time to time: how late the loop's timers come (every 10 ms), what is worth a warning
// (every 10 s), and which addresses changed (every minute). For the engine.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "app/client_listener.h"
#include "app/live_verdict.h"
#include "app/watched_authority.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "observe/event_log.h"
#include "observe/metrics.h"
#include "penstock/event.h"
#include "proxy/client/clients.h"

namespace penstock::app {

class Watch {
 public:
  /// All of it must outlive the watch.
  struct Watched {
    observe::Metrics& metrics;
    const observe::EventLog& log;
    LiveVerdict& verdict;
    WatchedAuthority& authority;
    const proxy::Clients& clients;
    const ClientListener& listener;
  };

  /// Begins at once, except with the addresses, which were looked up just now.
  Watch(loop::Loop& loop, const Watched& watched, NoticeSink notices);

 private:
  void measure_lag();
  void look(std::int64_t now);
  void look_at_log();
  void look_at_clients();
  void look_at_descriptors();
  void warn(std::string text) const { notices_({.level = LogLevel::warn, .text = std::move(text)}); }

  loop::Loop& loop_;
  const Watched watched_;
  const NoticeSink notices_;
  std::int64_t lag_due_ = 0;
  std::int64_t next_look_ = 0;
  std::int64_t next_addresses_;
  std::uint64_t lines_lost_ = 0, turned_away_ = 0, pauses_ = 0;  // as last reported
  loop::Timer timer_;
};

}  // namespace penstock::app
