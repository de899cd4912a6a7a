// SPDX-License-Identifier: Apache-2.0
// A group's name in Redis: the digits of its hash; empty for no group. And that of the line in which a process stands
// for lanes of a group, of a route, or of a group within a route. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>

#include "flow/group_hash.h"

namespace penstock::redis {

class GroupKey {
 public:
  GroupKey(const flow::GroupHash& hash, std::string_view group) : size_(group.empty() ? 0 : digits_.size()) {
    if (size_ > 0) digits_ = hash(group);
  }
  operator std::string_view() const { return {digits_.data(), size_}; }

 private:
  flow::GroupHash::Digits digits_{};
  std::size_t size_;
};

/// "<group>@<route>"; either may be missing, the latter with its @. Empty: the line of the upstream.
class LineKey {
 public:
  LineKey(std::string_view group, std::string_view route) : size_(std::min(group.size() + route.size(), text_.size())) {
    const auto end = std::ranges::copy(group.substr(0, size_), text_.begin()).out;
    std::ranges::copy(route.substr(0, size_ - std::min(size_, group.size())), end);
  }
  operator std::string_view() const { return {text_.data(), size_}; }

 private:
  std::array<char, 2 * std::tuple_size_v<flow::GroupHash::Digits> + 1> text_{};
  std::size_t size_;
};

/// The lines of a lane.
struct LaneLines {
  LineKey line;  ///< in Redis: where this process stands for the lane
  LineKey own;   ///< the lane's alone; the same, unless lanes of several groups stand in that
  bool shared() const { return std::string_view(line) != std::string_view(own); }
};

}  // namespace penstock::redis
