// SPDX-License-Identifier: Apache-2.0
// All that lives on the loop's thread, joined: listeners, clients, dispatcher, connections to upstreams, event log,
// metrics. Made, run and destroyed on that one thread. Only for proxy.cc.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "access/verdict.h"
#include "loop/listener.h"
#include "loop/loop.h"
#include "loop/resolver.h"
#include "loop/timer.h"
#include "observe/admin_server.h"
#include "observe/event_log.h"
#include "observe/metrics.h"
#include "penstock/config.h"
#include "penstock/error.h"
#include "penstock/event.h"
#include "penstock/message.h"
#include "penstock/snapshot.h"
#include "proxy/clients.h"
#include "proxy/connections.h"
#include "proxy/dispatcher.h"
#include "proxy/local_requester.h"
#include "redis/booking_office.h"

namespace penstock::app {

class Engine {
 public:
  Engine(loop::Loop& loop, const Config& config, const std::vector<EventSink>& observers, NoticeSink notices);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Binds and makes everything. Once, before the loop runs.
  std::expected<void, Error> open();

  Endpoint proxy_endpoint() const { return listener_->bound(); }
  Endpoint admin_endpoint() const { return admin_->bound(); }

  Snapshot snapshot() const;
  void submit(Request request, proxy::LocalRequester::OnResponse on_response);
  void reopen_log() { log_->reopen(); }
  /// Stops accepting; `when_done` hears whether all was finished within `grace`, and then nothing is left to do. A
  /// second call joins the first, whose grace stands. Whoever still waits when the engine goes hears that it was not.
  void drain(Duration grace, std::move_only_function<void(bool)> when_done);
  /// Ends what is under way, so that every request has its outcome.
  void end_all();

 private:
  void make_proxy();
  void make_bookers(proxy::Services& services);
  void tell(const Event& event);
  void measure_lag();
  void watch_log(std::int64_t now);
  void notice(LogLevel level, std::string text) const { notices_({.level = level, .text = std::move(text)}); }
  void out_of_grace();
  void take_leave();
  void say_drained(bool in_time);

  loop::Loop& loop_;
  const Config& config_;
  Config in_force_;  ///< with the ports that were really bound, as /status shows it
  const std::vector<EventSink>& observers_;
  const NoticeSink notices_;
  std::unique_ptr<observe::EventLog> log_;
  std::unique_ptr<observe::Metrics> metrics_;
  std::unique_ptr<loop::Listener> listener_;
  std::unique_ptr<observe::AdminServer> admin_;
  std::unique_ptr<access::Verdict> verdict_;
  std::unique_ptr<loop::Resolver> resolver_;
  std::unique_ptr<proxy::Connections> connections_;
  std::unique_ptr<redis::BookingOffice> office_;  // where Redis is configured
  std::unique_ptr<proxy::Dispatcher> dispatcher_;
  std::unique_ptr<proxy::Clients> clients_;
  std::int64_t lag_due_ = 0;
  std::int64_t next_log_look_ = 0;
  std::uint64_t lines_lost_ = 0;  // as last said
  loop::Timer lag_timer_;
  loop::Timer grace_timer_;
  loop::Timer leave_timer_;
  std::int64_t leave_by_ = 0;
  bool in_time_ = true;
  std::vector<std::move_only_function<void(bool)>> when_drained_;
};

}  // namespace penstock::app
