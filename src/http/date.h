// SPDX-License-Identifier: Apache-2.0
// Parses the dates of HTTP fields, in the three formats of RFC 9110 section 5.6.7. Pure; reads no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace penstock::http {

/// Seconds since 1970, UTC; nothing unless the text is exactly one date. `now`, in the same seconds, decides the
/// century of RFC 850 dates, whose years have two digits: such a date is at most 50 years ahead.
std::optional<std::int64_t> parse_date(std::string_view text, std::int64_t now);

}  // namespace penstock::http
