// SPDX-License-Identifier: Apache-2.0
// Parts of documentation that the program writes. Such a part stands between two lines,
// `<!-- simulate: NAME -->` and `<!-- simulate: end -->`.
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace penstock::simulation {

/// The page with `part` in the place of what is there. Or what is wrong with it.
std::expected<std::string, std::string> with_part(std::string_view page, std::string_view name, std::string_view part);
/// The same with a file: what is wrong, or nothing.
std::string write_part(const std::string& path, std::string_view name, std::string_view part);

}  // namespace penstock::simulation
