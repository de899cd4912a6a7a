// SPDX-License-Identifier: Apache-2.0
// Start here. A Proxy is the whole of Penstock in one object: it listens, queues, dispatches and answers on a thread of
// its own. The daemon is built on exactly this. It installs no signal handler, and several may live in one process. Of
// the environment it changes nothing; docs/embedding.md lists the few variables that it and its libraries read.
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
#include <vector>

#include "penstock/config.h"
#include "penstock/error.h"
#include "penstock/event.h"
#include "penstock/message.h"
#include "penstock/snapshot.h"

namespace penstock {

class Proxy {
 public:
  /// Called once, on the loop's thread. An Error means that no whole answer came: the connection broke in the middle
  /// of a body, or the proxy does not run (then the call comes from inside submit()). Everything else, refusals
  /// included, is a Response.
  using ResponseSink = std::move_only_function<void(std::expected<Response, Error>)>;

  /// Takes its settings; nothing is bound and no thread started yet.
  explicit Proxy(Config config);
  /// As stop().
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  /// To be told of every event, or of diagnostics, on the loop's thread. Call before start(). Observers must not block.
  /// Without an observer of notices they go to stderr at `log.level`.
  void observe(EventSink sink);
  void observe_notices(NoticeSink sink);

  /// Sockets that listen already, at the configured addresses, instead of binding `proxy.listen` or `admin.listen`; -1:
  /// none. They are the proxy's from here on. Whoever keeps a copy of the first for the next process has nobody refused
  /// in between: a drain then serves what clients ask that were accepted before. Call before start(), once.
  void listen_on(int proxy, int admin = -1);

  /// A folder that is the program's own, for what is to be known at the next start: how many processes share limits
  /// through Redis. Without one nothing is kept. Call before start().
  void keep_state_in(std::string folder);

  /// Validates the settings, binds, starts the thread. Once only.
  std::expected<void, Error> start();

  /// `http://127.0.0.1:3128`, with the port that was really bound. Valid after start().
  std::string url() const;
  /// The same for /metrics, /healthz, /readyz and /status.
  std::string admin_url() const;

  /// Sends a request the way a client's would go: queue, limits, events. From any thread, after start(). In-process
  /// requests are not subject to `access.clients`. Never blocks.
  void submit(Request request, ResponseSink on_response);

  /// The state at this moment. From any thread but the loop's; waits for the loop's turn.
  Snapshot snapshot() const;

  /// Waits for the loop's turn; false: there is none any more, or not yet. From any thread but the loop's.
  bool turns() const;

  /// Takes on other settings while it runs. What waits keeps its place and is held to the new limits, what flies goes
  /// on, no connection is dropped; upstreams are known by their names. `proxy.listen`, `admin.listen`, `log.events`,
  /// `dns` and `redis` cannot change. Any error: nothing has changed. From any thread but the loop's; waits for the
  /// loop's turn.
  std::expected<void, std::vector<ConfigError>> reload(Config config);
  /// The same with what a file says by now.
  std::expected<void, std::vector<ConfigError>> reload(const std::string& file,
                                                       const Environment& environment = process_environment);
  /// The settings in force. From any thread but the loop's.
  Config config() const;

  /// Opens the event file anew, for log rotation. An error, which is a notice too: it goes on in the old one. From any
  /// thread; looks at the file system.
  std::expected<void, Error> reopen_log();

  /// Stops accepting, lets pending and in-flight requests finish until the deadline, answers 503 to the rest, stops.
  /// True if everything finished in time. From any thread but the loop's; blocks. A second drain joins the first, whose
  /// deadline stands, or hears what came of it; a stop() ends both with false.
  bool drain(Duration deadline);

  /// Stops now: what is under way is answered 503, or breaks off in the middle of a body; connections are closed. Every
  /// request has had its answer when this returns. From any thread but the loop's; idempotent.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock
