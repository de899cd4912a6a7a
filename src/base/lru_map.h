// SPDX-License-Identifier: Apache-2.0
// A map with text keys and a bounded number of entries: beyond it, the least recently used entry is removed. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <utility>

#include "base/text_map.h"

namespace penstock::base {

template <typename T>
class LruMap {
 public:
  explicit LruMap(std::size_t capacity) : capacity_(capacity) {}
  LruMap(const LruMap&) = delete;

  /// Returns the entry, or a new one, `T()`, and marks it as used most recently. May remove the least recently used
  /// entry. The reference is valid until this entry is removed.
  T& use(std::string_view key) {
    if (const auto known = places_.find(key); known != places_.end()) {
      entries_.splice(entries_.begin(), entries_, known->second);
      return entries_.front().second;
    }
    if (!entries_.empty() && entries_.size() >= capacity_) erase(entries_.back().first);
    entries_.emplace_front(key, T());
    places_.emplace(key, entries_.begin());
    return entries_.front().second;
  }

  /// The entry, or null if there is none. Does not count as a use.
  T* find(std::string_view key) {
    const auto known = places_.find(key);
    return known == places_.end() ? nullptr : &known->second->second;
  }
  const T* find(std::string_view key) const {
    const auto known = places_.find(key);
    return known == places_.end() ? nullptr : &known->second->second;
  }

  void erase(std::string_view key) {
    const auto known = places_.find(key);
    if (known == places_.end()) return;
    entries_.erase(known->second);
    places_.erase(known);
  }

  void clear() {
    places_.clear();
    entries_.clear();
  }
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }

 private:
  using Entries = std::list<std::pair<std::string, T>>;

  const std::size_t capacity_;
  Entries entries_;  // the most recently used in front
  TextMap<typename Entries::iterator> places_;
};

}  // namespace penstock::base
