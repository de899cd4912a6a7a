// SPDX-License-Identifier: Apache-2.0
// "Did you mean …?": the nearest of a few words, by edit distance. Pure.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace penstock::config {

/// Nothing if no word is so near that `word` is probably a slip for it.
std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace penstock::config
