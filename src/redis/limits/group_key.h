// SPDX-License-Identifier: Apache-2.0
// A group's name in Redis: the digits of its hash; empty for no group. Pure.
#pragma once

#include <cstddef>
#include <string_view>

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

}  // namespace penstock::redis
