// SPDX-License-Identifier: Apache-2.0
// Paths that more than one reader interprets: dot segments in all spellings that servers are known to understand, and
// references in responses, resolved as in RFC 3986 section 5.2. Pure.
#pragma once

#include <string>
#include <string_view>

namespace penstock::http {

/// True if some reader may take a segment of this path, which has no query, for `.` or `..`: plain or percent-encoded,
/// however often; with parameters (`..;a`); between slashes or backslashes, encoded or not; followed by blanks; cut
/// short by a NUL or another control character; or in overlong UTF-8, which old decoders accept.
bool has_dot_segment(std::string_view path);

/// Resolves a reference without scheme and authority, found in a response from `base` (a path without query): gives the
/// path and what follows it. Plain dot segments are resolved; those in other spellings stay.
std::string resolve_path(std::string_view base, std::string_view reference);

/// The scheme of a reference, without its colon; empty if it has none.
std::string_view scheme_of(std::string_view reference);

}  // namespace penstock::http
