// SPDX-License-Identifier: Apache-2.0
// What an answer says of the limits of its API: whether it refuses, what remains, and when it may be asked again, in
// each dialect that vendors write. Only reads it; callers decide which requests a pause stops, and how long it may be.
// Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "http/response_head.h"
#include "penstock/config.h"
#include "penstock/duration.h"

namespace penstock::http {

struct RateLimitWord {
  enum class Scope : std::uint8_t {
    plain,  ///< what a refusal of this upstream is about, which is for the caller to know
    named,  ///< a part of the API, or one model: see `name`
    whole,  ///< all of the upstream, even where there are groups. Only a refusal says so
  };

  /// The status is one of those that refuse; and a 403 says when to come back, or that nothing remains.
  bool refused = false;
  /// The answer is no refusal, and was the last one: nothing remains.
  bool spent = false;
  /// The wait from now: zero if the moment has passed, at most a year. Of several words the longest counts. Nothing: no
  /// field says when; or it neither refuses, nor is anything spent.
  std::optional<Duration> pause;
  bool names_wait = false;  ///< it refuses, and Retry-After or its kin says for how long, be that past
  std::string_view field;   ///< the name of the one that says so, as it came; a view into the head
  Scope scope = Scope::plain;
  /// Of `named`: the bucket, the resource, or what is counted; may be empty. A view into the head, or of a literal.
  std::string_view name;
  /// What remains, in whole units, and of how many. Of several limits the one of which the smallest share remains.
  std::optional<std::uint64_t> remaining, limit;
  /// Fields that are about this, and that cannot be read. They say nothing.
  std::size_t unreadable = 0;
};

/// Whether an answer with this status can be a refusal: `refusals` has it. It always is one, but for a 403.
inline bool may_refuse(int status, std::span<const std::uint16_t> refusals = kRefusals) {
  return std::ranges::find(refusals, status) != refusals.end();
}

/// What the head says in those dialects. `wall` is our own clock, in µs since 1970. Moments are measured against the
/// head's `Date`, and against our clock only if there is none. A field of a limit of which something remains says no
/// more than that. Cheap where no field is about limits: for every answer.
RateLimitWord read_rate_limit(const ResponseHead& head, std::int64_t wall, Obey obey = Obey::automatic,
                              std::span<const std::uint16_t> refusals = kRefusals);

}  // namespace penstock::http
