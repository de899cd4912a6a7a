// SPDX-License-Identifier: Apache-2.0
// "Did you mean …?": the nearest of a few words, by edit distance. Pure.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace penstock::config {

/// Nothing where no word is near enough to be a likely slip.
std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> known);

}  // namespace penstock::config
