// SPDX-License-Identifier: Apache-2.0
// The pause that an upstream asks for: a 429 or 503 with Retry-After (RFC 9110 section 10.2.3). Only reads it; callers
// decide whether to obey it, and how long a pause may be.
#pragma once

#include <cstdint>
#include <optional>

#include "http/response_head.h"
#include "penstock/duration.h"

namespace penstock::http {

/// The wait from now: zero if the moment has passed, at most a year. `wall` is our own clock, in µs since 1970. A date
/// is measured against the response's `Date`, and against our clock only if there is none. Of several lines the longest
/// readable one counts; nothing if none is readable.
std::optional<Duration> retry_after(const ResponseHead& head, std::int64_t wall);

}  // namespace penstock::http
