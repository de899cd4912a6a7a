// SPDX-License-Identifier: Apache-2.0
// The table of allowances in the form that docs/limits.md has.
#pragma once

#include <string>

namespace penstock::simulation {

/// For each mode of `whenDown`, what each fault costs: by how much a limit is exceeded at most, how much of it is used,
/// and when everything is as before.
std::string allowances_page();

}  // namespace penstock::simulation
