// SPDX-License-Identifier: Apache-2.0
// The quotas of which an answer says how much is spent and when they are filled again, in the dialects that write this
// of windows. Beside rate_limit_fields, which reads what stops requests. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "http/response_head.h"
#include "penstock/config.h"
#include "penstock/duration.h"

namespace penstock::http {

/// The window of a quota that is open.
struct Quota {
  std::uint64_t limit = 0, remaining = 0;
  Duration resets{0};                ///< how long until it ends, over 0
  std::optional<Duration> interval;  ///< how long it is, where the answer says so
  bool of_part = false;              ///< of a part of the API: Discord's buckets, GitHub's resources beside `core`
  std::string_view field;            ///< that says what remains, as it came; a view into the head
  bool operator==(const Quota&) const = default;
};

/// All quotas whose limit, remaining units and reset the answer says; a quota of one model or one kind of tokens is
/// left out. `wall` is our own clock, in µs since 1970: see read_rate_limit().
std::vector<Quota> read_quotas(const ResponseHead& head, std::int64_t wall, Obey obey = Obey::automatic);

}  // namespace penstock::http
