// SPDX-License-Identifier: Apache-2.0
// Emits the dispatcher's events, of exchanges and of what never became one, and counts them in the totals of their
// upstreams. Gives exchanges their names. Only for the dispatcher.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "http/refusal.h"
#include "http/target.h"
#include "penstock/event.h"
#include "proxy/exchange/attempt.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/services.h"
#include "proxy/exchange/upstream.h"
#include "proxy/intercept/interception_service.h"

namespace penstock::proxy {

/// The result of a TLS takeover. `outside`: the target of the CONNECT; `details`: for people, if the handshake failed.
struct HandshakeReport {
  const http::Target& outside;
  Handshake result;
  std::string_view user;
  std::string_view client;  ///< as ResponseSink::client_name()
  std::string_view details;
};

/// Where a request came from that was refused before it became an exchange.
struct Stranger {
  std::string_view client = {};  ///< as ResponseSink::client_name()
  std::string_view trace = {};   ///< the trace-id of its traceparent
};

/// How an exchange ends; or that it is dispatched.
struct Ending {
  EventKind kind;
  Outcome outcome;
  int status = 0;
  std::string_view error, detail, refusal;
  AttemptResult result = {};  ///< of the attempt, if there was one
  WouldWait would_wait = {};  ///< of a dispatch
};

class EventReporter {
 public:
  explicit EventReporter(const Services& services);

  using Name = std::array<char, 11>;
  /// Short, unique, URL-safe.
  Name next_name();

  /// To be called before the scheduler is told, and before the attempt is destroyed.
  void report(const Exchange& exchange, const Ending& ending);
  /// A request was refused before it became an exchange. Returns the id of the event.
  Name report_refused(const http::Refusal& why_not, const Stranger& from);
  /// Counts the result of a TLS takeover, and emits an event if it failed.
  void report_handshake(const HandshakeReport& what, Upstream& upstream);

  /// What an event of that kind would say of it now. Its views are valid until the next call, or until the exchange
  /// changes.
  Event describe(const Exchange& exchange, EventKind kind);

 private:
  std::string_view shown_path_of(const Exchange& exchange);
  std::string_view shown_client(std::string_view client) const;
  Name emit_nameless(Event event);

  const Services& services_;
  std::uint64_t serial_;
  std::string room_;  // of a path that is not shown as it is
};

}  // namespace penstock::proxy
