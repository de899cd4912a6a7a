// SPDX-License-Identifier: Apache-2.0
// Text for log lines: timestamps, JSON strings, milliseconds. Appends to strings by hand, for speed; knows nothing of
// events. For this room only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "penstock/duration.h"

namespace penstock::observe {

/// A longer string, in bytes, is cut here and ends in an ellipsis.
inline constexpr std::size_t kLongestText = 8 * 1024;

/// RFC 3339, UTC, with microseconds: `2026-11-21T01:35:12.123456Z`. `wall` is µs since 1970.
void append_timestamp(std::string& out, std::int64_t wall);

/// The text in quotes: escaped, controls as \u00XX, bytes that are not UTF-8 replaced by U+FFFD.
void append_json_string(std::string& out, std::string_view text);

/// As `12.345`; a negative duration as 0.
void append_milliseconds(std::string& out, Duration duration);

void append_number(std::string& out, std::uint64_t number);

}  // namespace penstock::observe
