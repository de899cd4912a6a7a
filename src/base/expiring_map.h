// SPDX-License-Identifier: Apache-2.0
// A map from texts to values each of which is needed until a moment of its own. Forgets those that are over, in
// amortised constant time, so that it holds at most twice as many as the last sweep left, or 2 × kFew.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/text_map.h"

namespace penstock::base {

/// A `Value` is needed until its member `until`.
template <typename Value>
class ExpiringMap {
 public:
  bool empty() const { return map_.empty(); }
  std::size_t size() const { return map_.size(); }
  /// Nullptr: there is none.
  const Value* find(std::string_view key) const {
    const auto known = map_.find(key);
    return known == map_.end() ? nullptr : &known->second;
  }
  /// A new one, if there is none.
  Value& of(std::int64_t now, std::string_view key) {
    if (map_.size() >= 2 * after_sweep_) sweep(now);
    const auto known = map_.find(key);
    return known == map_.end() ? map_[std::string(key)] : known->second;
  }
  /// Forgets it.
  std::optional<Value> take(std::string_view key) {
    const auto known = map_.find(key);
    if (known == map_.end()) return std::nullopt;
    std::optional<Value> value = std::move(known->second);
    map_.erase(known);
    return value;
  }
  void clear() { map_.clear(); }

  auto begin() { return map_.begin(); }
  auto end() { return map_.end(); }
  auto begin() const { return map_.begin(); }
  auto end() const { return map_.end(); }

 private:
  static constexpr std::size_t kFew = 32;

  void sweep(std::int64_t now) {
    std::erase_if(map_, [now](const auto& one) { return one.second.until <= now; });
    after_sweep_ = std::max(kFew, map_.size());
  }

  TextMap<Value> map_;
  std::size_t after_sweep_ = kFew;
};

}  // namespace penstock::base
