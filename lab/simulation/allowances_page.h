// SPDX-License-Identifier: Apache-2.0
// The table of allowances as docs/limits.md has it.
#pragma once

#include <string>

namespace penstock::simulation {

/// For each mode of `whenDown` what each fault costs: how much a limit is exceeded at most, how much of it is used, and
/// when all is as before.
std::string allowances_page();

}  // namespace penstock::simulation
