// SPDX-License-Identifier: Apache-2.0
// Reads the files of the tree.
#include "rooms/tree.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace penstock::rooms {

std::vector<File> read_tree(std::initializer_list<const char*> tops) {
  std::vector<File> files;
  const std::filesystem::path tree = PENSTOCK_TREE;
  for (const char* top : tops) {
    auto entry = std::filesystem::recursive_directory_iterator(tree / top);
    for (; entry != std::filesystem::recursive_directory_iterator(); ++entry) {
      if (entry->path().filename() == "node_modules") entry.disable_recursion_pending();
      if (!entry->is_regular_file()) continue;
      std::ifstream in(entry->path(), std::ios::binary);
      files.push_back({entry->path().lexically_relative(tree).string(), {std::istreambuf_iterator<char>(in), {}}});
    }
  }
  std::ranges::sort(files, {}, &File::path);
  return files;
}

}  // namespace penstock::rooms
