// SPDX-License-Identifier: Apache-2.0
// A hash map with text keys, looked up by std::string_view without making a std::string.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace penstock::base {

/// `noexcept`, or libstdc++ would store the hash with each key: eight bytes for each of a million groups.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
};

template <typename T>
using TextMap = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

}  // namespace penstock::base
