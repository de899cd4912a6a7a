// SPDX-License-Identifier: Apache-2.0
// What a proxy must do to a message that it forwards (RFC 9110 section 7.6): drop hop-by-hop fields, add Via, detect
// loops, count Max-Forwards. Pure. Framing is never copied: transfer and response_writer write their own.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "http/fields.h"
#include "http/refusal.h"
#include "http/request_head.h"
#include "http/response_head.h"
#include "http/target.h"
#include "penstock/duration.h"

namespace penstock::http {

/// The hints of one request (`Penstock-Max-Wait`, `Penstock-Weight`); their fields are never forwarded.
struct RequestHints {
  std::optional<Duration> max_wait;
  int weight = 1;  ///< units that the request costs at every limit, 1 to 1 000 000
};
std::expected<RequestHints, Refusal> read_hints(const Fields& fields);
/// True if any field with a hint is there.
bool has_hints(const Fields& fields);

/// True if the request has a `Penstock-Request-Id`, so that its answer is to have one.
bool wants_id(const Fields& fields);

/// True if `Via` already has our name: the request loops.
bool via_names(const Fields& fields, std::string_view name);

/// `Max-Forwards` of OPTIONS and TRACE. At 0 the proxy itself answers, with the refusal given (OPTIONS 200, TRACE 405,
/// both with Allow); malformed is 400. TRACE with credentials is 405. Nothing: forward it (request_fields decrements).
std::optional<Refusal> answer_here(const RequestHead& head);

/// An `Expect` other than 100-continue is 417.
std::optional<Refusal> check_expectation(const RequestHead& head);

/// The fields for the upstream: first Host, made from the target; then the end-to-end fields in order, Max-Forwards
/// decremented; last Via (`Via: <received version> name`). Left out are Content-Length, Transfer-Encoding, Expect,
/// Connection and the fields that it nominates (Host, framing and the like cannot be nominated), Proxy-*, TE, Upgrade
/// and Penstock-*.
Fields request_fields(const RequestHead& head, const Target& target, std::string_view via);

/// The fields for the client: end-to-end fields in order, Via appended, and `Server-Timing: penstock-wait;dur=MS` as a
/// line of its own if `wait` is given. Framing and hop-by-hop fields are left out, and a `Penstock-Request-Id`, which
/// would be of another Penstock; the writer adds Content-Length, also
/// for HEAD and 304. References to the target's own URL are put into the client's terms where these differ
/// (gateway_rewrite.h).
Fields response_fields(const ResponseHead& head, const Target& target, std::string_view via,
                       std::optional<Duration> wait);

/// The value of that field: `penstock-wait;dur=151.712`, in milliseconds.
std::string server_timing(Duration wait);

/// Trailer fields that may be passed on: none that frame, route or authenticate (RFC 9110 6.5.1).
Fields trailer_fields(const Fields& trailers);
/// The same for a response from this target, put into the client's terms as in response_fields.
Fields response_trailers(const Fields& trailers, const Target& target);

}  // namespace penstock::http
