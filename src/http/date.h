// SPDX-License-Identifier: Apache-2.0
// The moments that HTTP fields name, in the three formats of RFC 9110 section 5.6.7. Pure; reads no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace penstock::http {

/// Seconds since 1970, UTC. Nothing for anything else than one whole date. `now`, in the same seconds, decides the
/// century of the old format that has none: no such date is more than 50 years ahead.
std::optional<std::int64_t> parse_date(std::string_view text, std::int64_t now);

}  // namespace penstock::http
