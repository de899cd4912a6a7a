// SPDX-License-Identifier: Apache-2.0
// What an answer says of the limits of its API: whether it refuses, and when it may be asked again, in each dialect
// that vendors write. Only reads it; callers decide whether to obey it, and how long a pause may be. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "http/response_head.h"
#include "penstock/duration.h"

namespace penstock::http {

struct RateLimitWord {
  /// 429, 503 or 529; or 403 with Retry-After, or which says that nothing remains.
  bool refused = false;
  /// The wait from now: zero if the moment has passed, at most a year. Of several words the longest counts. Nothing: no
  /// field says when.
  std::optional<Duration> pause;
  std::string_view field;  ///< the name of the one that says so, as it came; a view into the head
  /// Fields that are about this, and that cannot be read. They say nothing.
  std::size_t unreadable = 0;
};

/// Whether an answer with this status can be a refusal.
constexpr bool may_refuse(int status) { return status == 429 || status == 503 || status == 529 || status == 403; }

/// What the head says. `wall` is our own clock, in µs since 1970. Moments are measured against the head's `Date`, and
/// against our clock only if there is none. A field of a limit of which something remains says nothing.
RateLimitWord read_rate_limit(const ResponseHead& head, std::int64_t wall);

/// The same of `Retry-After` alone, for 429 and 503.
RateLimitWord read_retry_after(const ResponseHead& head, std::int64_t wall);

}  // namespace penstock::http
