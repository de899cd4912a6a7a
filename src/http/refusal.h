// SPDX-License-Identifier: Apache-2.0
// Why Penstock answers a request itself, and with which words: one table from reason to status, RFC 9209 token and the
// label `kind` of refusals_total. Makes no decisions.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "penstock/duration.h"

namespace penstock::http {

enum class Reason : std::uint8_t {
  // The queue (503, Retry-After)
  queue_full,
  wait_over,
  draining,
  pending_memory,    // caps.pendingMemory reached
  too_many_clients,  // caps.connections or caps.connectionsPerClient reached
  // Limits
  limit_refused,    // a limit in refuse mode (429, Retry-After)
  limit_too_heavy,  // a weight that some limit can never admit (400)
  limiter_down,     // Redis does not answer, and whenDown is refuse (503, Retry-After)
  // Access (403)
  client_denied,
  credentials,          // missing or wrong (407)
  credentials_busy,     // too many wait to be checked (503, Retry-After)
  page_denied,          // a web page in a browser asks for a gateway
  destination_denied,   // special or denied address
  destination_unnamed,  // `unmatched: deny`
  port_denied,          // CONNECT beyond access.connectPorts
  gateway_unknown,      // `/@NAME` names no upstream with a baseUrl or permits (404)
  permit_method,        // a permit is asked for by another method than GET (405, Allow)
  // Malformed (4xx, 5xx, http_request_error)
  malformed,            // 400
  head_timeout,         // 408, timeouts.header
  body_timeout,         // 408, timeouts.body
  target_too_long,      // 414
  expectation_unknown,  // 417
  misdirected,          // the target names another host than the CONNECT around it (421)
  head_too_large,       // 431
  not_implemented,      // 501
  version_unsupported,  // 505
  // Answered by the proxy itself, as RFC 9110 asks (Max-Forwards: 0)
  max_forwards,
  // Loop (502)
  loop,
  // The upstream (502, 504)
  dns_error,
  dns_timeout,
  connection_refused,
  connection_timeout,
  connection_terminated,
  destination_unroutable,
  response_timeout,  // firstByte
  read_timeout,      // idle, total
  response_incomplete,
  response_head_too_large,
  response_coding,  // transfer coding
  protocol_error,
  upgrade_failed,
  tls_protocol_error,
  tls_certificate_error,
  destination_unavailable,  // no file descriptors left
  unreachable,              // too many connections in a row failed, and others try already (502, Retry-After)
  lease_lost,               // a semaphore's lease, in flight: others may hold its permit (503)
  unconfigured,             // something that the configuration names cannot be used any more (500)
  internal_error,
};

struct Wording {
  int status;
  std::string_view token;  ///< RFC 9209
  std::string_view kind;   ///< label of refusals_total: the enumerator's name
};

Wording wording(Reason why);

/// One answer of Penstock's own.
struct Refusal {
  Reason why{};
  std::string details{};  ///< one sentence that says what to do: "github queue full, retry in 7s"
  std::optional<Duration> retry_after{};
  int status = 0;       ///< 0: the status of the table
  std::string allow{};  ///< a value for `Allow`, for 405 and OPTIONS; usually empty
  std::string rcode{};  ///< of dns_error: the name server's code, such as `NXDOMAIN`; empty: none
  int attempts = 1;     ///< how often the request had been sent; said if it is more than once

  int status_code() const { return status ? status : wording(why).status; }
};

/// The refusal of a request that breaks a rule of HTTP; `details` says which rule.
std::unexpected<Refusal> malformed(const char* details);

/// Reason phrase of the status line: `Penstock: github queue full, retry in 7s`. Safe for a status line: no controls,
/// printable ASCII, at most 200 bytes.
std::string reason_phrase(const Refusal&);

/// A refusal whose details also say when to retry: `what` and ", retry in 7s".
Refusal refusal_until(Reason, std::string what, Duration wait);

/// Value of `Retry-After`: seconds, rounded up.
std::string retry_after_seconds(Duration wait);
/// Value of `Retry-After-Ms`: milliseconds, rounded up, plus one, as a timer that counts milliseconds may begin within
/// one.
std::string retry_after_milliseconds(Duration wait);

/// Value of `Proxy-Status`: `penstock; error=connection_limit_reached; details="…"`. `name` is `proxy.via`.
std::string proxy_status(const Refusal&, std::string_view name);
/// The same of an upstream's answer to a request that was sent more than once: `penstock; attempts=3`.
std::string proxy_status(int attempts, std::string_view name);

/// The standard reason phrase of a status ("Not Found"); empty for an unknown status.
std::string_view standard_reason(int status);

}  // namespace penstock::http
