// SPDX-License-Identifier: Apache-2.0
// Paths, where more than one reader decides what they lead to: dot segments in the spellings that servers are known to
// understand, and references of answers, resolved as RFC 3986 section 5.2 has it. Pure.
#pragma once

#include <string>
#include <string_view>

namespace penstock::http {

/// Whether some reader may take a segment of this path, which has no query, for `.` or `..`: plain or percent-encoded,
/// however often; with parameters behind it (`..;a`); between slashes or backslashes, encoded or not; with blanks
/// behind it; cut short by a NUL or another control; or in bytes that were UTF-8 before overlong forms were forbidden.
bool has_dot_segment(std::string_view path);

/// The path, and what follows it, that a reference without scheme and authority has which stands in an answer from
/// `base`, a path without its query. Its plain dot segments are resolved; those in other spellings stay.
std::string resolve_path(std::string_view base, std::string_view reference);

/// The scheme of a reference, without its colon; empty: it has none.
std::string_view scheme_of(std::string_view reference);

}  // namespace penstock::http
