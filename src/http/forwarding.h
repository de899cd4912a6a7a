// SPDX-License-Identifier: Apache-2.0
// What a proxy owes a message that it passes on (RFC 9110 section 7.6): hop-by-hop fields go, Via comes, loops and
// Max-Forwards are noticed. Pure. Framing is never copied: transfer and response_writer write their own.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "http/fields.h"
#include "http/refusal.h"
#include "http/request_parser.h"
#include "http/response_head.h"
#include "http/target.h"
#include "penstock/duration.h"

namespace penstock::http {

/// What steers one request (`Penstock-Max-Wait`, `Penstock-Weight`); such fields are never forwarded.
struct RequestHints {
  std::optional<Duration> max_wait;
  int weight = 1;  ///< units of every limit that it costs, 1 to 1 000 000
};
std::expected<RequestHints, Refusal> read_hints(const Fields& fields);
/// Whether there is any of them.
bool has_hints(const Fields& fields);

/// Whether `Via` already names us: a loop.
bool via_names(const Fields& fields, std::string_view name);

/// `Max-Forwards` of OPTIONS and TRACE: 0 is answered here with the given refusal (OPTIONS 200, TRACE 405, both with
/// Allow); malformed is 400. Nothing: forward (decremented by request_fields).
std::optional<Refusal> answer_here(const RequestHead& head);

/// An `Expect` other than 100-continue is 417.
std::optional<Refusal> check_expectation(const RequestHead& head);

/// The fields that go to the upstream: Host made from the target, first; end-to-end fields in order; Via appended
/// (`Via: <received version> name`), Max-Forwards decremented. Without Content-Length, Transfer-Encoding, Expect,
/// Connection and what it nominates (Host, framing and the like cannot be nominated away), Proxy-*, TE, Upgrade,
/// Penstock-*.
Fields request_fields(const RequestHead& head, const Target& target, std::string_view via);

/// The fields that go to the client: end-to-end fields in order, Via appended, and `Server-Timing:
/// penstock-wait;dur=MS` as a line of its own where `wait` is given. Without framing and hop-by-hop fields;
/// Content-Length is left to the writer, which also keeps it for HEAD and 304. What speaks of the target's own URL is
/// put into the client's words where these are others (front.h).
Fields response_fields(const ResponseHead& head, const Target& target, std::string_view via,
                       std::optional<Duration> wait);

/// Trailer fields that may be passed on: none that frames, routes or authenticates (RFC 9110 6.5.1).
Fields trailer_fields(const Fields& trailers);
/// The same of an answer from this target, in the client's words as in response_fields.
Fields response_trailers(const Fields& trailers, const Target& target);

}  // namespace penstock::http
