// SPDX-License-Identifier: Apache-2.0
// Joins everything that lives on the loop's thread: listeners, clients, dispatcher, connections to upstreams, event
// log, metrics. Created, run and destroyed on that thread. For proxy.cc only.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "access/users.h"
#include "app/client_listener.h"
#include "app/drain.h"
#include "app/live_verdict.h"
#include "app/redis_network.h"
#include "app/shared_limits.h"
#include "app/watch.h"
#include "app/watched_authority.h"
#include "base/unique_fd.h"
#include "loop/loop.h"
#include "loop/resolver.h"
#include "observe/admin_server.h"
#include "observe/event_log.h"
#include "observe/metrics.h"
#include "penstock/ahead.h"
#include "penstock/config.h"
#include "penstock/error.h"
#include "penstock/event.h"
#include "penstock/message.h"
#include "penstock/permit.h"
#include "penstock/snapshot.h"
#include "proxy/client/authenticator.h"
#include "proxy/client/clients.h"
#include "proxy/client/local_permit.h"
#include "proxy/client/local_sink.h"
#include "proxy/dispatch/dispatcher.h"
#include "proxy/exchange/upstream_pools.h"
#include "proxy/intercept/interception_service.h"

namespace penstock::app {

/// Listening sockets that another process has bound, until they are taken; -1: none.
struct HandedOver {
  base::UniqueFd proxy, admin;
};

class Engine {
 public:
  /// Without `notices`, notices go to stderr at `log.level`.
  Engine(loop::Loop& loop, Config config, const std::vector<EventSink>& observers, NoticeSink notices);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Call before open(): what the next start has to know is kept in that folder; empty: nowhere.
  void keep_state_in(std::string folder) { state_folder_ = std::move(folder); }
  /// Call before open(): SIGHUP makes this process read `file` again, and /status tells how that went.
  void tell_of_reloads(std::string file);
  /// Binds the sockets that were not handed over, and creates everything. Once, before the loop runs.
  std::expected<void, Error> open(HandedOver& sockets);

  Endpoint proxy_endpoint() const { return listener_.bound(); }
  /// An empty address: there is no admin port.
  Endpoint admin_endpoint() const { return admin_ ? admin_->bound() : Endpoint{}; }

  /// Adopts another configuration, which must be free of errors (reload.h): everything derived from the old one is
  /// updated within this call.
  /// `networks` are those to the Redis of `config`.
  void change(Config config, std::optional<access::Users> users, std::shared_ptr<const tls::Authority> authority,
              Networks networks);
  /// Counts a configuration that could not be adopted.
  void not_changed(const std::vector<ConfigError>& why);

  Snapshot snapshot(const SnapshotExtent& extent = {}) const;
  /// Calls `seen` when a snapshot says how much of the limits all processes have used: at once without Redis, else
  /// within 50 ms. Not after the engine's end.
  void look(std::function<void()> seen) { limits_->look(std::move(seen)); }
  void submit(Request request, proxy::LocalSink::OnResponse on_response);
  void acquire(const std::string& upstream, const PermitOptions& options, proxy::LocalPermit::OnAnswer on_answer);
  /// Tells it at once, or where other processes share the limits within 50 ms. Not after the engine's end.
  void ahead(const AheadQuery& query, observe::AdminServer::OnAhead told);
  void reopen_log(base::UniqueFd file) { log_->reopen(std::move(file)); }
  /// Warns that the event log could not be reopened.
  void not_reopened(const Error& why) const { notice(LogLevel::warn, why.message + ": it goes on in the old file"); }
  /// Warns of something in a file that may not do what it seems to.
  void warn(std::string what) const { notice(LogLevel::warn, std::move(what)); }
  /// Stops accepting. `when_done` is told whether all was finished within `grace`, and then nothing is left to do. A
  /// second call joins the first, whose grace stands. Calls still waiting when the engine is destroyed are told that it
  /// was not.
  void drain(Duration grace, Drain::OnDone when_done) { drain_->begin(grace, std::move(when_done)); }
  /// Ends everything under way, so that every request has its outcome.
  void end_all();

 private:
  Config as_bound() const;
  void note_configuration();
  NoticeSink notice_sink() const;
  void take_on(std::shared_ptr<const tls::Authority> authority);
  void reloaded(std::vector<std::string> errors);
  observe::Viewers::Sources sources_of_viewers();
  std::string explain(std::string_view upstream) const;
  std::expected<void, Error> open_admin(base::UniqueFd socket);
  void make_proxy(Networks networks);
  void tell(const Event& event);
  void notice(LogLevel level, std::string text) const { notices_({.level = level, .text = std::move(text)}); }

  // Destroyed from the last to the first: drain and watch, then the dispatcher, whose exchanges use all that is above.
  loop::Loop& loop_;
  Config config_;  // in force; others keep references to it
  const std::vector<EventSink>& observers_;
  const bool own_notices_;
  NoticeSink notices_;
  std::unique_ptr<observe::EventLog> log_;
  std::unique_ptr<observe::Metrics> metrics_;
  ClientListener listener_;
  std::unique_ptr<observe::AdminServer> admin_;  // null: there is no admin port
  std::unique_ptr<loop::Resolver> resolver_;
  std::unique_ptr<LiveVerdict> verdict_;
  std::string state_folder_;
  bool ends_ = false;
  std::optional<ReloadSnapshot> reload_;
  struct InForce {
    std::string hash;        // config_hash()
    std::int64_t since = 0;  // seconds since 1970
  };
  InForce in_force_;
  std::unique_ptr<SharedLimits> limits_;
  proxy::Authenticator authenticator_;
  proxy::InterceptionService interception_;
  WatchedAuthority authority_;
  std::unique_ptr<proxy::UpstreamPools> pools_;
  std::unique_ptr<proxy::Clients> clients_;
  std::unique_ptr<proxy::Dispatcher> dispatcher_;  // exchanges point at sinks and transfers
  std::unique_ptr<Watch> watch_;
  std::unique_ptr<Drain> drain_;
};

}  // namespace penstock::app
