// SPDX-License-Identifier: Apache-2.0
// Paths as people may see them: the parts that are credentials are hidden (UpstreamSettings::redact). In doubt more is
// hidden than less, for servers read paths in different ways. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace penstock::http {

/// What stands for a hidden part.
inline constexpr std::string_view kHidden = "…";

/// The path, which has no query, with `…` for what the `{}` of the patterns cover: a view of `path` if that is nothing,
/// otherwise of `room`. A pattern is looked for at each segment; its letters match in either case and percent-encoded,
/// a slash matches several, the first ones encoded too. A `{}` covers more than slashes, and ends only where the
/// pattern's next text stands. Of a path with dot segments nothing is shown.
std::string_view shown_path(std::string_view path, std::span<const std::string> patterns, std::string& room);

/// The same for a whole URL or what may be one; query and fragment stay.
std::string shown_url(std::string_view url, std::span<const std::string> patterns);

}  // namespace penstock::http
