// SPDX-License-Identifier: Apache-2.0
// Emits the dispatcher's events, of exchanges and of what never became one, and counts them in the totals of their
// upstreams. Gives exchanges their names. Only for the dispatcher.
#pragma once

#include <array>
#include <cstdint>
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
  std::string_view details;
};

/// How an exchange ends; or that it is dispatched.
struct Ending {
  EventKind kind;
  Outcome outcome;
  int status = 0;
  std::string_view error, detail, refusal;
  AttemptResult result = {};  ///< of the attempt, if there was one
};

class EventReporter {
 public:
  explicit EventReporter(const Services& services);

  using Name = std::array<char, 11>;
  /// Short, unique, URL-safe.
  Name next_name();

  /// To be called before the scheduler is told, and before the attempt is destroyed.
  void report(const Exchange& exchange, const Ending& ending);
  /// A request was refused before it became an exchange.
  void report_refused(const http::Refusal& why_not);
  /// Counts the result of a TLS takeover, and emits an event if it failed.
  void report_handshake(const HandshakeReport& what, Upstream& upstream);

 private:
  Event describe(const Exchange& exchange, EventKind kind) const;
  void emit_nameless(Event event);

  const Services& services_;
  std::uint64_t serial_;
};

}  // namespace penstock::proxy
