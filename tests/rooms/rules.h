// SPDX-License-Identifier: Apache-2.0
// The rules of the house, each a function from files to what offends against it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rooms/code.h"
#include "rooms/plan.h"

namespace penstock::rooms {

struct File {
  std::string path;  ///< from the top of the tree: src/flow/lane.cc, include/penstock/proxy.h
  std::string text;
};

/// One line each: `src/flow/lane.cc:12: …`.
using Offences = std::vector<std::string>;

/// Includes that the plan does not have.
Offences stray_includes(const std::vector<File>& files);
/// Rooms that CMake links and the plan does not allow, in src/ROOM/CMakeLists.txt.
Offences stray_links(const std::vector<File>& files);
/// Folders below src/ that are not in the plan.
Offences unknown_rooms(const std::vector<File>& files);
/// Files that do not begin with their licence and say what they are.
Offences unnamed_files(const std::vector<File>& files);
Offences long_files(const std::vector<File>& files);
Offences long_functions(const std::vector<File>& files);
Offences forbidden_names(const std::vector<File>& files);

/// Of include/ and src/, those with functions, called `room::Class`, with their places: the largest first.
std::vector<std::pair<std::string, Class>> classes_with_functions(const std::vector<File>& files);
/// Classes with more members, methods or bools than the plan allows.
Offences large_classes(const std::vector<File>& files);
/// Headers that include themselves through others, and units, a header with its .cc, that include each other.
Offences include_circles(const std::vector<File>& files);

}  // namespace penstock::rooms
