// SPDX-License-Identifier: Apache-2.0
// Events, which tell observers what happens to requests, and notices, the diagnostics of the proxy itself.
// Events arrive on the loop's thread, in the order in which they happened; their views are valid during the call only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "penstock/config.h"

namespace penstock {

/// Every request ends in one of the last four; after `refused` or `gone` it never has a `complete` or an `error`.
enum class EventKind {
  dispatch,  ///< took off
  complete,  ///< a whole answer was received from the upstream, whatever its status
  error,     ///< dispatched, and ended in another way
  refused,   ///< answered by Penstock before dispatch; malformed requests included
  gone,      ///< the client left while pending
};

/// The value of `event` in the lines of the event log.
constexpr std::string_view name_of(EventKind kind) {
  switch (kind) {
    case EventKind::dispatch: return "dispatch";
    case EventKind::complete: return "complete";
    case EventKind::error: return "error";
    case EventKind::refused: return "refused";
    case EventKind::gone: return "gone";
  }
  return "";
}

/// How a request ended; every request has exactly one. `none` on `dispatch`.
enum class Outcome {
  none,
  success,              ///< complete, 2xx or 3xx
  http_error,           ///< complete, 4xx or 5xx
  upstream_error,       ///< error, caused by the upstream or the way to it
  client_gone,          ///< error, the client left (or stopped reading) in flight
  client_gone_pending,  ///< gone
  refused,              ///< refused
};

struct Event {
  EventKind kind{};
  Outcome outcome = Outcome::none;
  std::int64_t wall = 0;  ///< µs since 1970, UTC
  std::int64_t at = 0;    ///< µs on the loop's monotonic clock
  std::string_view id;    ///< short, unique, URL-safe
  /// 0: the pattern "*"; n: the n-th of the Config::upstreams that the proxy started with, from 1. An entry keeps its
  /// number while it exists, whatever its position; an entry added by a reload gets the lowest free number.
  std::size_t entry = 0;
  std::string_view upstream;  ///< the entry's name; `host:port` for one made from "*"; empty: none was reached
  std::string_view group;     ///< empty: the upstream has no groups
  std::string_view route;     ///< RouteConfig::name of that whose limits it counts in, or else of the first that fits
  std::string_view user;      ///< the authenticated user; empty: no authentication was required
  std::string_view
      client;  ///< the client's address, `10.0.0.7`, with LogClient::full `10.0.0.7:41234`; empty: LogClient::off
  std::string_view trace_id;  ///< of `traceparent` in the request: 32 hex digits; empty: it had none
  std::string_view method;
  std::string_view host;
  /// No query, no userinfo; secret segments as `…` (UpstreamSettings::redact); empty for a tunnel.
  std::string_view path;
  int weight = 1;                      ///< the units of each limit that it costs
  int estimated = 0;                   ///< the units that were reserved for its cost; 0: it has none (CostConfig)
  std::string_view estimated_by;       ///< the entry of CostConfig::estimate by which; empty: none found anything
  std::optional<int> cost;             ///< what it has cost, once it has landed
  std::string_view upgrade;            ///< the protocols that it asks to change to: `websocket`; empty: none
  bool tunnel = false;                 ///< a CONNECT; or, once it has landed, a request that was answered 101
  bool permit = false;                 ///< of an upstream of permits: nothing is sent, and there is no host
  std::size_t pending = 0;             ///< requests pending at this upstream after the event
  std::size_t in_flight = 0;           ///< requests in flight to this upstream after the event
  int status = 0;                      ///< as the client got it; 0: none
  std::optional<Duration> wait;        ///< arrival to take-off, or to leaving the queue
  std::optional<Duration> flight;      ///< take-off to landing
  std::optional<Duration> first_byte;  ///< take-off to the final response head
  int attempts = 1;                    ///< how often it was sent, once it has landed: see RetryConfig
  /// The statuses of all answers by which the upstream turned it away, once it has landed, in their order: 429, 503,
  /// 529, and what refuses by UpstreamSettings::pause_on. The last may be what the client got.
  std::span<const std::uint16_t> refusals;
  int unreadable_fields = 0;    ///< that were about limits, in all answers to it, and could not be read
  int failures = 0;             ///< how many of `attempts` were followed by another one because they had failed
  std::uint64_t bytes_in = 0;   ///< body bytes from the upstream; of a tunnel, all bytes
  std::uint64_t bytes_out = 0;  ///< body bytes to the upstream; of a tunnel, all bytes
  std::string_view sni;         ///< of a tunnel that has landed: the name in the client's TLS hello, if any
  std::string_view alpn;        ///< likewise: the protocols offered in that hello, `h2,http/1.1`
  std::string_view limited_by;  ///< the limit that made it wait; if it waited several times, the last one
  Duration would_wait{0};       ///< on `dispatch`: for how long limits in shadow mode would have held it from then on
  std::string_view would_wait_for;  ///< the limit that would have; empty: none
  bool waited_again = false;        ///< once it has landed: `limited_by` is of a wait after the dispatch
  std::string_view error;           ///< an RFC 9209 token
  std::string_view detail;          ///< a sentence for people
  std::string_view refusal;         ///< on `refused`: its kind, e.g. `queue_full`, `malformed`
};

using EventSink = std::function<void(const Event&)>;

/// A diagnostic for the operator that is not about a single request.
struct Notice {
  LogLevel level = LogLevel::info;
  std::string text;
};

using NoticeSink = std::function<void(const Notice&)>;

}  // namespace penstock
