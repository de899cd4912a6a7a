// SPDX-License-Identifier: Apache-2.0
// The pause that an upstream asks for: a 429 or 503 with Retry-After (RFC 9110 section 10.2.3). Reads it; whether it is
// obeyed, and how long a pause may be at most, is for others.
#pragma once

#include <cstdint>
#include <optional>

#include "http/response_head.h"
#include "penstock/duration.h"

namespace penstock::http {

/// How long from now; zero where the moment has passed, at most a year. `wall` is our own clock, in µs since 1970: a
/// date is measured against the answer's `Date`, and against ours only where that is missing. Of several lines the
/// longest that can be read; nothing where none can.
std::optional<Duration> retry_after(const ResponseHead& head, std::int64_t wall);

}  // namespace penstock::http
