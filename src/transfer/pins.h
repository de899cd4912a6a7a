// SPDX-License-Identifier: Apache-2.0
// Which names have addresses pinned in libcurl's DNS cache. libcurl keeps pins until told otherwise, and searches all
// of them at the end of every transfer; so a name is pinned only as long as a transfer needs it. Internal to transfer/.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace penstock::transfer {

class Pins {
 public:
  /// `name` is `name:port`.
  void use(const std::string& name) { ++in_use_[name]; }
  void leave(const std::string& name) {
    const auto found = in_use_.find(name);
    if (--found->second > 0) return;
    in_use_.erase(found);
    left_.push_back(name);
  }
  /// Returns the names no longer in use, for libcurl to be told; forgets them.
  std::vector<std::string> take_left() {
    std::erase_if(left_, [this](const std::string& name) { return in_use_.contains(name); });
    return std::exchange(left_, {});
  }

 private:
  std::unordered_map<std::string, std::size_t> in_use_;
  std::vector<std::string> left_;
};

}  // namespace penstock::transfer
