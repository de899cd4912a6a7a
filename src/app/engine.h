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
#include "app/processes_file.h"
#include "base/unique_fd.h"
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
#include "proxy/client/authenticator.h"
#include "proxy/client/clients.h"
#include "proxy/client/local_sink.h"
#include "proxy/dispatch/dispatcher.h"
#include "proxy/exchange/upstream_pools.h"
#include "proxy/intercept/interception_service.h"
#include "redis/limits/limiter_hub.h"

namespace penstock::app {

/// Listening sockets that somebody else has bound, until they are taken; -1: none.
struct HandedOver {
  base::UniqueFd proxy, admin;
};

class Engine {
 public:
  /// Without `notices` they go to stderr at `log.level`.
  Engine(loop::Loop& loop, Config config, const std::vector<EventSink>& observers, NoticeSink notices);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Before open(): what is to be known at the next start is kept in that folder; empty: nowhere.
  void keep_state_in(std::string folder) { state_folder_ = std::move(folder); }
  /// Binds what was not handed over, and makes everything. Once, before the loop runs.
  std::expected<void, Error> open(HandedOver& sockets);

  Endpoint proxy_endpoint() const { return listener_->bound(); }
  Endpoint admin_endpoint() const { return admin_->bound(); }

  /// Takes on another configuration, with which nothing may be wrong (reload.h): all that is derived from the one
  /// before follows within this call.
  void change(Config config, std::optional<access::Users> users, std::shared_ptr<const tls::Authority> authority);
  /// A configuration could not be taken on.
  void not_changed() { metrics_->reloaded(false); }

  Snapshot snapshot() const;
  void submit(Request request, proxy::LocalSink::OnResponse on_response);
  void reopen_log(base::UniqueFd file) { log_->reopen(std::move(file)); }
  /// The event log could not be opened anew.
  void not_reopened(const Error& why) const { notice(LogLevel::warn, why.message + ": it goes on in the old file"); }
  /// A file that was read has something in it that may not do what it seems to.
  void warn(std::string what) const { notice(LogLevel::warn, std::move(what)); }
  /// Stops accepting; `when_done` hears whether all was finished within `grace`, and then nothing is left to do. A
  /// second call joins the first, whose grace stands. Whoever still waits when the engine goes hears that it was not.
  void drain(Duration grace, std::move_only_function<void(bool)> when_done);
  /// Ends what is under way, so that every request has its outcome.
  void end_all();

 private:
  Config as_bound() const;
  access::Verdict verdict() const;
  void take_on(std::shared_ptr<const tls::Authority> authority);
  void make_proxy();
  void make_limiters(proxy::Services& services);
  void share_labels();
  bool learn_addresses();
  void look_around();
  void find_redis();
  void close(const loop::Addresses& of_redis);
  void tell(const Event& event);
  void measure_lag();
  void watch_log();
  void watch_clients();
  void watch_authority();
  void notice(LogLevel level, std::string text) const { notices_({.level = level, .text = std::move(text)}); }
  void serve_accepted();
  bool may_ask_once_more() const;
  void come_to_rest();
  void out_of_grace();
  void take_leave();
  void say_drained(bool in_time);

  loop::Loop& loop_;
  Config config_;  // in force; others refer to it where it is
  const std::vector<EventSink>& observers_;
  const bool own_notices_;
  NoticeSink notices_;
  std::unique_ptr<observe::EventLog> log_;
  std::unique_ptr<observe::Metrics> metrics_;
  std::unique_ptr<loop::Listener> listener_;
  std::vector<Endpoint> bound_;    // of the proxy, then of the admin port
  std::vector<Endpoint> closed_;   // places of Redis, by name and by the addresses that it has had
  std::vector<std::string> here_;  // addresses of this machine
  std::unique_ptr<observe::AdminServer> admin_;
  std::unique_ptr<access::Verdict> verdict_;
  std::unique_ptr<loop::Resolver> resolver_;
  std::unique_ptr<loop::Resolver::Lookup> redis_lookup_;  // under way, or answered
  std::unique_ptr<proxy::UpstreamPools> connections_;
  base::SipKey labels_;  // under which the log has groups by header
  std::string state_folder_;
  std::unique_ptr<ProcessesFile> processes_file_;
  std::unique_ptr<redis::LimiterHub> hub_;  // where Redis is configured
  std::unique_ptr<proxy::Dispatcher> dispatcher_;
  std::unique_ptr<proxy::Clients> clients_;
  std::int64_t lag_due_ = 0;
  std::int64_t next_watch_ = 0;
  std::int64_t next_look_ = 0;    // around
  std::uint64_t lines_lost_ = 0;  // as last said
  loop::Timer lag_timer_;
  loop::Timer grace_timer_;
  loop::Timer hearing_timer_;
  loop::Timer leave_timer_;
  proxy::Authenticator authenticator_;
  proxy::InterceptionService interceptor_;
  std::shared_ptr<const tls::Authority> authority_;  // where something is intercepted
  std::string end_told_;                             // of it, when last said
  bool has_successor_ = false;                       // whoever has bound our socket hands it to the next process too
  std::int64_t draining_since_ = 0;
  std::int64_t leave_by_ = 0;
  std::uint64_t pauses_ = 0;  // of the listener that is gone
  std::uint64_t away_told_ = 0, pauses_told_ = 0;
  bool in_time_ = true;
  bool drained_ = false;  // those who asked have been answered
  std::vector<std::move_only_function<void(bool)>> when_drained_;
};

}  // namespace penstock::app
