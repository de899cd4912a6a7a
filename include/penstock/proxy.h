// SPDX-License-Identifier: Apache-2.0
// Start here. A Proxy is the whole of Penstock in one object: it listens, queues, dispatches and answers on its own
// thread. The daemon uses just this class. It installs no signal handler, and several may exist in one process. It
// changes no environment variable; docs/embedding.md lists the few that it and its libraries read.
//
//   penstock::Proxy proxy{config};
//   if (auto started = proxy.start(); !started) die(started.error().message);
//   environment_of_a_child.push_back("http_proxy=" + proxy.url());
//   …
//   proxy.drain(10s);
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/ahead.h"
#include "penstock/config.h"
#include "penstock/error.h"
#include "penstock/event.h"
#include "penstock/message.h"
#include "penstock/permit.h"
#include "penstock/snapshot.h"

namespace penstock {

class Proxy {
 public:
  /// Called once, on the loop's thread. An Error means that no whole answer came: the connection broke in the middle
  /// of a body, or the proxy is not running (then submit() itself makes the call). Everything else, including refusals,
  /// is a Response.
  using ResponseSink = std::move_only_function<void(std::expected<Response, Error>)>;

  /// Keeps the settings; binds nothing and starts no thread yet.
  explicit Proxy(Config config);
  /// Does what stop() does.
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  /// Adds an observer of all events, or of notices; it is called on the loop's thread and must not block. Call before
  /// start(). Without an observer, notices go to stderr at `log.level`.
  void observe(EventSink sink);
  void observe_notices(NoticeSink sink);

  /// Uses sockets that listen already, at the configured addresses, instead of binding `proxy.listen` or
  /// `admin.listen`; -1: none. The proxy owns them from now on. If the caller keeps a copy of the first socket for the
  /// next process, no client is refused in between: a drain then serves the clients accepted before. Call once, before
  /// start().
  void listen_on(int proxy, int admin = -1);

  /// Sets a folder of the program's own where state for the next start is kept: how many processes share limits through
  /// Redis. Without it nothing is kept. Call before start().
  void keep_state_in(std::string folder);

  /// Says in /status that SIGHUP makes this process reload `file`, so that `penstock reload` may send it. Call before
  /// start().
  void reloads_on_hangup(std::string file);

  /// Validates the settings, binds, and starts the thread. Call once.
  std::expected<void, Error> start();

  /// `http://127.0.0.1:3128`, with the port that was actually bound. Valid after start().
  std::string url() const;
  /// The same for /metrics, /healthz, /readyz and /status; empty: there is no admin port.
  std::string admin_url() const;

  /// Sends a request as if a client had sent it: queue, limits, events. In-process requests are not subject to
  /// `access.clients`. From any thread, after start(). Never blocks.
  void submit(Request request, ResponseSink on_response);

  /// Waits for a permit of the upstream of that name, which has `permits: true`: queue, limits, events. It is held
  /// until the Permit is released or dropped. From any thread but the loop's, after start(); blocks until it is granted
  /// or refused, by queue.maxWait or by a drain at the latest. Not subject to `access.clients`.
  std::expected<Permit, PermitRefusal> acquire(std::string_view upstream, const PermitOptions& options = {});

  /// When a request would leave that came now, over its route, group, weight, and all that waits; the error is what it
  /// would be told. Spends nothing: no departure, no slot, no event. From any thread but the loop's, after start();
  /// waits for an iteration of the loop, and where limits are shared up to 50 ms until other processes have told how
  /// much waits in them.
  std::expected<Ahead, AheadRefusal> ahead(const AheadQuery& query) const;

  /// The current state. From any thread but the loop's; waits for an iteration of the loop, and where limits are shared
  /// up to 50 ms until Redis has told how much of them all processes have used.
  Snapshot snapshot() const;

  /// Waits for an iteration of the loop; false: the loop does not run any more, or not yet. From any thread but the
  /// loop's.
  bool responds() const;

  /// Changes the settings while the proxy runs. Waiting requests keep their places and obey the new limits, requests in
  /// flight go on, no connection of a client is dropped; upstreams are identified by their names, and so is each Redis:
  /// what was spent counts also where another one is to know of it. `proxy.listen`, `admin.listen`, `log.events` and
  /// `dns` cannot change. After an error nothing has changed. From any thread but the loop's;
  /// waits for an iteration of the loop.
  std::expected<void, std::vector<ConfigError>> reload(Config config);
  /// The same with the settings that a file has now.
  std::expected<void, std::vector<ConfigError>> reload(const std::string& file,
                                                       const Environment& environment = process_environment);
  /// The settings in force. From any thread but the loop's.
  Config config() const;

  /// Reopens the event file, for log rotation. After an error, which is also a notice, the old file stays in use. From
  /// any thread; accesses the file system.
  std::expected<void, Error> reopen_log();

  /// Stops accepting, lets pending and in-flight requests finish until the deadline, answers 503 to the rest, stops.
  /// True if all finished in time. From any thread but the loop's; blocks. A second drain joins the first with the
  /// first's deadline, or returns the first's result; a stop() ends both with false.
  bool drain(Duration deadline);

  /// Stops now: unfinished requests are answered 503, or break off in the middle of a body; connections are closed.
  /// When this returns, every request has its answer. From any thread but the loop's; idempotent.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock
