// SPDX-License-Identifier: Apache-2.0
// Start here. A Proxy is the whole of Penstock in one object: it listens, queues, dispatches and answers on a thread of
// its own. The daemon is built on exactly this. It installs no signal handler, reads no environment variable, and
// several may live in one process.
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

  /// Opens the event file anew, for log rotation. From any thread.
  void reopen_log();

  /// Stops accepting, lets pending and in-flight requests finish until the deadline, answers 503 to the rest, stops.
  /// True if everything finished in time. From any thread but the loop's; blocks. A second drain joins the first, whose
  /// deadline stands; a stop() ends both with false.
  bool drain(Duration deadline);

  /// Stops now: what is under way is answered 503, or breaks off in the middle of a body; connections are closed. Every
  /// request has had its answer when this returns. From any thread but the loop's; idempotent.
  void stop();

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace penstock
