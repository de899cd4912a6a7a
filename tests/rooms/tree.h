// SPDX-License-Identifier: Apache-2.0
// The files of the tree.
#pragma once

#include <initializer_list>
#include <vector>

#include "rooms/rules.h"

namespace penstock::rooms {

/// All below these folders, by path; without what others put there.
std::vector<File> read_tree(std::initializer_list<const char*> tops);

}  // namespace penstock::rooms
