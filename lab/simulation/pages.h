// SPDX-License-Identifier: Apache-2.0
// The parts of the documentation that the program writes. Such a part stands between two lines, `<!-- simulate: NAME
// -->` and `<!-- simulate: end -->`.
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace penstock::simulation {

/// The page with `part` in place of the present one, or an error text.
std::expected<std::string, std::string> with_part(std::string_view page, std::string_view name, std::string_view part);
/// The same with a file; returns an error text, empty if there is none.
std::string write_part(const std::string& path, std::string_view name, std::string_view part);

}  // namespace penstock::simulation
