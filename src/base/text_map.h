// SPDX-License-Identifier: Apache-2.0
// A hash map by text that is looked up by a std::string_view, without making a std::string of it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace penstock::base {

/// `noexcept`, or libstdc++ would keep a hash beside each text: eight bytes for each of a million groups.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
};

template <typename T>
using TextMap = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

}  // namespace penstock::base
