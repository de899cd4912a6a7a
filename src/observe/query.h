// SPDX-License-Identifier: Apache-2.0
// The query of a request target: NAME=VALUE, joined by &, with escapes. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock::observe {

/// Each value that the query of `target` has for `name`, in their order. One with a faulty escape stays as it is.
std::vector<std::string> all_asked_for(std::string_view name, std::string_view target);
/// The first of them; empty: there is none.
std::string asked_for(std::string_view name, std::string_view target);

}  // namespace penstock::observe
