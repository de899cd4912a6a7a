// SPDX-License-Identifier: Apache-2.0
// What pages say about the tree, held against it.
#pragma once

#include <vector>

#include "rooms/rules.h"

namespace penstock::rooms {

/// Tests (`Suite.test`, `Suite.*`) and files (`tests/…`) that a page names in backticks, and that `tests` lack.
Offences missing_tests(const std::vector<File>& pages, const std::vector<File>& tests);

}  // namespace penstock::rooms
