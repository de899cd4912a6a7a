// SPDX-License-Identifier: Apache-2.0
// Which names have addresses pinned in libcurl's cache. That keeps them until it is told otherwise, and searches all
// that it keeps at the end of every transfer: a name is to be there as long as a transfer needs it, and no longer.
// Only for this room.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace penstock::transfer {

class Pins {
 public:
  /// `name:port`.
  void use(const std::string& name) { ++in_use_[name]; }
  void leave(const std::string& name) {
    const auto found = in_use_.find(name);
    if (--found->second > 0) return;
    in_use_.erase(found);
    left_.push_back(name);
  }
  /// Those that nobody uses any more: libcurl is to be told.
  std::vector<std::string> take_left() {
    std::erase_if(left_, [this](const std::string& name) { return in_use_.contains(name); });
    return std::exchange(left_, {});
  }

 private:
  std::unordered_map<std::string, std::size_t> in_use_;
  std::vector<std::string> left_;
};

}  // namespace penstock::transfer
